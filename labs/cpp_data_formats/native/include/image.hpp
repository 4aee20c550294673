// Pictures as arrays of height x width x channels: rows without padding, channels in the order red, green, blue, alpha.
#pragma once
#include <string>

#include "file.hpp"
#include "npy.hpp"

namespace formats {

// By the first bytes of the file, not by its name. uint8, or uint16 where the file has more than 8 bits a sample.
Array read_image(const File& file);

Array read_pnm(const File& file);   // P2, P3, P5, P6: samples as stored, whatever the largest one
Array read_png(const File& file);   // needs zlib; all colour types, 1 to 16 bits, not interlaced
Array read_jpeg(const File& file);  // needs libjpeg; grey and colour; a truncated file is an error

// An array for a picture, or an error when that many samples cannot be meant.
Array new_image(const File& file, std::size_t height, std::size_t width, std::size_t channels, std::size_t bytes);

}  // namespace formats
