#include <Eigen/Core>

#include "views.hpp"

namespace formats {
namespace {

// Eigen stores column after column unless told otherwise: the same memory, read in both ways.
template <int order>
View view(const char* type, const double* data, std::size_t rows, std::size_t columns) {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, order>;
  const Eigen::Map<const Matrix> map(data, static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns));
  View result{"Eigen", type, static_cast<std::size_t>(map.rows()), static_cast<std::size_t>(map.cols()), map.data(), {}, columns > 1 && rows ? map(0, 1) : 0};
  for (Eigen::Index i = 0; i < map.rows(); ++i) result.row_sums.push_back(map.row(i).sum());
  return result;
}

}  // namespace

void eigen_views(const double* data, std::size_t rows, std::size_t columns, Views& views) {
  views.push_back(view<Eigen::RowMajor>("Map<Matrix<double, Dynamic, Dynamic, RowMajor>>", data, rows, columns));
  views.push_back(view<Eigen::ColMajor>("Map<MatrixXd>", data, rows, columns));
}

}  // namespace formats
