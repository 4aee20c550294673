#include "npy.hpp"

#include <cstring>
#include <string_view>

#include "error.hpp"

namespace formats {
namespace {

// The header is a Python literal: {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }.
class Header {
 public:
  Header(const File& file, std::string text, std::uint64_t at) : file_(file), text_(std::move(text)), at_(at) {}

  void parse() {
    expect('{');
    bool descr_seen = false, order_seen = false, shape_seen = false;
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      bool& seen = key == "descr" ? descr_seen : key == "fortran_order" ? order_seen : shape_seen;
      if ((key != "descr" && key != "fortran_order" && key != "shape") || seen)
        fail("expected 'descr', 'fortran_order' and 'shape', each once, found " + shown(key));
      seen = true;
      if (key == "descr") {
        if (peek() != '\'' && peek() != '"') fail("the elements are records with fields: expected plain numbers");
        descr = quoted();
      } else if (key == "fortran_order") {
        fortran_order = word("True");
        if (!fortran_order && !word("False")) fail("expected True or False");
      } else {
        shape = tuple();
      }
      if (!accept(',') && peek() != '}') fail("expected ',' or '}'");
    }
    blanks();
    if (next_ != text_.size()) fail("expected nothing behind the header's '}'");
    if (!descr_seen || !order_seen || !shape_seen) fail("expected 'descr', 'fortran_order' and 'shape' in the header");
  }

  std::string descr;
  bool fortran_order = false;
  std::vector<std::size_t> shape;

  [[noreturn]] void fail(const std::string& reason) const {
    throw FormatError(file_.name(), "in the header: " + reason, -1, -1, static_cast<std::int64_t>(at_ + next_));
  }

 private:
  void blanks() {
    while (next_ < text_.size() && (text_[next_] == ' ' || text_[next_] == '\n')) ++next_;
  }
  char peek() {
    blanks();
    return next_ < text_.size() ? text_[next_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++next_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("expected '") + c + "'");
  }
  bool word(std::string_view wanted) {
    blanks();
    if (text_.compare(next_, wanted.size(), wanted) != 0) return false;
    next_ += wanted.size();
    return true;
  }
  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("expected a string");
    const std::size_t end = text_.find(quote, next_ + 1);
    if (end == text_.npos) fail("a string is never closed");
    const std::string result = text_.substr(next_ + 1, end - next_ - 1);
    next_ = end + 1;
    return result;
  }
  std::vector<std::size_t> tuple() {
    std::vector<std::size_t> result;
    expect('(');
    while (!accept(')')) {
      std::size_t value = 0, digits = 0;
      for (peek(); next_ < text_.size() && text_[next_] >= '0' && text_[next_] <= '9'; ++next_, ++digits) {
        if (digits == 18) fail("a length beyond 10^18");
        value = value * 10 + static_cast<std::size_t>(text_[next_] - '0');
      }
      if (!digits) fail("expected a length");
      result.push_back(value);
      if (result.size() > 32) fail("more than 32 axes");
      if (!accept(',') && peek() != ')') fail("expected ',' or ')'");
    }
    return result;
  }

  const File& file_;
  std::string text_;
  std::uint64_t at_;
  std::size_t next_ = 0;
};

Scalar scalar_of(const Header& header, bool& swapped) {
  const std::string& d = header.descr;
  const bool sized = d.size() == 3 && d[2] >= '1' && d[2] <= '8';
  const Scalar scalar{sized ? d[1] : '?', sized ? static_cast<std::size_t>(d[2] - '0') : 0};
  const std::size_t b = scalar.bytes;
  const bool known = scalar.kind == 'f'   ? b == 2 || b == 4 || b == 8
                     : scalar.kind == 'b' ? b == 1
                     : (scalar.kind == 'i' || scalar.kind == 'u') && (b == 1 || b == 2 || b == 4 || b == 8);
  if (!known || (d[0] != '<' && d[0] != '>' && d[0] != '|' && d[0] != '='))
    header.fail("elements of type " + shown(d) + ": expected integers, floats or truth values" +
                (d.find('O') != d.npos ? " (objects are pickles, which can run code)" : ""));
  if (b > 1 && (d[0] == '|' || d[0] == '=')) header.fail("the byte order of " + shown(d) + " is not said: expected '<' or '>'");
  swapped = b > 1 && (d[0] == '<') != little_endian_machine();
  return scalar;
}

