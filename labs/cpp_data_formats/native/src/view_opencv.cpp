#include <opencv2/core.hpp>

#include "views.hpp"

namespace formats {

void opencv_views(const double* data, std::size_t rows, std::size_t columns, Views& views) {
  if (!rows || !columns) return;
  const cv::Mat seen(static_cast<int>(rows), static_cast<int>(columns), CV_64FC1, const_cast<double*>(data));
  View result{"OpenCV", "cv::Mat(rows, columns, CV_64FC1, data)", rows, columns, seen.data, {}, columns > 1 ? seen.at<double>(0, 1) : 0};
  for (int i = 0; i < seen.rows; ++i) result.row_sums.push_back(cv::sum(seen.row(i))[0]);
  views.push_back(std::move(result));
}

}  // namespace formats
