// Portable any-map: a header in text, then the samples, in text (P2, P3) or as bytes (P5, P6; high byte first).
#include <cstring>

#include "error.hpp"
#include "image.hpp"

namespace formats {
namespace {

class Header {
 public:
  Header(const File& file, const Content& bytes) : file_(file), bytes_(bytes) {}

  [[noreturn]] void fail(const std::string& reason) const { throw FormatError(file_.name(), reason, -1, -1, static_cast<std::int64_t>(at)); }

  std::size_t number(const char* what, std::size_t largest) {
    while (at < bytes_.size() && (space(bytes_[at]) || bytes_[at] == '#')) {
      if (bytes_[at] == '#')
        while (at < bytes_.size() && bytes_[at] != '\n' && bytes_[at] != '\r') ++at;
      else
        ++at;
    }
    if (at == bytes_.size()) fail(std::string("the file is truncated: expected ") + what);
    std::size_t value = 0, digits = 0;
    for (; at < bytes_.size() && bytes_[at] >= '0' && bytes_[at] <= '9'; ++at, ++digits) {
      value = value * 10 + static_cast<std::size_t>(bytes_[at] - '0');
      if (value > largest) fail(std::string(what) + " is beyond " + std::to_string(largest));
    }
    if (!digits) fail(std::string("expected ") + what + ", found " + shown(std::string_view(bytes_.data() + at, 1)));
    if (at < bytes_.size() && !space(bytes_[at]) && bytes_[at] != '#') fail(std::string("expected a blank behind ") + what + ", found " + shown(std::string_view(bytes_.data() + at, 1)));
    return value;
  }
  static bool space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  std::size_t at = 2;

 private:
  const File& file_;
  const Content& bytes_;
};

}  // namespace

Array read_pnm(const File& file) {
  const Content bytes = file.all();
  if (bytes.size() < 3) throw FormatError(file.name(), "the file is truncated within its header");
  const char type = bytes[1];
  Header header(file, bytes);
  if (type == '1' || type == '4' || type == '7') header.fail(std::string("the PNM kind P") + type + " is not read: expected grey (P2, P5) or colour (P3, P6)");
  if (!Header::space(bytes[2]) && bytes[2] != '#') header.fail("expected a blank behind P" + std::string(1, type));
  constexpr std::size_t longest = 1 << 20;
  const std::size_t width = header.number("the width", longest), height = header.number("the height", longest);
  const std::size_t largest = header.number("the largest sample", 65535);
  if (largest == 0) header.fail("the largest sample is 0: expected 1 to 65535");
  const std::size_t channels = type == '3' || type == '6' ? 3 : 1, size = largest > 255 ? 2 : 1;
  const std::size_t count = times(times(width, height), channels);
  const bool text = type == '2' || type == '3';
  if (!text && header.at < bytes.size()) ++header.at;  // exactly one blank ends the header
  const std::size_t left = bytes.size() - header.at;
  if (text ? left / 2 + 1 < count : left < times(count, size))
    header.fail("the file is truncated: " + std::to_string(width) + " x " + std::to_string(height) + " pixels need " + counted(count, "sample") + ", and " + counted(left, "byte") + " are left");
  if (!text && left > count * size) header.fail(counted(left - count * size, "byte") + " too many behind the samples");
  Array image = new_image(file, height, width, channels, size);
  if (!text && largest == 255) {
    std::memcpy(image.values.data(), bytes.data() + header.at, count);
    return image;
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t value;
    if (text) {
      value = header.number("a sample", 65535);
    } else {
      value = static_cast<unsigned char>(bytes[header.at++]);
      if (size == 2) value = value << 8 | static_cast<unsigned char>(bytes[header.at++]);
    }
    if (value > largest) header.fail("the sample " + std::to_string(value) + " is beyond the largest one that the header allows, " + std::to_string(largest));
    if (size == 1) image.values.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(value);
    else image.values.data<std::uint16_t>()[i] = static_cast<std::uint16_t>(value);
  }
  if (text)
    for (; header.at < bytes.size(); ++header.at)
      if (!Header::space(bytes[header.at])) header.fail("something stands behind the last sample");
  return image;
}

}  // namespace formats