template <class T>
void to_row_major(const T* source, T* target, const std::vector<std::size_t>& shape) {
  const std::size_t axes = shape.size();
  std::vector<std::size_t> strides(axes), index(axes, 0);
  std::size_t count = 1;
  for (std::size_t a = 0; a < axes; ++a) strides[a] = count, count *= shape[a];
  std::size_t from = 0;
  for (std::size_t to = 0; to < count; ++to) {
    target[to] = source[from];
    for (std::size_t a = axes; a-- > 0;) {
      from += strides[a];
      if (++index[a] < shape[a]) break;
      from -= strides[a] * shape[a];
      index[a] = 0;
    }
  }
}

}  // namespace

bool little_endian_machine() {
  const std::uint16_t one = 1;
  char first;
  std::memcpy(&first, &one, 1);
  return first == 1;
}

void swap_bytes(void* data, std::size_t count, std::size_t bytes) {
  char* p = static_cast<char*>(data);
  const auto each = [&](auto example, auto swap) {
    for (std::size_t i = 0; i < count; ++i, p += sizeof example) {
      decltype(example) value;
      std::memcpy(&value, p, sizeof value);
      value = swap(value);
      std::memcpy(p, &value, sizeof value);
    }
  };
  if (bytes == 2) each(std::uint16_t{}, [](std::uint16_t v) { return __builtin_bswap16(v); });
  if (bytes == 4) each(std::uint32_t{}, [](std::uint32_t v) { return __builtin_bswap32(v); });
  if (bytes == 8) each(std::uint64_t{}, [](std::uint64_t v) { return __builtin_bswap64(v); });
}

std::size_t Array::count() const {
  std::size_t result = 1;
  for (const std::size_t length : shape) result = times(result, length);
  return result;
}

Array read_npy(const File& file) {
  unsigned char start[12] = {};
  const std::size_t got = file.read(0, start, sizeof start);
  if (got < 10 || std::memcmp(start, "\x93NUMPY", 6) != 0)
    throw FormatError(file.name(), "expected a .npy file, which starts with \\x93NUMPY", -1, -1, 0);
  if (start[6] < 1 || start[6] > 3 || start[7] != 0)
    throw FormatError(file.name(), "version " + std::to_string(start[6]) + "." + std::to_string(start[7]) + " of the format: expected 1.0, 2.0 or 3.0", -1, -1, 6);
  const std::size_t prefix = start[6] == 1 ? 10 : 12;
  std::size_t length = start[8] | std::size_t{start[9]} << 8;
  if (prefix == 12) length |= std::size_t{start[10]} << 16 | std::size_t{start[11]} << 24;
  if (length > (1 << 20) || prefix + length > file.size())
    throw FormatError(file.name(), "the header ends behind the file's end: the file is truncated", -1, -1, static_cast<std::int64_t>(file.size()));
  std::string text(length, '\0');
  text.resize(file.read(prefix, text.data(), length));
  Header header(file, text, prefix);
  header.parse();
  bool swapped = false;
  Array array{Buffer(), header.shape, scalar_of(header, swapped)};
  const std::uint64_t data_at = prefix + length;
  const std::uint64_t there = file.size() - data_at;
  const std::size_t bytes = times(array.count(), array.scalar.bytes);
  if (there != bytes)
    throw FormatError(file.name(), "the header promises " + counted(bytes, "byte") + " of elements, the file holds " + std::to_string(there) + (there < bytes ? ": it is truncated" : ": there is something behind them"), -1, -1, static_cast<std::int64_t>(data_at));
  array.values.resize(bytes);
  if (file.read(data_at, array.values.data(), bytes) != bytes)
    throw FormatError(file.name(), "the file became shorter while it was read");
  if (swapped) swap_bytes(array.values.data(), array.count(), array.scalar.bytes);
  if (array.scalar.kind == 'b')
    for (std::size_t i = 0; i < bytes; ++i)
      if (array.values.data<unsigned char>()[i] > 1)
        throw FormatError(file.name(), "a truth value that is neither 0 nor 1", -1, -1, static_cast<std::int64_t>(data_at + i));
  if (header.fortran_order && array.shape.size() > 1 && bytes) {
    Buffer turned(bytes);
    const auto turn = [&](auto example) { to_row_major(array.values.data<decltype(example)>(), turned.data<decltype(example)>(), array.shape); };
    switch (array.scalar.bytes) {
      case 1: turn(std::uint8_t{}); break;
      case 2: turn(std::uint16_t{}); break;
      case 4: turn(std::uint32_t{}); break;
      default: turn(std::uint64_t{});
    }
    array.values = std::move(turned);
  }
  return array;
}

}  // namespace formats
