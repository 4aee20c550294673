// A dataset's layout, asked for in another process or in this one.
#include <filesystem>
#include <mutex>

#include "error.hpp"
#include "hdf5.hpp"
#include "hdf5_look.hpp"

namespace formats {

Layout hdf5_layout(const File& file, const std::string& dataset, const Box& box, bool isolated) {
  static std::mutex one_at_a_time;  // not every build of the library bears two threads
  const std::lock_guard<std::mutex> turn(one_at_a_time);
  // Absolute, since the helper stays in the folder in which it was started.
  const Question question{std::filesystem::absolute(file.name()).string(), dataset, box};
  Message answer = isolated ? hdf5_look_from_outside(question) : hdf5_look(question);
  if (!answer.take<bool>()) throw FormatError(file.name(), answer.take_text());
  Layout layout;
  layout.scalar.kind = answer.take<char>();
  layout.scalar.bytes = answer.take<std::uint64_t>();
  layout.big_endian = answer.take<bool>();
  layout.shape = answer.take_all<std::uint64_t>();
  layout.fill = answer.take_all<std::uint8_t>();
  layout.matlab = answer.take<bool>();
  layout.kind = answer.take<Layout::Kind>();
  if (layout.kind == Layout::Kind::contiguous) {
    layout.written = answer.take<bool>();
    layout.address = answer.take<std::uint64_t>();
  } else if (layout.kind == Layout::Kind::compact) {
    layout.compact = answer.take_all<std::uint8_t>();
  } else {
    layout.chunk_shape = answer.take_all<std::uint64_t>();
    layout.filters = answer.take_all<Filter>();
    const auto count = answer.take<std::uint64_t>();
    for (std::uint64_t i = 0; i < count; ++i) {
      Chunk chunk;
      chunk.corner = answer.take_all<std::uint64_t>();
      chunk.address = answer.take<std::uint64_t>();
      chunk.stored = answer.take<std::uint64_t>();
      chunk.skipped = answer.take<std::uint32_t>();
      layout.chunks.push_back(std::move(chunk));
    }
  }
  return layout;
}

}  // namespace formats
