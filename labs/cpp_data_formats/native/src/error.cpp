#include "error.hpp"

#include <cstring>

namespace formats {
namespace {

std::string sentence(const std::string& file, const std::string& reason, std::int64_t line, std::int64_t column,
                     std::int64_t byte, const std::string& column_name) {
  std::string text = file;
  if (line >= 0) text += ", line " + std::to_string(line);
  if (column >= 0) text += ", column " + std::to_string(column);
  if (!column_name.empty()) text += " (" + shown(column_name) + ")";
  if (line < 0 && byte >= 0) text += ", byte " + std::to_string(byte);
  return text + ": " + reason;
}

}  // namespace

FormatError::FormatError(std::string file, std::string reason, std::int64_t line, std::int64_t column,
                         std::int64_t byte, std::string column_name)
    : std::runtime_error(sentence(file, reason, line, column, byte, column_name)),
      file(std::move(file)),
      reason(std::move(reason)),
      line(line),
      column(column),
      byte(byte),
      column_name(std::move(column_name)) {}

SystemError::SystemError(int code, std::string file)
    : std::runtime_error(file + ": " + std::strerror(code)), code(code), file(std::move(file)) {}

std::string shown(std::string_view text, std::size_t limit) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string result = "'";
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (result.size() > limit) return result + "'... (" + counted(text.size(), "byte") + ")";
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '\n') result += "\\n";
    else if (c == '\r') result += "\\r";
    else if (c == '\t') result += "\\t";
    else if (c == '\'' || c == '\\') (result += '\\') += static_cast<char>(c);
    else if (c >= 0x20 && c < 0x7f) result += static_cast<char>(c);
    else ((result += "\\x") += digits[c >> 4]) += digits[c & 15];
  }
  return result + "'";
}

std::string counted(std::uint64_t number, const char* thing) {
  return std::to_string(number) + " " + thing + (number == 1 ? "" : "s");
}

}  // namespace formats
