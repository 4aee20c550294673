// Bytes of a file, read by position. Never mapped: a mapped file that somebody shortens kills its reader.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "buffer.hpp"

namespace formats {

// A whole file in memory. Not a std::vector, which would first write zeros where the file's bytes then go.
struct Content {
  Buffer buffer;
  std::size_t length = 0;
  const char* data() const { return buffer.data<char>(); }
  std::size_t size() const { return length; }
  char operator[](std::size_t i) const { return data()[i]; }
};

class File {
 public:
  explicit File(std::string path);                    // throws SystemError
  static File in_memory(std::string name, std::string_view bytes);  // for tests: reads `bytes`, which must outlive it
  ~File();
  File(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // As many of `count` bytes from `offset` as there are: fewer only at the end of the file. Safe from several threads.
  std::size_t read(std::uint64_t offset, void* target, std::size_t count) const;
  std::uint64_t size() const { return size_; }
  const std::string& name() const { return name_; }
  int descriptor() const { return descriptor_; }

  // The whole file, followed by `padding` zero bytes that do not count.
  Content all(std::size_t padding = 0) const;

 private:
  File() = default;
  std::string name_;
  int descriptor_ = -1;
  const char* memory_ = nullptr;
  std::uint64_t size_ = 0;
};

// Line (from 1) and column (bytes from 1) of a position. CR, LF and CRLF each end a line.
struct Position {
  std::int64_t line, column;
};
Position position_of(const File& file, std::uint64_t offset);

}  // namespace formats
