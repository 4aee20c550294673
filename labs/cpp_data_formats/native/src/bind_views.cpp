#include <nanobind/stl/string.h>

#include "bindings.hpp"
#include "views.hpp"

namespace formats {
namespace {

using Input = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

}  // namespace

void bind_views(nb::module_& m) {
  m.def("views", [](const Input& input) {
    Views views;
    const double* data = input.data();
    const std::size_t rows = input.shape(0), columns = input.shape(1);
    (void)data;
    (void)rows;
    (void)columns;
#if LAB_HAS_Eigen
    eigen_views(data, rows, columns, views);
#endif
#if LAB_HAS_xtensor
    xtensor_views(data, rows, columns, views);
#endif
#if LAB_HAS_Armadillo
    armadillo_views(data, rows, columns, views);
#endif
#if LAB_HAS_Dlib
    dlib_views(data, rows, columns, views);
#endif
#if LAB_HAS_OpenCV
    opencv_views(data, rows, columns, views);
#endif
#if LAB_HAS_Blaze
    blaze_views(data, rows, columns, views);
#endif
    nb::list result;
    for (const View& view : views) {
      nb::list sums;
      for (const double sum : view.row_sums) sums.append(sum);
      result.append(nb::make_tuple(view.library, view.type, nb::make_tuple(view.rows, view.columns), reinterpret_cast<std::uintptr_t>(view.address), nb::tuple(sums), view.first_row_second_column));
    }
    return result;
  });
}

}  // namespace formats
