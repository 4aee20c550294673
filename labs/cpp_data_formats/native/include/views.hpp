// One buffer, seen by each library through its own type, without a copy. Each says what it sees.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace formats {

struct View {
  std::string library, type;  // the C++ type that looks at the memory
  std::size_t rows, columns;  // as this library counts them
  const void* address;        // of its first element: that of the buffer, unless it copied
  std::vector<double> row_sums;
  double first_row_second_column;
};

using Views = std::vector<View>;

// Each appends its views of `rows` x `columns` numbers, stored row after row.
void eigen_views(const double* data, std::size_t rows, std::size_t columns, Views& views);
void xtensor_views(const double* data, std::size_t rows, std::size_t columns, Views& views);
void armadillo_views(const double* data, std::size_t rows, std::size_t columns, Views& views);
void dlib_views(const double* data, std::size_t rows, std::size_t columns, Views& views);
void opencv_views(const double* data, std::size_t rows, std::size_t columns, Views& views);
void blaze_views(const double* data, std::size_t rows, std::size_t columns, Views& views);

}  // namespace formats
