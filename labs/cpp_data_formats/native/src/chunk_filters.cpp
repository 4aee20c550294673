#include "chunk_filters.hpp"

#include <zlib.h>

#include <algorithm>

#include "error.hpp"

namespace formats {
namespace {

// Fletcher's checksum over 16-bit words, as the HDF5 library computes it.
std::uint32_t fletcher32(const unsigned char* data, std::size_t size) {
  std::uint32_t first = 0, second = 0;
  const auto fold = [](std::uint32_t& sum) { sum = (sum & 0xffff) + (sum >> 16); };
  for (std::size_t words = size / 2; words;) {
    const std::size_t some = std::min<std::size_t>(words, 360);  // as many as fit without overflow
    words -= some;
    for (std::size_t i = 0; i < some; ++i, data += 2) {
      first += static_cast<std::uint32_t>(data[0] << 8 | data[1]);
      second += first;
    }
    fold(first);
    fold(second);
  }
  if (size % 2) {
    first += static_cast<std::uint32_t>(data[0] << 8);
    second += first;
    fold(first);
    fold(second);
  }
  fold(first);
  fold(second);
  return second << 16 | first;
}

std::string check(std::vector<char>& bytes) {
  if (bytes.size() < 4) return "it is too short for its checksum";
  const auto* end = reinterpret_cast<const unsigned char*>(bytes.data()) + bytes.size() - 4;
  const std::uint32_t stored = end[0] | std::uint32_t{end[1]} << 8 | std::uint32_t{end[2]} << 16 | std::uint32_t{end[3]} << 24;
  const std::uint32_t computed = fletcher32(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size() - 4);
  // Releases of the library before 1.6.3 stored the bytes of each half the other way round.
  const std::uint32_t swapped = (computed & 0x00ff00ff) << 8 | (computed >> 8 & 0x00ff00ff);
  if (stored != computed && stored != swapped) return "its checksum is wrong: the file is damaged";
  bytes.resize(bytes.size() - 4);
  return "";
}

// `room`: the size that must come out, or 4 more where a checksum is still on it.
std::string decompress(std::vector<char>& bytes, std::vector<char>& spare, std::size_t room) {
  spare.resize(room);
  z_stream stream{};
  stream.next_in = reinterpret_cast<unsigned char*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<unsigned char*>(spare.data());
  stream.avail_out = static_cast<uInt>(room);
  if (bytes.size() > 0xffffffffu || room > 0xffffffffu) return "it is larger than 4 GB: the file is damaged";
  if (inflateInit(&stream) != Z_OK) return "there is no memory to decompress it";
  const int status = inflate(&stream, Z_FINISH);
  spare.resize(room - stream.avail_out);
  inflateEnd(&stream);
  if (status != Z_STREAM_END) return "its compressed bytes are damaged";
  bytes.swap(spare);
  return "";
}

// All first bytes of the elements came first, then all second ones, ...: put each element together again.
void unshuffle(std::vector<char>& bytes, std::vector<char>& spare, std::size_t element) {
  const std::size_t count = bytes.size() / element;
  spare.resize(bytes.size());
  const char* from = bytes.data();
  char* to = spare.data();
  const auto gather = [&](auto width) {
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t k = 0; k < width; ++k) to[i * width + k] = from[k * count + i];
  };
  if (element == 8) gather(std::integral_constant<std::size_t, 8>{});
  else if (element == 4) gather(std::integral_constant<std::size_t, 4>{});
  else gather(element);
  std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(count * element), bytes.end(), spare.begin() + static_cast<std::ptrdiff_t>(count * element));
  bytes.swap(spare);
}

}  // namespace

std::string undo_filters(std::vector<char>& stored, std::vector<char>& plain, std::vector<char>& spare,
                         const std::vector<Filter>& filters, std::uint32_t skipped, std::size_t element, std::size_t size) {
  for (std::size_t i = filters.size(); i-- > 0;) {
    if (i < 32 && (skipped >> i & 1)) continue;
    std::string problem;
    switch (filters[i]) {
      case Filter::checksum:
        problem = check(stored);
        break;
      case Filter::gzip: {
        const bool summed = std::find(filters.begin(), filters.begin() + static_cast<std::ptrdiff_t>(i), Filter::checksum) != filters.begin() + static_cast<std::ptrdiff_t>(i);
        problem = decompress(stored, spare, size + (summed ? 4 : 0));
        break;
      }
      case Filter::shuffle:
        if (element > 1) unshuffle(stored, spare, element);
        break;
    }
    if (!problem.empty()) return problem;
  }
  if (stored.size() != size) return "it has " + counted(stored.size(), "byte") + ": expected " + std::to_string(size);
  plain.swap(stored);
  return "";
}

}  // namespace formats
