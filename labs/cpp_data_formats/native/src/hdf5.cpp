// Bytes of an HDF5 dataset into one row-major array, where the layout says they are.
#include "hdf5.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "chunk_filters.hpp"
#include "error.hpp"
#include "threads.hpp"

namespace formats {
namespace {

// Part of a dataset: where its first element belongs, and how far it reaches.
struct Region {
  std::vector<std::size_t> corner, shape;
};

// Copy what two regions have in common: the innermost axis in one piece, the others counted through.
void copy_common(const char* source, const Region& from, char* target, const Region& to, std::size_t bytes) {
  const std::size_t axes = from.shape.size();
  if (axes == 0) {
    std::memcpy(target, source, bytes);
    return;
  }
  std::vector<std::size_t> low(axes), length(axes), from_step(axes), to_step(axes), index(axes, 0);
  std::size_t from_stride = bytes, to_stride = bytes;
  for (std::size_t a = axes; a-- > 0;) {
    low[a] = std::max(from.corner[a], to.corner[a]);
    const std::size_t high = std::min(from.corner[a] + from.shape[a], to.corner[a] + to.shape[a]);
    if (high <= low[a]) return;
    length[a] = high - low[a];
    source += (low[a] - from.corner[a]) * from_stride;
    target += (low[a] - to.corner[a]) * to_stride;
    from_step[a] = from_stride;
    to_step[a] = to_stride;
    from_stride *= from.shape[a];
    to_stride *= to.shape[a];
  }
  const std::size_t run = length[axes - 1] * bytes;
  while (true) {
    std::memcpy(target, source, run);
    std::size_t a = axes - 1;
    while (a-- > 0) {
      source += from_step[a];
      target += to_step[a];
      if (++index[a] < length[a]) break;
      source -= from_step[a] * length[a];
      target -= to_step[a] * length[a];
      index[a] = 0;
    }
    if (a == static_cast<std::size_t>(-1)) return;
  }
}

[[noreturn]] void truncated(const File& file, std::uint64_t at) {
  throw FormatError(file.name(), "the file is truncated: numbers should be here", -1, -1, static_cast<std::int64_t>(at));
}

void read_exactly(const File& file, std::uint64_t at, void* target, std::size_t count) {
  if (at > file.size() || count > file.size() - at || file.read(at, target, count) != count) truncated(file, at);
}

std::size_t product(const std::vector<std::size_t>& lengths, std::size_t first = 0) {
  std::size_t result = 1;
  for (std::size_t a = first; a < lengths.size(); ++a) result = times(result, lengths[a]);
  return result;
}

// One box of consecutive numbers in the file. Whole trailing axes are read in one piece, others band by band.
void read_contiguous(const File& file, const Layout& layout, const Region& whole, Array& array, const Region& box) {
  const std::size_t bytes = layout.scalar.bytes;
  const std::size_t total = times(product(whole.shape), bytes);
  if (layout.address > file.size() || total > file.size() - layout.address) truncated(file, layout.address);
  if (whole.shape.empty()) return read_exactly(file, layout.address, array.values.data(), bytes);
  bool whole_rows = true;
  for (std::size_t a = 1; a < whole.shape.size(); ++a) whole_rows = whole_rows && box.shape[a] == whole.shape[a];
  const std::size_t row = product(whole.shape, 1) * bytes;
  if (whole_rows) return read_exactly(file, layout.address + box.corner[0] * row, array.values.data(), box.shape[0] * row);
  const std::size_t band = std::max<std::size_t>((std::size_t{1} << 20) / std::max<std::size_t>(row, 1), 1);
  std::vector<char> block(std::min(band, box.shape[0]) * row);
  for (std::size_t r = 0; r < box.shape[0]; r += band) {
    Region part = whole;
    part.corner[0] = box.corner[0] + r;
    part.shape[0] = std::min(band, box.shape[0] - r);
    read_exactly(file, layout.address + part.corner[0] * row, block.data(), part.shape[0] * row);
    copy_common(block.data(), part, array.values.data<char>(), box, bytes);
  }
}

bool touches(const Chunk& chunk, const std::vector<std::size_t>& shape, const Region& box) {
  for (std::size_t a = 0; a < shape.size(); ++a)
    if (chunk.corner[a] >= box.corner[a] + box.shape[a] || chunk.corner[a] + shape[a] <= box.corner[a]) return false;
  return true;
}

void read_chunks(const File& file, const Layout& layout, Array& array, const Region& box, unsigned threads) {
  const std::size_t bytes = layout.scalar.bytes;
  const std::vector<std::size_t> shape(layout.chunk_shape.begin(), layout.chunk_shape.end());
  const std::size_t size = times(product(shape), bytes);
  std::atomic<std::size_t> next{0};
  const auto count = static_cast<unsigned>(std::clamp<std::size_t>(layout.chunks.size(), 1, std::max(threads, 1u)));
  const auto problems = in_parallel(count, [&](unsigned) {
    std::vector<char> stored, plain, spare;
    for (std::size_t i; (i = next++) < layout.chunks.size();) {
      const Chunk& chunk = layout.chunks[i];
      if (!touches(chunk, shape, box)) continue;
      if (chunk.address > file.size() || chunk.stored > file.size() - chunk.address) truncated(file, chunk.address);
      const auto fail = [&](const std::string& reason) {
        throw FormatError(file.name(), "a chunk of the dataset: " + reason, -1, -1, static_cast<std::int64_t>(chunk.address));
      };
      // Deflate makes at most 1032 bytes of one.
      if (chunk.stored < size / 1032) fail("too few bytes are stored for its size: the file is damaged");
      stored.resize(chunk.stored);
      read_exactly(file, chunk.address, stored.data(), stored.size());
      const std::string problem = undo_filters(stored, plain, spare, layout.filters, chunk.skipped, bytes, size);
      if (!problem.empty()) fail(problem);
      const Region region{{chunk.corner.begin(), chunk.corner.end()}, shape};
      copy_common(plain.data(), region, array.values.data<char>(), box, bytes);
    }
  });
  for (const std::exception_ptr& problem : problems)
    if (problem) std::rethrow_exception(problem);
}

void fill_with(Array& array, const std::vector<std::uint8_t>& element) {
  const std::size_t bytes = element.size(), count = array.count();
  if (std::all_of(element.begin(), element.end(), [](std::uint8_t b) { return b == 0; })) {
    std::memset(array.values.data(), 0, count * bytes);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) std::memcpy(array.values.data<char>() + i * bytes, element.data(), bytes);
}

// Whether each element of the box lies in one of the chunks, so that no fill value shows.
bool covered(const Layout& layout, const Region& box) {
  std::size_t chunks = 1;
  for (std::size_t a = 0; a < box.shape.size(); ++a) {
    if (!box.shape[a]) return true;
    const std::size_t length = layout.chunk_shape[a];
    chunks = times(chunks, (box.corner[a] + box.shape[a] - 1) / length - box.corner[a] / length + 1);
  }
  std::size_t there = 0;
  const std::vector<std::size_t> shape(layout.chunk_shape.begin(), layout.chunk_shape.end());
  for (const Chunk& chunk : layout.chunks) there += touches(chunk, shape, box);
  return there == chunks;
}

}  // namespace

Array read_hdf5(const File& file, const Layout& layout, Box box, unsigned threads) {
  const std::size_t axes = layout.shape.size(), bytes = layout.scalar.bytes;
  for (std::size_t a = 0; a < axes; ++a) {
    if (box.start.size() <= a) {
      box.start.push_back(0);
      box.stop.push_back(layout.shape[a]);
    }
    box.stop[a] = std::min<std::size_t>(box.stop[a], layout.shape[a]);
    box.start[a] = std::min(box.start[a], box.stop[a]);
  }
  Region whole{std::vector<std::size_t>(axes, 0), {layout.shape.begin(), layout.shape.end()}}, part{box.start, {}};
  for (std::size_t a = 0; a < axes; ++a) part.shape.push_back(box.stop[a] - box.start[a]);
  Array array{Buffer(), part.shape, layout.scalar};
  const std::size_t size = times(array.count(), bytes);
  if (size > machine_memory())
    throw FormatError(file.name(), "the dataset takes " + std::to_string(size >> 20) + " MiB, more than this machine has: read a part with rows=");
  array.values.resize(size);
  if (size) {
    switch (layout.kind) {
      case Layout::Kind::compact:
        copy_common(reinterpret_cast<const char*>(layout.compact.data()), whole, array.values.data<char>(), part, bytes);
        break;
      case Layout::Kind::contiguous:
        if (layout.written) read_contiguous(file, layout, whole, array, part);
        else fill_with(array, layout.fill);
        break;
      case Layout::Kind::chunked:
        if (!covered(layout, part)) fill_with(array, layout.fill);
        read_chunks(file, layout, array, part, threads);
    }
  }
  if (bytes > 1 && layout.big_endian == little_endian_machine()) swap_bytes(array.values.data(), array.count(), bytes);
  return array;
}

}  // namespace formats
