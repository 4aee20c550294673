// The records of a CSV file: the quick path for plain numbers, the careful one for everything else.
#include "csv.hpp"

#include <algorithm>
#include <cstring>

#include "error.hpp"

namespace formats {
namespace {

constexpr std::size_t block_size = std::size_t{1} << 18;  // fits the second-level cache
constexpr std::size_t padding = 32;                       // quick_number may look this far behind a line's end

bool ends_line(char c) { return c == '\n' || c == '\r'; }

}  // namespace

CsvRecords::CsvRecords(const File& file, const CsvOptions& options, const CsvLayout& layout, std::uint64_t begin,
                       std::uint64_t end)
    : file_(file), options_(options), layout_(layout), end_(end), block_at_(begin) {
  simple_ = layout.columns == layout.fields;
  for (std::size_t i = 0; simple_ && i < layout.fields; ++i) simple_ = layout.target[i] == static_cast<std::ptrdiff_t>(i);
  const std::uint64_t rest = file.size() - std::min(begin, file.size());
  block_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(rest + 1, block_size)) + padding);
  next_ = safe_ = block_.data();
}

// Bring in more of the file behind the unread bytes. False when there is nothing left to read from this block on.
bool CsvRecords::refill() {
  if (at_end_) return false;
  const auto done = static_cast<std::size_t>(next_ - block_.data());
  const std::size_t left = filled_ - done;
  if (done == 0 && filled_ + padding >= block_.size()) {
    block_.resize(2 * block_.size());  // one record fills the block
  } else if (left) {
    std::memmove(block_.data(), next_, left);
  }
  block_at_ += done;
  const std::size_t room = block_.size() - padding - left;
  const std::size_t got = file_.read(block_at_ + left, block_.data() + left, room);
  filled_ = left + got;
  at_end_ = got < room;
  std::memset(block_.data() + filled_, 0, padding);
  next_ = block_.data();
  std::size_t safe = filled_;
  if (at_end_) {
    if (filled_ && !ends_line(block_[filled_ - 1])) block_[safe++] = '\n';  // the last line needs no end of its own
  } else {
    while (safe && block_[safe - 1] != '\n') --safe;
    if (!safe)
      for (safe = filled_ ? filled_ - 1 : 0; safe && block_[safe - 1] != '\r';) --safe;
  }
  safe_ = block_.data() + safe;
  return filled_ > 0;
}

std::uint64_t CsvRecords::position() const {
  return std::min(block_at_ + static_cast<std::uint64_t>(next_ - block_.data()), file_.size());  // not behind our own '\n'
}

std::size_t CsvRecords::read(Buffer& values, std::size_t rows, std::size_t most) {
  const std::size_t columns = layout_.columns, row_bytes = times(columns, sizeof(double));
  const std::size_t stop = most > SIZE_MAX - rows ? SIZE_MAX : rows + most;
  while (rows < stop) {
    if (next_ >= safe_) {
      if (!refill()) break;
      continue;
    }
    if (position() >= end_) break;
    if (ends_line(*next_)) {
      const bool pair = next_[0] == '\r' && next_[1] == '\n';
      if (options_.skip_blank_lines) {
        next_ += 1 + pair;
        continue;
      }
      if (columns > 1 || !options_.fill_missing)
        fail({next_, 0, "the line is blank: expected " + counted(layout_.fields, "field") +
                            " (blank lines are passed over with skip_blank_lines=True)"});
    }
    if ((rows + 1) * row_bytes > values.bytes())
      values.resize(std::max(times(2, values.bytes()), times(rows + 64, row_bytes)));
    const char* behind = record(next_, values.data<double>() + rows * columns);
    if (!behind) {
      if (!refill()) break;
      continue;
    }
    next_ = behind;
    ++rows;
  }
  return rows;
}

