// NumPy's own file format, and arrays of any shape and type in one buffer.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "file.hpp"

namespace formats {

struct Scalar {
  char kind = 'f';         // f: IEEE 754 binary, i: signed, u: unsigned, b: truth values
  std::size_t bytes = 8;   // of each element
};

// Elements in C order (row-major), in this machine's byte order.
struct Array {
  Buffer values;
  std::vector<std::size_t> shape;
  Scalar scalar;
  std::size_t count() const;
};

// Exchange the bytes of `count` elements in place.
void swap_bytes(void* data, std::size_t count, std::size_t bytes);
bool little_endian_machine();

// Versions 1 to 3 of the format. Column-major files come out row-major; objects (pickles) are refused.
Array read_npy(const File& file);

}  // namespace formats
