// How C++ results become NumPy arrays, and where each reader is bound.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <utility>
#include <vector>

#include "buffer.hpp"
#include "npy.hpp"

namespace formats {

namespace nb = nanobind;

// A NumPy array over the buffer's own memory. Its owner is a capsule that holds the buffer; each view of the array keeps
// it, and the last one frees it.
inline nb::object as_numpy(Buffer&& values, const std::vector<std::size_t>& shape, Scalar scalar) {
  auto* kept = new Buffer(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Buffer*>(p); });
  if (!kept->data()) kept->resize(0);
  const auto code = scalar.kind == 'f'   ? nb::dlpack::dtype_code::Float
                    : scalar.kind == 'i' ? nb::dlpack::dtype_code::Int
                    : scalar.kind == 'u' ? nb::dlpack::dtype_code::UInt
                                         : nb::dlpack::dtype_code::Bool;
  nb::dlpack::dtype type{};
  type.code = static_cast<std::uint8_t>(code);
  type.bits = static_cast<std::uint8_t>(8 * scalar.bytes);
  type.lanes = 1;
  return nb::cast(nb::ndarray<nb::numpy>(kept->data(), shape.size(), shape.data(), owner, nullptr, type));
}

void bind_csv(nb::module_& m);
void bind_arrays(nb::module_& m);
void bind_json(nb::module_& m);
void bind_hdf5(nb::module_& m);
void bind_images(nb::module_& m);
void bind_views(nb::module_& m);

}  // namespace formats
