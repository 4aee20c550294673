// Plain values through a pipe, between a process and the child it forked.
#pragma once
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace formats {

class Message {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable<T>::value, "plain values only");
    const char* p = reinterpret_cast<const char*>(&value);
    bytes.insert(bytes.end(), p, p + sizeof value);
  }
  template <class T>
  void put_all(const std::vector<T>& values) {
    put(static_cast<std::uint64_t>(values.size()));
    for (const T& value : values) put(value);
  }
  void put_text(const std::string& text) { put_all(std::vector<char>(text.begin(), text.end())); }

  template <class T>
  T take() {
    T value;
    if (bytes.size() - next < sizeof value) throw std::length_error("the message ends too early");
    std::memcpy(&value, bytes.data() + next, sizeof value);
    next += sizeof value;
    return value;
  }
  template <class T>
  std::vector<T> take_all() {
    const auto count = take<std::uint64_t>();
    if (count > (bytes.size() - next) / sizeof(T)) throw std::length_error("the message ends too early");
    std::vector<T> values;
    values.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) values.push_back(take<T>());
    return values;
  }
  std::string take_text() {
    const std::vector<char> text = take_all<char>();
    return std::string(text.begin(), text.end());
  }

  std::vector<char> bytes;
  std::size_t next = 0;
};

}  // namespace formats
