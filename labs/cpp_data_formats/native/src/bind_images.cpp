#include <nanobind/stl/string.h>

#include "bindings.hpp"
#include "image.hpp"

namespace formats {

void bind_images(nb::module_& m) {
  m.def("read_image", [](const std::string& path) {
    Array array;
    {
      const nb::gil_scoped_release free_python;
      array = read_image(File(path));
    }
    return as_numpy(std::move(array.values), array.shape, array.scalar);
  });
}

}  // namespace formats
