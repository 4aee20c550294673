#include "image.hpp"

#include <cstring>

#include "error.hpp"

namespace formats {

Array new_image(const File& file, std::size_t height, std::size_t width, std::size_t channels, std::size_t bytes) {
  if (!height || !width) throw FormatError(file.name(), "a picture of 0 pixels: expected at least one");
  const std::size_t size = times(times(height, width), times(channels, bytes));
  if (size > machine_memory()) throw FormatError(file.name(), "a picture of " + std::to_string(width) + " x " + std::to_string(height) + " pixels does not fit into this machine's memory");
  return Array{Buffer(size), {height, width, channels}, Scalar{'u', bytes}};
}

Array read_image(const File& file) {
  unsigned char start[8] = {};
  const std::size_t got = file.read(0, start, sizeof start);
  if (got >= 2 && start[0] == 'P' && start[1] >= '1' && start[1] <= '7') return read_pnm(file);
  if (got >= 4 && std::memcmp(start, "\x89PNG", 4) == 0) {
#if LAB_HAS_zlib
    return read_png(file);
#else
    throw MissingPart("zlib");
#endif
  }
  if (got >= 2 && start[0] == 0xff && start[1] == 0xd8) {
#if LAB_HAS_libjpeg
    return read_jpeg(file);
#else
    throw MissingPart("libjpeg");
#endif
  }
  throw FormatError(file.name(), got ? "neither PNG nor JPEG nor PNM by its first bytes, " + shown(std::string_view(reinterpret_cast<char*>(start), got)) : "the file is empty: expected a picture", -1, -1, 0);
}

}  // namespace formats
