// The first record of a file: how many fields, what they are called, where the data start.
#include <algorithm>
#include <stdexcept>
#include <unordered_map>

#include "csv.hpp"
#include "error.hpp"
#include "text.hpp"

namespace formats {
namespace {

struct Field {
  std::string text;
  std::uint64_t at;
};

// Reads the file byte by byte, in blocks.
class Bytes {
 public:
  Bytes(const File& file, std::uint64_t at) : file_(file), at_(at) {}
  int peek() {
    if (next_ == filled_ && !fill()) return -1;
    return static_cast<unsigned char>(block_[next_]);
  }
  int take() {
    const int c = peek();
    if (c >= 0) ++next_;
    return c;
  }
  std::uint64_t at() const { return at_ + next_; }

 private:
  bool fill() {
    at_ += filled_;
    next_ = 0;
    filled_ = file_.read(at_, block_.data(), block_.size());
    return filled_ > 0;
  }
  const File& file_;
  std::uint64_t at_;
  std::vector<char> block_ = std::vector<char>(1 << 12);
  std::size_t next_ = 0, filled_ = 0;
};

bool ends_line(int c) { return c < 0 || c == '\n' || c == '\r'; }

[[noreturn]] void fail(const File& file, std::uint64_t at, std::size_t field, const std::string& reason) {
  throw FormatError(file.name(), reason, position_of(file, at).line, static_cast<std::int64_t>(field) + 1,
                    static_cast<std::int64_t>(at));
}

std::vector<Field> first_record(const File& file, const CsvOptions& options, Bytes& bytes) {
  std::vector<Field> fields;
  const int quote = options.quote ? static_cast<unsigned char>(options.quote) : -2;
  const int delimiter = static_cast<unsigned char>(options.delimiter);
  const auto blank = [&](int c) { return (c == ' ' || c == '\t') && c != delimiter; };
  while (true) {
    while (blank(bytes.peek())) bytes.take();
    Field field{"", bytes.at()};
    if (bytes.peek() == quote) {
      const std::uint64_t opened = bytes.at();
      bytes.take();
      while (true) {
        const int c = bytes.take();
        if (c < 0) fail(file, opened, fields.size(), "a quoted field is never closed: expected a closing quote");
        if (c != quote) {
          field.text += static_cast<char>(c);
          continue;
        }
        if (bytes.peek() != quote) break;
        field.text += static_cast<char>(bytes.take());
      }
      while (blank(bytes.peek())) bytes.take();
      if (bytes.peek() != delimiter && !ends_line(bytes.peek()))
        fail(file, bytes.at(), fields.size(), "expected a delimiter or the end of the line behind the closing quote");
    } else {
      while (bytes.peek() != delimiter && !ends_line(bytes.peek())) {
        if (bytes.peek() == quote)
          fail(file, bytes.at(), fields.size(), "a quote within an unquoted field: expected it at the field's start");
        field.text += static_cast<char>(bytes.take());
      }
      while (!field.text.empty() && blank(static_cast<unsigned char>(field.text.back()))) field.text.pop_back();
    }
    fields.push_back(std::move(field));
    const int c = bytes.take();
    if (c == delimiter) continue;
    if (c == '\r' && bytes.peek() == '\n') bytes.take();
    return fields;
  }
}

bool looks_like_number(const std::string& text, const CsvOptions& options) {
  double ignored;
  const NumberFault fault = parse_number(text, options.style, ignored);
  return fault == NumberFault::none || fault == NumberFault::inexact_integer || fault == NumberFault::too_large ||
         fault == NumberFault::too_small;
}

void check_names(const File& file, const std::vector<Field>& header) {
  std::unordered_map<std::string_view, std::size_t> seen;
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (!is_utf8(header[i].text))
      fail(file, header[i].at, i, "the column's name " + shown(header[i].text) + " is not UTF-8");
    if (header[i].text.empty()) continue;  // a column of row labels often has no name
    const auto [before, fresh] = seen.emplace(header[i].text, i);
    if (!fresh)
      fail(file, header[i].at, i,
           "the name " + shown(header[i].text) + " was column " + std::to_string(before->second + 1) +
               "'s already: expected each name once");
  }
}

void choose(CsvLayout& layout, const std::vector<Field>& header, const CsvOptions& options, const File& file) {
  std::vector<std::size_t> chosen = options.column_numbers;
  for (const std::string& name : options.column_names) {
    const auto found = std::find_if(header.begin(), header.end(), [&](const Field& f) { return f.text == name; });
    if (options.header == CsvOptions::Header::none || found == header.end())
      throw FormatError(file.name(), "there is no column called " + shown(name) +
                                         (options.header == CsvOptions::Header::none ? " (no header was read)" : ""));
    chosen.push_back(static_cast<std::size_t>(found - header.begin()));
  }
  if (chosen.empty())
    for (std::size_t i = 0; i < layout.fields; ++i) chosen.push_back(i);
  layout.target.assign(layout.fields, -1);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i] >= layout.fields)
      throw FormatError(file.name(), "column number " + std::to_string(chosen[i]) + " (from 0) was asked for, but there are only " +
                                         counted(layout.fields, "column"));
    if (layout.target[chosen[i]] >= 0)
      throw std::invalid_argument("column " + std::to_string(chosen[i]) + " was asked for twice");
    layout.target[chosen[i]] = static_cast<std::ptrdiff_t>(i);
    if (options.header != CsvOptions::Header::none) layout.names.push_back(header[chosen[i]].text);
  }
  layout.columns = chosen.size();
}

}  // namespace

