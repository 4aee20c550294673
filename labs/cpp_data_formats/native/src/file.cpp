#include "file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "buffer.hpp"
#include "error.hpp"

namespace formats {

File::File(std::string path) : name_(std::move(path)) {
  descriptor_ = ::open(name_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) throw SystemError(errno, name_);
  struct stat facts {};
  int problem = ::fstat(descriptor_, &facts) ? errno : 0;
  if (!problem && S_ISDIR(facts.st_mode)) problem = EISDIR;
  if (!problem && !S_ISREG(facts.st_mode)) problem = ESPIPE;  // a pipe cannot be read by position
  if (problem) {
    ::close(descriptor_);
    throw SystemError(problem, name_);
  }
  size_ = static_cast<std::uint64_t>(facts.st_size);
}

File File::in_memory(std::string name, std::string_view bytes) {
  File file;
  file.name_ = std::move(name);
  file.memory_ = bytes.data();
  file.size_ = bytes.size();
  return file;
}

File::File(File&& other) noexcept
    : name_(std::move(other.name_)), descriptor_(other.descriptor_), memory_(other.memory_), size_(other.size_) {
  other.descriptor_ = -1;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::size_t File::read(std::uint64_t offset, void* target, std::size_t count) const {
  if (descriptor_ < 0) {
    if (offset >= size_) return 0;
    count = std::min<std::uint64_t>(count, size_ - offset);
    if (count) std::memcpy(target, memory_ + offset, count);
    return count;
  }
  std::size_t done = 0;
  while (done < count) {
    const ssize_t got = ::pread(descriptor_, static_cast<char*>(target) + done, count - done,
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw SystemError(errno, name_);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

Content File::all(std::size_t padding) const {
  if (size_ > machine_memory()) throw std::bad_alloc();
  Content content{Buffer(static_cast<std::size_t>(size_) + padding), 0};
  content.length = read(0, content.buffer.data(), static_cast<std::size_t>(size_));
  std::memset(content.buffer.data<char>() + content.length, 0, padding);
  return content;
}

Position position_of(const File& file, std::uint64_t offset) {
  std::vector<char> block(1 << 16);
  std::int64_t line = 1;
  std::uint64_t at = 0, line_start = 0;
  char before = 0;
  while (at < offset) {
    const std::size_t got = file.read(at, block.data(), std::min<std::uint64_t>(block.size(), offset - at));
    if (!got) break;
    for (std::size_t i = 0; i < got; ++i) {
      const char c = block[i];
      if (c == '\n' && before == '\r') line_start = at + i + 1;
      else if (c == '\n' || c == '\r') ++line, line_start = at + i + 1;
      before = c;
    }
    at += got;
  }
  return {line, static_cast<std::int64_t>(offset - line_start) + 1};
}

}  // namespace formats
