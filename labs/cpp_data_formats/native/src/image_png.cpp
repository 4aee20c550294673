// PNG (ISO/IEC 15948), with zlib for the compression: chunks, checksums, filters, colour types, nothing else.
#include <zlib.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "error.hpp"
#include "image.hpp"

namespace formats {
namespace {

std::uint32_t big32(const unsigned char* p) {
  return std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | p[3];
}

class Png {
 public:
  explicit Png(const File& file) : file_(file), bytes_(file.all()) {}

  Array read() {
    static constexpr unsigned char signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    if (bytes_.size() < 8 || std::memcmp(bytes_.data(), signature, 8) != 0)
      fail(0, "the PNG signature is damaged (a transfer as text changes its line ends)");
    chunks();
    const std::size_t bits = samples() * depth_;             // of a pixel
    const std::size_t row = (times(width_, bits) + 7) / 8;   // bytes of a row, without its filter
    // Deflate makes at most 1032 bytes of one: more were promised than can come.
    if (times(row + 1, height_) / 1032 > compressed_.size() + 64) fail(at_, "the file is truncated: too little is there for " + std::to_string(width_) + " x " + std::to_string(height_) + " pixels");
    const bool deep = depth_ == 16;
    const std::size_t channels = colour_ == 3 ? (alpha_.empty() ? 3 : 4) : samples() + (key_.empty() ? 0 : 1);
    Array image = new_image(file_, height_, width_, channels, deep ? 2 : 1);
    inflate_start();
    std::vector<unsigned char> line(row + 1), before(row + 1, 0);
    for (std::size_t y = 0; y < height_; ++y) {
      inflate_some(line.data(), row + 1);
      unfilter(line.data() + 1, before.data() + 1, row, std::max<std::size_t>(bits / 8, 1), line[0]);
      if (deep) pixels(line.data() + 1, image.values.data<std::uint16_t>() + y * width_ * channels, channels);
      else pixels(line.data() + 1, image.values.data<std::uint8_t>() + y * width_ * channels, channels);
      line.swap(before);
    }
    inflate_finish();
    return image;
  }

 private:
  [[noreturn]] void fail(std::size_t at, const std::string& reason) const {
    throw FormatError(file_.name(), reason, -1, -1, static_cast<std::int64_t>(at));
  }
  const unsigned char* data(std::size_t at) const { return reinterpret_cast<const unsigned char*>(bytes_.data()) + at; }
  std::size_t samples() const { return colour_ == 2 ? 3 : colour_ == 4 ? 2 : colour_ == 6 ? 4 : 1; }

  void chunks() {
    bool end = false, parted = false;
    for (at_ = 8; !end;) {
      if (bytes_.size() - at_ < 12) fail(bytes_.size(), "the file is truncated: expected a chunk");
      const std::size_t length = big32(data(at_)), body = at_ + 8;
      const std::string name(bytes_.data() + at_ + 4, 4);
      if (length > 0x7fffffff || length > bytes_.size() - at_ - 12) fail(at_, "the file is truncated within the chunk " + shown(name));
      if (big32(data(body + length)) != crc32(crc32(0, nullptr, 0), data(at_ + 4), static_cast<uInt>(length + 4)))
        fail(at_, "the checksum of the chunk " + shown(name) + " is wrong: the file is damaged");
      if ((at_ == 8) != (name == "IHDR")) fail(at_, "expected the chunk IHDR first, and once");
      if (name == "IHDR") header(body, length);
      else if (name == "PLTE") palette(body, length);
      else if (name == "tRNS") transparency(body, length);
      else if (name == "IDAT") {
        if (parted) fail(at_, "the chunks IDAT do not follow one another");
        compressed_.insert(compressed_.end(), data(body), data(body + length));
      } else if (name == "IEND") end = true;
      else if (!(name[0] & 0x20)) fail(at_, "the chunk " + shown(name) + " must be understood to show this picture, and is not known here");
      parted = parted || (!compressed_.empty() && name != "IDAT");
      at_ = body + length + 4;
    }
    if (compressed_.empty()) fail(at_, "there is no chunk IDAT: expected pixels");
    if (colour_ == 3 && palette_.empty()) fail(at_, "there is no chunk PLTE: expected the palette");
    if (at_ != bytes_.size()) fail(at_, "something stands behind the chunk IEND");
  }

