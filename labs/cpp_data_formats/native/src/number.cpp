#include "number.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "error.hpp"

namespace formats {
namespace {

bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

bool same_word(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((text[i] | 0x20) != lower[i]) return false;
  return true;
}

// 1 to 3 digits, then groups of exactly three behind each separator.
bool well_grouped(std::string_view whole, char separator) {
  std::size_t in_group = 0;
  bool first = true;
  for (const char c : whole) {
    if (c == separator) {
      if (first ? in_group < 1 || in_group > 3 : in_group != 3) return false;
      first = false;
      in_group = 0;
    } else {
      ++in_group;
    }
  }
  return first || in_group == 3;
}

// The decimal exponent of the first digit that is not 0, roughly: 3 for 1234, -3 for 0.00123e0. Far beyond is cut off.
long magnitude(std::string_view plain) {
  const std::size_t e = std::min(plain.find('e'), plain.size()), first = plain.find_first_not_of("0.");
  const std::size_t point = std::min(plain.find('.'), e);
  long exponent = 0;
  const bool negative = e + 1 < plain.size() && plain[e + 1] == '-';
  for (std::size_t i = e + 1 + negative; i < plain.size() && exponent < 1000000000; ++i)
    exponent = exponent * 10 + (plain[i] - '0');
  const long shift = static_cast<long>(point) - static_cast<long>(std::min(first, e));
  return (negative ? -exponent : exponent) + shift;
}

// Whether `value` is exactly the integer with these digits: to_chars writes all digits of a float64.
bool is_exactly(double value, std::string_view digits) {
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  char text[400];
  const auto end = std::to_chars(text, text + sizeof text, std::fabs(value), std::chars_format::fixed, 0).ptr;
  return std::string_view(text, static_cast<std::size_t>(end - text)) == digits;
}

}  // namespace

NumberFault parse_number(std::string_view text, const NumberStyle& style, double& value) {
  std::string plain;  // as std::from_chars wants it: no plus sign, no separators, a decimal point
  plain.reserve(text.size() + 1);
  std::size_t i = 0;
  const bool negative = i < text.size() && text[i] == '-';
  if (negative || (i < text.size() && text[i] == '+')) ++i;
  if (negative) plain += '-';
  const std::string_view unsigned_text = text.substr(i);
  if (same_word(unsigned_text, "nan")) {
    value = std::nan("");
    return NumberFault::none;
  }
  if (same_word(unsigned_text, "inf") || same_word(unsigned_text, "infinity")) {
    value = negative ? -HUGE_VAL : HUGE_VAL;
    return NumberFault::none;
  }

  const std::size_t whole_start = i, plain_start = plain.size();
  for (; i < text.size(); ++i) {
    if (is_digit(text[i])) plain += text[i];
    else if (style.thousands == '\0' || text[i] != style.thousands) break;
  }
  const std::string_view whole = text.substr(whole_start, i - whole_start);
  std::size_t digits = plain.size() - plain_start;
  bool integer = true;
  if (i < text.size() && text[i] == style.decimal) {
    integer = false;
    plain += '.';
    for (++i; i < text.size() && is_digit(text[i]); ++i, ++digits) plain += text[i];
  }
  if (digits == 0) return NumberFault::not_a_number;
  if (i < text.size() && (text[i] | 0x20) == 'e') {
    integer = false;
    plain += 'e';
    if (++i < text.size() && (text[i] == '-' || text[i] == '+')) {
      if (text[i] == '-') plain += '-';
      ++i;
    }
    const std::size_t before = i;
    for (; i < text.size() && is_digit(text[i]); ++i) plain += text[i];
    if (i == before) return NumberFault::not_a_number;
  }
  if (i != text.size()) return NumberFault::not_a_number;
  if (style.thousands && !well_grouped(whole, style.thousands)) return NumberFault::bad_groups;

  const auto [end, status] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (status == std::errc::result_out_of_range) {
    return magnitude(std::string_view(plain).substr(plain_start)) < 0 ? NumberFault::too_small : NumberFault::too_large;
  }
  if (status != std::errc{} || end != plain.data() + plain.size()) return NumberFault::not_a_number;
  if (integer && std::fabs(value) >= 9007199254740992.0 &&
      !is_exactly(value, std::string_view(plain).substr(plain_start)))
    return NumberFault::inexact_integer;
  return NumberFault::none;
}

bool direct_number(const char*& p, const char* end, double& value) {
  const char first = p < end ? (*p == '-' && p + 1 < end ? p[1] : *p) : '\0';
  if (!is_digit(first) && first != '.') return false;
  double result;
  const auto [stop, status] = std::from_chars(p, end, result);
  if (status != std::errc{}) return false;
  if (std::fabs(result) >= 9007199254740992.0) {
    bool integer = true;
    for (const char* s = p; s < stop; ++s) integer = integer && (is_digit(*s) || *s == '-');
    if (integer) return false;
  }
  value = result;
  p = stop;
  return true;
}

std::string explain(NumberFault fault, std::string_view text, const NumberStyle& style) {
  switch (fault) {
    case NumberFault::too_large:
      return shown(text) + " is beyond the largest float64, about 1.8e308";
    case NumberFault::too_small:
      return shown(text) + " is so small that float64 would make it 0";
    case NumberFault::inexact_integer:
      return shown(text) + " is an integer beyond 2^53 that float64 cannot hold exactly";
    case NumberFault::bad_groups:
      return "expected groups of three digits behind each " + shown(std::string_view(&style.thousands, 1)) +
             ", found " + shown(text);
    default:
      break;
  }
  if (text.empty()) return "expected a number, found an empty field";
  std::string sentence = "expected a number, found " + shown(text);
  if (text.size() > 2 && (text.substr(0, 2) == "0x" || text.substr(0, 2) == "0X"))
    sentence += " (hexadecimal numbers are not read)";
  else if (style.decimal == '.' && text.find(',') != std::string_view::npos)
    sentence += " (if the comma is a decimal comma, pass decimal=',')";
  return sentence;
}

}  // namespace formats
