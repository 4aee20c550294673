#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bindings.hpp"
#include "json.hpp"

namespace formats {

#if LAB_HAS_simdjson
void bind_json(nb::module_& m) {
  m.def("read_json", [](const std::string& path, std::optional<std::string> key, std::optional<double> missing) {
    Matrix matrix;
    {
      const nb::gil_scoped_release free_python;
      const File file(path);
      matrix = read_json(file, {std::move(key), missing});
    }
    return as_numpy(std::move(matrix.values), {matrix.rows, matrix.columns}, Scalar{'f', 8});
  }, nb::arg("path"), nb::arg("key").none(), nb::arg("missing").none());
}
#else
void bind_json(nb::module_&) { }
#endif

}  // namespace formats
