// Decimal numbers to float64, exactly, and the same in every country: nothing here looks at the process's locale.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace formats {

struct NumberStyle {
  char decimal = '.';
  char thousands = '\0';  // none
};

enum class NumberFault { none, not_a_number, too_large, too_small, inexact_integer, bad_groups };

// The whole text as one number: [+-] digits [decimal digits] [e [+-] digits], or nan, inf, infinity in any case.
// The nearest float64, except where that would hide something: a nonzero number that would become 0 or infinite, and an
// integer beyond 2^53 that float64 would change, are faults.
NumberFault parse_number(std::string_view text, const NumberStyle& style, double& value);

// A plain number with a decimal point at the start of [p, end), by std::from_chars. False, and p where it was, for
// whatever needs a closer look by parse_number.
bool direct_number(const char*& p, const char* end, double& value);

// What a message says about a fault: "expected a number, found 'x'".
std::string explain(NumberFault fault, std::string_view text, const NumberStyle& style);

// --- the common case, fast ---------------------------------------------------------------------------------------

namespace quick {

constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                             1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr std::uint64_t whole_powers[] = {1,      10,      100,      1000,     10000,
                                          100000, 1000000, 10000000, 100000000};

// Read up to eight digits at once: returns how many there are, and their value. Touches eight bytes from p.
inline int digits(const char* p, std::uint64_t& value) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  std::uint64_t bytes;
  std::memcpy(&bytes, p, 8);
  bytes ^= 0x3030303030303030u;  // '0'..'9' become 0..9
  const std::uint64_t others = ((bytes + 0x7676767676767676u) | bytes) & 0x8080808080808080u;
  const int count = others ? __builtin_ctzll(others) >> 3 : 8;
  if (count == 0) return 0;
  bytes <<= (8 - count) * 8;                   // leading zeros in front
  bytes = bytes * 10 + (bytes >> 8);           // pairs, then fours, then eight: all at once
  value = (((bytes & 0x000000FF000000FFu) * 0x000F424000000064u) +
           (((bytes >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u)) >> 32;
  return count;
#else
  int count = 0;
  for (value = 0; count < 8 && static_cast<unsigned char>(p[count] - '0') < 10; ++count)
    value = value * 10 + static_cast<std::uint64_t>(p[count] - '0');
  return count;
#endif
}

}  // namespace quick

// Parse [-] digits [decimal digits] at p when that is exact with one division: at most 2^53 without its point, at most
// 22 digits behind it (Clinger 1990: both are float64 numbers, so the quotient is correctly rounded). Otherwise returns
// false, and p is where it was. The text must end in something that is not a digit, with 16 readable bytes behind.
inline bool quick_number(const char*& p, char decimal, double& value) {
  const char* s = p;
  const bool negative = *s == '-';
  s += negative;
  std::uint64_t mantissa = 0, part;
  int total = quick::digits(s, mantissa);
  s += total;
  if (total == 8) {
    const int more = quick::digits(s, part);
    if (more == 8) return false;
    if (more) mantissa = mantissa * quick::whole_powers[more] + part;
    s += more;
    total += more;
  }
  if (total == 0) return false;
  int behind = 0;
  if (*s == decimal) {
    ++s;
    behind = quick::digits(s, part);
    if (behind == 0) return false;
    total += behind;
    if (total > 18) return false;
    mantissa = mantissa * quick::whole_powers[behind] + part;
    s += behind;
    if (behind == 8) {
      const int more = quick::digits(s, part);
      total += more;
      if (total > 18) return false;
      if (more) mantissa = mantissa * quick::whole_powers[more] + part;
      behind += more;
      s += more;
      if (more == 8 && static_cast<unsigned char>(*s - '0') < 10) return false;
    }
  }
  if (mantissa > (std::uint64_t{1} << 53)) return false;
  const double whole = static_cast<double>(mantissa);
  const double result = behind ? whole / quick::powers[behind] : whole;
  value = negative ? -result : result;
  p = s;
  return true;
}

}  // namespace formats