  void header(std::size_t body, std::size_t length) {
    if (length != 13) fail(at_, "the chunk IHDR has " + counted(length, "byte") + ": expected 13");
    width_ = big32(data(body));
    height_ = big32(data(body + 4));
    depth_ = *data(body + 8);
    colour_ = *data(body + 9);
    const bool valid = colour_ == 0   ? depth_ == 1 || depth_ == 2 || depth_ == 4 || depth_ == 8 || depth_ == 16
                       : colour_ == 3 ? depth_ == 1 || depth_ == 2 || depth_ == 4 || depth_ == 8
                                      : (colour_ == 2 || colour_ == 4 || colour_ == 6) && (depth_ == 8 || depth_ == 16);
    if (!valid) fail(at_, "the colour type " + std::to_string(colour_) + " with " + std::to_string(depth_) + " bits does not exist");
    if (!width_ || !height_ || width_ > 0x7fffffff || height_ > 0x7fffffff) fail(at_, "the picture's size is " + std::to_string(width_) + " x " + std::to_string(height_));
    if (*data(body + 10) || *data(body + 11)) fail(at_, "an unknown compression or filter method");
    if (*data(body + 12)) fail(at_, "the picture is interlaced, which is not read here: save it without");
  }

  void palette(std::size_t body, std::size_t length) {
    if (length % 3 || length == 0 || length > 768 || !palette_.empty()) fail(at_, "the palette has " + counted(length, "byte") + ": expected 1 to 256 colours, once");
    palette_.assign(data(body), data(body + length));
  }

  void transparency(std::size_t body, std::size_t length) {
    if (colour_ == 3) {
      if (length > palette_.size() / 3) fail(at_, "more transparencies than colours in the palette");
      alpha_.assign(data(body), data(body + length));
      return;
    }
    if ((colour_ != 0 && colour_ != 2) || length != 2 * samples()) fail(at_, "the chunk tRNS does not fit the colour type");
    key_.clear();
    for (std::size_t i = 0; i < length; i += 2) key_.push_back(static_cast<std::uint16_t>(*data(body + i) << 8 | *data(body + i + 1)));
  }

  void inflate_start() {
    stream_.reset(new z_stream{});
    stream_->next_in = compressed_.data();
    stream_->avail_in = static_cast<uInt>(compressed_.size());
    if (compressed_.size() > 0xffffffffu) fail(at_, "more than 4 GB of compressed pixels");
    if (inflateInit(stream_.get()) != Z_OK) throw std::bad_alloc();
    started_.reset(stream_.get());
  }
  void inflate_some(unsigned char* target, std::size_t count) {
    stream_->next_out = target;
    stream_->avail_out = static_cast<uInt>(count);
    while (stream_->avail_out) {
      const int status = inflate(stream_.get(), Z_NO_FLUSH);
      if (status == Z_MEM_ERROR) throw std::bad_alloc();
      if (status == Z_STREAM_END && !stream_->avail_out) break;
      if (status != Z_OK) fail(at_, status == Z_DATA_ERROR ? "the compressed pixels are damaged" : "the compressed pixels end too early");
    }
  }
  void inflate_finish() {
    unsigned char extra;
    stream_->next_out = &extra;
    stream_->avail_out = 1;
    const int status = inflate(stream_.get(), Z_FINISH);
    if (status != Z_STREAM_END || stream_->avail_out == 0) fail(at_, status == Z_DATA_ERROR ? "the checksum of the compressed pixels is wrong" : "more or fewer compressed pixels than the picture has");
  }

