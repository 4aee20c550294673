#include <nanobind/stl/string.h>

#include "bindings.hpp"
#include "npy.hpp"

namespace formats {

void bind_arrays(nb::module_& m) {
  m.def("read_npy", [](const std::string& path) {
    Array array;
    {
      const nb::gil_scoped_release free_python;
      array = read_npy(File(path));
    }
    return as_numpy(std::move(array.values), array.shape, array.scalar);
  });
}

}  // namespace formats
