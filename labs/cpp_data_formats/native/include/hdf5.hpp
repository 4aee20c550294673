// Datasets from HDF5 files, or a box out of them.
//
// Two steps, by two processes. The HDF5 library tells what is where (type, shape, chunks, filters, addresses): it runs in
// a forked child, because damaged files can make it crash or run forever, and then only the child is lost. The bytes
// are then read, decompressed and put into order here. A layout may be kept, and serves any number of reads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "file.hpp"
#include "npy.hpp"

namespace formats {

// From where to where along each axis. Axes that are not named are whole.
struct Box {
  std::vector<std::size_t> start, stop;
};

struct Chunk {
  std::vector<std::uint64_t> corner;  // of its first element in the dataset
  std::uint64_t address = 0;
  std::uint64_t stored = 0;    // bytes in the file
  std::uint32_t skipped = 0;   // bit i: filter i was not applied to this chunk
};

enum class Filter : std::uint32_t { gzip = 1, shuffle = 2, checksum = 3 };  // numbers of the HDF5 library

struct Layout {
  Scalar scalar;
  bool big_endian = false;
  std::vector<std::uint64_t> shape;
  enum class Kind : std::uint32_t { contiguous, compact, chunked } kind = Kind::contiguous;
  bool written = true;                    // contiguous: whether there is anything in the file
  std::uint64_t address = 0;              // contiguous
  std::vector<std::uint8_t> compact;      // compact: the bytes themselves
  std::vector<std::uint64_t> chunk_shape;
  std::vector<Filter> filters;            // in the order in which they were applied
  std::vector<Chunk> chunks;              // those that the box touches and that were written
  std::vector<std::uint8_t> fill;         // one element, as stored
  bool matlab = false;                    // MATLAB wrote this: it thinks in columns, its axes are reversed
};

// What the library says about a dataset: asked in a child process, or in this one for files that are trusted. Names the
// chunks that the box touches.
Layout hdf5_layout(const File& file, const std::string& dataset, const Box& box, bool isolated);

// The box of the dataset, row-major, by `threads` threads (chunks only). The box must lie in that of the layout.
Array read_hdf5(const File& file, const Layout& layout, Box box, unsigned threads);

}  // namespace formats