void CsvOptions::check() const {
  const auto bad = [](char c) { return c == '\n' || c == '\r' || c == '\0' || (c >= '0' && c <= '9') || c == '-' || c == '+'; };
  const auto letter = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
  if (bad(delimiter) || letter(delimiter) || delimiter == '.' || delimiter == style.decimal)
    throw std::invalid_argument("the delimiter must be one character that no number holds, found " + shown(std::string_view(&delimiter, 1)));
  if (style.decimal != '.' && style.decimal != ',') throw std::invalid_argument("decimal must be '.' or ','");
  if (style.thousands && (bad(style.thousands) || letter(style.thousands) || style.thousands == style.decimal || style.thousands == quote))
    throw std::invalid_argument("thousands must be one character other than decimal, quote, digits, letters and signs");
  if (quote && (bad(quote) || letter(quote) || quote == delimiter || quote == style.decimal || quote == ' ' || quote == '\t'))
    throw std::invalid_argument("quote must be one character other than delimiter, decimal, blanks, digits, letters and signs");
}

CsvLayout csv_layout(const File& file, const CsvOptions& options) {
  options.check();
  unsigned char mark[4] = {};
  const std::size_t got = file.read(0, mark, 4);
  if (got >= 2 && ((mark[0] == 0xff && mark[1] == 0xfe) || (mark[0] == 0xfe && mark[1] == 0xff)))
    throw FormatError(file.name(), "the file is UTF-16: expected UTF-8 (convert it, for instance with iconv)", 1, 1, 0);
  const bool marked = got >= 3 && mark[0] == 0xef && mark[1] == 0xbb && mark[2] == 0xbf;
  Bytes bytes(file, marked ? 3 : 0);
  if (options.skip_blank_lines)
    while (bytes.peek() == '\n' || bytes.peek() == '\r') bytes.take();
  const std::uint64_t start = bytes.at();
  if (bytes.peek() < 0)
    throw FormatError(file.name(), options.header == CsvOptions::Header::none ? "the file is empty: expected a row of numbers" : "the file is empty: expected a line of column names", 1, 1, 0);
  const std::vector<Field> fields = first_record(file, options, bytes);
  if (fields.size() == 1 && fields[0].text.empty() && fields[0].at == start && ends_line([&] { char c = 0; return file.read(start, &c, 1) ? static_cast<int>(c) : -1; }()))
    if (options.header != CsvOptions::Header::none)
      throw FormatError(file.name(), "the line is blank: expected column names (blank lines are passed over with skip_blank_lines=True)", position_of(file, start).line, 1, static_cast<std::int64_t>(start));

  CsvLayout layout;
  layout.fields = fields.size();
  layout.first_record = start;
  if (options.header != CsvOptions::Header::none) {
    layout.first_record = bytes.at();
    if (options.header == CsvOptions::Header::checked &&
        std::all_of(fields.begin(), fields.end(), [&](const Field& f) { return looks_like_number(f.text, options); }))
      fail(file, start, 0, "expected column names, found only numbers (pass header=False if the first line is data, header='always' if these are names)");
    check_names(file, fields);
  }
  choose(layout, fields, options, file);
  return layout;
}

}  // namespace formats
