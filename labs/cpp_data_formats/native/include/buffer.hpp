// One block of memory with one owner. Readers fill it, then whoever sees it keeps it alive; it is freed exactly once.
#pragma once
#include <cstddef>
#include <cstdint>

namespace formats {

// Memory aligned to 64 bytes (a cache line, and enough for every vector instruction), which can grow.
//
// Large blocks come straight from the kernel, with a request for huge pages: a first touch of a small page costs about
// as much as parsing the numbers in it. On Linux they grow by moving pages, not bytes.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes) { resize(bytes); }
  ~Buffer();
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void resize(std::size_t bytes);  // keeps what fits; throws std::bad_alloc
  std::size_t bytes() const { return bytes_; }
  template <class T = void>
  T* data() const { return static_cast<T*>(data_); }
  void swap(Buffer& other) noexcept;

  // How many blocks are alive in this process now: what the tests on ownership count.
  static std::int64_t alive();

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;     // asked for
  std::size_t reserved_ = 0;  // held
};

// a * b, or std::bad_alloc where that does not fit: sizes in files are not to be trusted.
std::size_t times(std::size_t a, std::size_t b);

// Bytes of memory that this machine has: nothing bigger is worth asking for.
std::size_t machine_memory();

}  // namespace formats
