// What can go wrong with a file, as exceptions that carry the place: file, line, column, byte.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace formats {

// A file whose content is not what its format, or the caller, promises. Line and column count from 1, the byte from 0.
class FormatError : public std::runtime_error {
 public:
  static constexpr std::int64_t unknown = -1;
  FormatError(std::string file, std::string reason, std::int64_t line = unknown, std::int64_t column = unknown,
              std::int64_t byte = unknown, std::string column_name = "");
  std::string file, reason;
  std::int64_t line, column, byte;
  std::string column_name;
};

// The operating system refused (no such file, no permission, ...): becomes Python's OSError with the same number.
class SystemError : public std::runtime_error {
 public:
  SystemError(int code, std::string file);
  int code;
  std::string file;
};

// The reader for this file was not built, since a library was not there: becomes Python's MissingPart.
class MissingPart : public std::runtime_error {
 public:
  explicit MissingPart(std::string part) : std::runtime_error("this build has no " + part), part(std::move(part)) {}
  std::string part;
};

// Text from a file as it may stand in a message: at most `limit` characters, nothing unprintable, in quotes.
std::string shown(std::string_view text, std::size_t limit = 40);

// "1 row", "3 rows".
std::string counted(std::uint64_t number, const char* thing);

}  // namespace formats
