#include <blaze/Math.h>

#include "views.hpp"

namespace formats {

void blaze_views(const double* data, std::size_t rows, std::size_t columns, Views& views) {
  const blaze::CustomMatrix<double, blaze::unaligned, blaze::unpadded, blaze::rowMajor> seen(const_cast<double*>(data), rows, columns);
  View result{"Blaze", "CustomMatrix<double, unaligned, unpadded, rowMajor>", rows, columns, seen.data(), {}, columns > 1 && rows ? seen(0, 1) : 0};
  for (std::size_t i = 0; i < rows; ++i) result.row_sums.push_back(blaze::sum(blaze::row(seen, i)));
  views.push_back(std::move(result));
}

}  // namespace formats