  // Undo a row's filter: each byte was stored as a difference to its left, upper and upper left neighbours.
  void unfilter(unsigned char* row, const unsigned char* up, std::size_t count, std::size_t step, unsigned char kind) const {
    switch (kind) {
      case 0: return;
      case 1:
        for (std::size_t i = step; i < count; ++i) row[i] = static_cast<unsigned char>(row[i] + row[i - step]);
        return;
      case 2:
        for (std::size_t i = 0; i < count; ++i) row[i] = static_cast<unsigned char>(row[i] + up[i]);
        return;
      case 3:
        for (std::size_t i = 0; i < count; ++i) row[i] = static_cast<unsigned char>(row[i] + ((i < step ? 0 : row[i - step]) + up[i]) / 2);
        return;
      case 4:
        for (std::size_t i = 0; i < count; ++i) {
          const int a = i < step ? 0 : row[i - step], b = up[i], c = i < step ? 0 : up[i - step];
          const int pa = std::abs(b - c), pb = std::abs(a - c), pc = std::abs(a + b - 2 * c);
          row[i] = static_cast<unsigned char>(row[i] + (pa <= pb && pa <= pc ? a : pb <= pc ? b : c));
        }
        return;
      default: fail(at_, "the row filter " + std::to_string(kind) + " does not exist");
    }
  }

  template <class T>
  void pixels(const unsigned char* row, T* out, std::size_t channels) const {
    const std::size_t width = width_, in = samples();
    const T opaque = static_cast<T>(~T{0});
    if (colour_ == 3) {
      for (std::size_t x = 0; x < width; ++x, out += channels) {
        const std::size_t index = packed(row, x);
        if (3 * index + 3 > palette_.size()) fail(at_, "a pixel names colour " + std::to_string(index) + ", and the palette has " + std::to_string(palette_.size() / 3));
        for (std::size_t c = 0; c < 3; ++c) out[c] = palette_[3 * index + c];
        if (channels == 4) out[3] = index < alpha_.size() ? static_cast<T>(alpha_[index]) : static_cast<T>(255);
      }
    } else if (depth_ < 8) {
      const unsigned scale = 255u / ((1u << depth_) - 1);  // 1 bit: 0 and 255
      for (std::size_t x = 0; x < width; ++x, out += channels) {
        const std::size_t value = packed(row, x);
        out[0] = static_cast<T>(value * scale);
        if (channels == 2) out[1] = value == key_[0] ? T{0} : opaque;
      }
    } else if (sizeof(T) == 1 && channels == in) {
      std::memcpy(out, row, width * in);
    } else {
      for (std::size_t x = 0; x < width; ++x, out += channels) {
        bool is_key = !key_.empty();
        for (std::size_t c = 0; c < in; ++c, row += sizeof(T)) {
          const unsigned value = sizeof(T) == 2 ? static_cast<unsigned>(row[0] << 8 | row[1]) : row[0];
          out[c] = static_cast<T>(value);
          is_key = is_key && value == key_[c];
        }
        if (channels > in) out[in] = is_key ? T{0} : opaque;
      }
    }
  }
  std::size_t packed(const unsigned char* row, std::size_t x) const {  // sample x of 1, 2, 4 or 8 bits
    const std::size_t bit = x * depth_;
    return static_cast<std::size_t>(row[bit / 8] >> (8 - depth_ - bit % 8)) & ((1u << depth_) - 1);
  }

  struct End {
    void operator()(z_stream* stream) const { inflateEnd(stream); }
  };

  const File& file_;
  const Content bytes_;
  std::size_t at_ = 0, width_ = 0, height_ = 0, depth_ = 0, colour_ = 0;
  std::vector<unsigned char> compressed_, palette_, alpha_;
  std::vector<std::uint16_t> key_;
  std::unique_ptr<z_stream> stream_;
  std::unique_ptr<z_stream, End> started_;  // declared behind stream_: ended before it goes
};

}  // namespace

Array read_png(const File& file) { return Png(file).read(); }

}  // namespace formats
