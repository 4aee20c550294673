// What HDF5 does to a chunk before it stores it, undone: deflate, the shuffling of bytes, a checksum.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "hdf5.hpp"

namespace formats {

// From `stored` to `plain` of exactly `size` bytes. Returns what is wrong, or nothing. `stored` and `spare` are changed.
std::string undo_filters(std::vector<char>& stored, std::vector<char>& plain, std::vector<char>& spare,
                         const std::vector<Filter>& filters, std::uint32_t skipped, std::size_t element, std::size_t size);

}  // namespace formats
