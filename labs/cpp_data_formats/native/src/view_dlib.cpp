#include <dlib/matrix.h>

#include "views.hpp"

namespace formats {

void dlib_views(const double* data, std::size_t rows, std::size_t columns, Views& views) {
  if (!rows || !columns) return;  // Dlib has no empty matrices
  const auto seen = dlib::mat(data, static_cast<long>(rows), static_cast<long>(columns));
  View result{"Dlib", "dlib::mat(data, rows, columns)", rows, columns, &seen(0, 0), {}, columns > 1 ? seen(0, 1) : 0};
  for (long i = 0; i < seen.nr(); ++i) result.row_sums.push_back(dlib::sum(dlib::rowm(seen, i)));
  views.push_back(std::move(result));
}

}  // namespace formats
