// Text as it stands in files.
#pragma once
#include <string_view>

namespace formats {

// Where the first byte stands that is not well-formed UTF-8 (no overlong forms, no surrogates, nothing beyond U+10FFFF):
// the start of its character. npos: all is well.
inline std::size_t first_not_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const int more = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1 : c >= 0xe0 && c < 0xf0 ? 2 : c >= 0xf0 && c < 0xf5 ? 3 : -1;
    if (more < 0 || text.size() - i <= static_cast<std::size_t>(more)) return i;
    for (int k = 1; k <= more; ++k)
      if ((static_cast<unsigned char>(text[i + static_cast<std::size_t>(k)]) & 0xc0) != 0x80) return i;
    const auto next = more ? static_cast<unsigned char>(text[i + 1]) : 0;
    if ((c == 0xe0 && next < 0xa0) || (c == 0xed && next >= 0xa0) || (c == 0xf0 && next < 0x90) || (c == 0xf4 && next >= 0x90))
      return i;
    i += static_cast<std::size_t>(more) + 1;
  }
  return std::string_view::npos;
}

inline bool is_utf8(std::string_view text) { return first_not_utf8(text) == std::string_view::npos; }

}  // namespace formats
