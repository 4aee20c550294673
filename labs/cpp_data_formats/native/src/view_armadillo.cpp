#include <armadillo>

#include "views.hpp"

namespace formats {

// Armadillo (and mlpack, which is built on it) knows column after column only: it sees the transpose, a sample a column.
void armadillo_views(const double* data, std::size_t rows, std::size_t columns, Views& views) {
  const arma::mat seen(const_cast<double*>(data), columns, rows, /*copy_aux_mem=*/false, /*strict=*/true);
  View result{"Armadillo", "mat(data, columns, rows, false, true): the transpose", seen.n_rows, seen.n_cols, seen.memptr(), {}, columns > 1 && rows ? seen(1, 0) : 0};
  for (arma::uword i = 0; i < seen.n_cols; ++i) result.row_sums.push_back(seen.n_rows ? arma::accu(seen.col(i)) : 0);
  views.push_back(std::move(result));
}

}  // namespace formats
