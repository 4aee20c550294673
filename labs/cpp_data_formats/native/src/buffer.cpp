#include "buffer.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace formats {
namespace {

std::atomic<std::int64_t> blocks_alive{0};
constexpr std::size_t huge_page = std::size_t{1} << 21;
constexpr std::size_t alignment = 64;
#if defined(__linux__)
constexpr std::size_t mapped_from = huge_page;  // bytes; smaller blocks come from the heap
#else
constexpr std::size_t mapped_from = SIZE_MAX;
#endif

std::size_t rounded(std::size_t bytes, std::size_t unit) {
  if (bytes > SIZE_MAX / 2) throw std::bad_alloc();
  return (bytes + unit - 1) / unit * unit;
}

void* reserve(std::size_t size) {
#if defined(__linux__)
  if (size >= mapped_from) {
    void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) throw std::bad_alloc();
    madvise(data, size, MADV_HUGEPAGE);
    return data;
  }
#endif
  void* data = std::aligned_alloc(alignment, size);
  if (!data) throw std::bad_alloc();
  return data;
}

void release(void* data, std::size_t size) {
#if defined(__linux__)
  if (size >= mapped_from) {
    munmap(data, size);
    return;
  }
#endif
  std::free(data);
}

}  // namespace

void Buffer::resize(std::size_t bytes) {
  const std::size_t unit = bytes >= mapped_from ? huge_page : alignment;
  const std::size_t wanted = rounded(bytes ? bytes : 1, unit);
  if (data_ && wanted == reserved_) {
    bytes_ = bytes;
    return;
  }
#if defined(__linux__)
  if (data_ && reserved_ >= mapped_from && wanted >= mapped_from) {
    void* moved = mremap(data_, reserved_, wanted, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED) throw std::bad_alloc();
    madvise(moved, wanted, MADV_HUGEPAGE);
    data_ = moved;
    reserved_ = wanted;
    bytes_ = bytes;
    return;
  }
#endif
  void* fresh = reserve(wanted);
  if (data_) {
    if (const std::size_t kept = bytes < bytes_ ? bytes : bytes_) std::memcpy(fresh, data_, kept);
    release(data_, reserved_);
  } else {
    ++blocks_alive;
  }
  data_ = fresh;
  reserved_ = wanted;
  bytes_ = bytes;
}

Buffer::~Buffer() {
  if (!data_) return;
  release(data_, reserved_);
  --blocks_alive;
}

void Buffer::swap(Buffer& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(reserved_, other.reserved_);
}

std::int64_t Buffer::alive() { return blocks_alive; }

std::size_t times(std::size_t a, std::size_t b) {
  if (b && a > SIZE_MAX / 2 / b) throw std::bad_alloc();
  return a * b;
}

std::size_t machine_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(size) : SIZE_MAX / 2;
}

}  // namespace formats
