#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "hdf5.hpp"

namespace formats {

#if LAB_HAS_HDF5
namespace {

// An open dataset: what the library said about it, and the file. Reads any part of it, any number of times.
class Dataset {
 public:
  Dataset(const std::string& path, const std::string& name, std::vector<std::size_t> start, std::vector<std::size_t> stop, bool isolated)
      : file_(path), layout_(hdf5_layout(file_, name, {std::move(start), std::move(stop)}, isolated)) {}
  nb::object read(std::vector<std::size_t> start, std::vector<std::size_t> stop, unsigned threads) const {
    Array array;
    {
      const nb::gil_scoped_release free_python;
      array = read_hdf5(file_, layout_, {std::move(start), std::move(stop)}, threads);
    }
    return as_numpy(std::move(array.values), array.shape, array.scalar);
  }
  nb::tuple shape() const {
    nb::list lengths;
    for (const std::uint64_t length : layout_.shape) lengths.append(length);
    return nb::tuple(lengths);
  }
  bool matlab() const { return layout_.matlab; }

 private:
  File file_;
  Layout layout_;
};

}  // namespace

void bind_hdf5(nb::module_& m) {
  // Only the chunks that the box [start, stop) touches are looked for; an empty box looks for none.
  nb::class_<Dataset>(m, "Hdf5Dataset")
      .def(nb::init<const std::string&, const std::string&, std::vector<std::size_t>, std::vector<std::size_t>, bool>(), nb::call_guard<nb::gil_scoped_release>())
      .def("read", &Dataset::read)
      .def_prop_ro("shape", &Dataset::shape)
      .def_prop_ro("matlab", &Dataset::matlab);
}
#else
void bind_hdf5(nb::module_&) { }
#endif

}  // namespace formats