// Parse the record at p; returns where the next one starts, or nullptr when the block ends within a quoted field.
const char* CsvRecords::record(const char* p, double* row) {
  const char delimiter = options_.delimiter, decimal = options_.style.decimal;
  const std::size_t fields = layout_.fields;
  const bool simple = simple_;
  for (std::size_t number = 0;; ++number) {
    const char* start = p;
    double value;
    if (simple && quick_number(p, decimal, value) && (*p == delimiter || ends_line(*p))) {
      row[number] = value;
    } else {
      p = field(start, number, row);
      if (!p) return nullptr;
    }
    if (*p == delimiter) {
      if (number + 1 == fields)
        fail({p, fields, "expected " + counted(fields, "field") + " as in the first line, found more"});
      ++p;
      continue;
    }
    if (number + 1 != fields)
      fail({p, number, "the line ends after " + counted(number + 1, "field") + ": expected " +
                           std::to_string(fields) + " as in the first line"});
    return p[0] == '\r' && p[1] == '\n' ? p + 2 : p + 1;
  }
}

// Any one field; returns a pointer to the delimiter or line end behind it.
const char* CsvRecords::field(const char* p, std::size_t number, double* row) {
  const char delimiter = options_.delimiter;
  const auto blank = [&](char c) { return (c == ' ' || c == '\t') && c != delimiter; };
  while (blank(*p)) ++p;
  if (options_.quote && *p == options_.quote) {
    const char* behind = quoted(p, number);
    if (behind) store(unquoted_, p, number, row);
    return behind;
  }
  const std::ptrdiff_t target = layout_.target[number];
  if (target >= 0) {
    const char* s = p;
    double value;
    if (quick_number(s, options_.style.decimal, value) ||
        (options_.style.decimal == '.' && direct_number(s, safe_, value))) {
      while (blank(*s)) ++s;
      if (*s == delimiter || ends_line(*s)) {
        row[target] = value;
        return s;
      }
    }
  }
  const char* end = p;
  for (; *end != delimiter && !ends_line(*end); ++end)
    if (options_.quote && *end == options_.quote)
      fail({end, number, "a quote within an unquoted field: expected it at the field's start"});
  const char* last = end;
  while (last > p && blank(last[-1])) --last;
  store(std::string_view(p, static_cast<std::size_t>(last - p)), p, number, row);
  return end;
}

// The field in quotes at p, into unquoted_; returns a pointer to what follows, nullptr when the block ends before.
const char* CsvRecords::quoted(const char* p, std::size_t number) {
  const char quote = options_.quote;
  const char* const opened = p++;
  unquoted_.clear();
  while (true) {
    const char* stop = static_cast<const char*>(std::memchr(p, quote, static_cast<std::size_t>(safe_ - p)));
    if (!stop) {
      if (at_end_) fail({opened, number, "a quoted field is never closed: expected a closing quote"});
      return nullptr;
    }
    unquoted_.append(p, stop);
    p = stop + 1;
    if (*p != quote) break;
    unquoted_ += quote;
    ++p;
  }
  while ((*p == ' ' || *p == '\t') && *p != options_.delimiter) ++p;
  if (*p != options_.delimiter && !ends_line(*p))
    fail({p, number, "expected a delimiter or the end of the line behind the closing quote, found " +
                         shown(std::string_view(p, 1))});
  return p;
}

void CsvRecords::store(std::string_view text, const char* at, std::size_t number, double* row) const {
  const std::ptrdiff_t target = layout_.target[number];
  if (target < 0) return;
  const auto& words = options_.missing_words;
  if (text.empty() || std::find(words.begin(), words.end(), text) != words.end()) {
    if (!options_.fill_missing)
      fail({at, number, text.empty() ? "the field is empty: expected a number (or say what a missing value becomes: missing=nan)"
                                     : "the value is missing (" + shown(text) + "): expected a number (or say what it becomes: missing=nan)"});
    row[target] = options_.missing_value;
    return;
  }
  const NumberFault fault = parse_number(text, options_.style, row[target]);
  if (fault != NumberFault::none) fail({at, number, explain(fault, text, options_.style)});
}

void CsvRecords::fail(const Fault& fault) const {
  const std::uint64_t at = block_at_ + static_cast<std::uint64_t>(fault.at - block_.data());
  std::string name;
  if (!layout_.names.empty() && fault.field < layout_.fields && layout_.target[fault.field] >= 0)
    name = layout_.names[static_cast<std::size_t>(layout_.target[fault.field])];
  throw FormatError(file_.name(), fault.reason, position_of(file_, at).line,
                    static_cast<std::int64_t>(fault.field) + 1, static_cast<std::int64_t>(at), name);
}

}  // namespace formats
