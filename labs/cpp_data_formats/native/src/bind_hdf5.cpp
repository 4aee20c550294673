#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "hdf5.hpp"

namespace formats {

#if LAB_HAS_HDF5
void bind_hdf5(nb::module_& m) {
  m.def("read_hdf5", [](const std::string& path, const std::string& dataset, std::vector<std::size_t> start, std::vector<std::size_t> stop, unsigned threads) {
    Array array;
    Layout layout;
    {
      const nb::gil_scoped_release free_python;
      const File file(path);
      array = read_hdf5(file, dataset, {std::move(start), std::move(stop)}, threads, layout);
    }
    nb::list shape;
    for (const std::uint64_t length : layout.shape) shape.append(length);
    return nb::make_tuple(as_numpy(std::move(array.values), array.shape, array.scalar), nb::tuple(shape), layout.matlab);
  });
  m.def("hdf5_shape", [](const std::string& path, const std::string& dataset) {
    Layout layout;
    {
      const nb::gil_scoped_release free_python;
      Box nothing{{0}, {0}};  // so that no chunk is looked for
      layout = hdf5_layout(File(path), dataset, nothing);
    }
    nb::list shape;
    for (const std::uint64_t length : layout.shape) shape.append(length);
    return nb::tuple(shape);
  });
}
#else
void bind_hdf5(nb::module_&) { }
#endif

}  // namespace formats
