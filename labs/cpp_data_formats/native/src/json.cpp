#include "json.hpp"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>
#include <unordered_set>

#include "error.hpp"
#include "number.hpp"
#include "text.hpp"

namespace formats {
namespace {

namespace od = simdjson::ondemand;
using simdjson::error_code;

constexpr int deepest = 64;  // levels of arrays and objects in the parts that are passed over

class Reader {
 public:
  Reader(const File& file, const JsonOptions& options) : file_(file), options_(options), text_(file.all(simdjson::SIMDJSON_PADDING)) {
    size_ = text_.size();
    if (size_ >= 3 && std::memcmp(text_.data(), "\xef\xbb\xbf", 3) == 0) start_ = 3;
  }

  Matrix read() {
    if (size_ == start_) fail(start_, "the file is empty: expected a JSON document");
    const simdjson::padded_string_view view(text_.data() + start_, size_ - start_, size_ - start_ + simdjson::SIMDJSON_PADDING);
    check(parser_.iterate(view).get(document_));
    open_ = true;
    od::json_type type;
    check(document_.type().get(type));
    Matrix matrix;
    if (options_.key) {
      if (type != od::json_type::object) fail_here("expected an object with the member " + shown(*options_.key) + ", found " + name(type));
      object(matrix);
    } else {
      if (type != od::json_type::array)
        fail_here(std::string("expected an array of rows, found ") + name(type) + (type == od::json_type::object ? " (name the member that holds the rows: key='data')" : ""));
      od::array outer;
      check(document_.get_array().get(outer));
      rows(outer, matrix);
    }
    if (!document_.at_end()) fail_here("expected the end of the file behind the document");
    matrix.values.resize(times(times(matrix.rows, matrix.columns), sizeof(double)));
    return matrix;
  }

 private:
  // The outer object: one member holds the rows, all others are checked and passed over.
  void object(Matrix& matrix) {
    od::object members;
    check(document_.get_object().get(members));
    std::unordered_set<std::string> seen;
    bool found = false;
    for (auto result : members) {
      od::field member;
      check(std::move(result).get(member));
      const std::string key = name_of(member, seen);
      od::value value = std::move(member).value();
      if (key != *options_.key) {
        pass_over(value, 1);
        continue;
      }
      found = true;
      od::array outer;
      if (value.get_array().get(outer)) wrong(value, "expected an array of rows in the member " + shown(key));
      rows(outer, matrix);
    }
    if (!found) throw FormatError(file_.name(), "the object has no member " + shown(*options_.key));
  }

  void rows(od::array& outer, Matrix& matrix) {
    std::size_t size = 0;  // numbers so far
    double* next = nullptr;
    double* end = nullptr;
    for (auto row_result : outer) {
      od::value row;
      check(row_result.get(row));
      od::array cells;
      const std::size_t row_number = matrix.rows;
      if (row.get_array().get(cells)) wrong(row, "row " + std::to_string(row_number + 1) + ": expected an array of numbers");
      const std::size_t before = size;
      for (auto cell_result : cells) {
        od::value cell;
        check(cell_result.get(cell));
        if (next == end) {
          matrix.values.resize(std::max<std::size_t>(times(2, matrix.values.bytes()), 4096));
          next = matrix.values.data<double>() + size;
          end = matrix.values.data<double>() + matrix.values.bytes() / sizeof(double);
        }
        double value;
        if (cell.get_double().get(value) || value == 0 || std::fabs(value) >= 9007199254740992.0)
          value = unusual(cell, row_number, size - before);
        *next++ = value;
        ++size;
      }
      const std::size_t width = size - before;
      if (row_number == 0) matrix.columns = width;
      else if (width != matrix.columns)
        fail_here("row " + std::to_string(row_number + 1) + " has " + counted(width, "number") + ": expected " +
                  std::to_string(matrix.columns) + " as in row 1");
      ++matrix.rows;
    }
  }

  // null, a zero (is it one?), an integer beyond 2^53, or something that is no number at all.
  double unusual(od::value& cell, std::size_t row, std::size_t column) {
    const std::string_view text = token(cell);
    if (!text.empty() && text.find_first_not_of("-0.") == text.npos && !cell.get_double().get(plain_zero_)) return plain_zero_;
    const std::string place = "row " + std::to_string(row + 1) + ", number " + std::to_string(column + 1) + ": ";
    bool is_null = false;
    if (!text.empty() && text[0] == 'n' && !cell.is_null().get(is_null) && is_null) {
      if (!options_.missing_value)
        fail(offset(text.data()), place + "found null: expected a number (or say what a missing value becomes: missing=nan)");
      return *options_.missing_value;
    }
    const auto digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
    const bool starts_number = digit(0) || (!text.empty() && text[0] == '-' && digit(1));
    if (!starts_number) wrong(cell, place + "expected a number");
    double value;
    const NumberFault fault = parse_number(text, {}, value);
    if (fault != NumberFault::none) fail(offset(text.data()), place + explain(fault, text, {}));
    double again;
    // The number has been read and lies behind us, unless it is one that JSON does not allow (01, 1., -.5, -nan).
    if (simdjson::padded_string alone(text); single_.iterate(alone).get(document_alone_) ||
        document_alone_.get_double().get(again))
      fail(offset(text.data()), place + "JSON does not write a number as " + shown(text));
    return value;
  }

  void pass_over(od::value value, int depth) {
    if (depth > deepest) wrong(value, "nested more than " + std::to_string(deepest) + " levels deep: expected less", false);
    od::json_type type;
    if (value.type().get(type)) wrong(value, "expected a JSON value");
    switch (type) {
      case od::json_type::array: {
        od::array items;
        check(value.get_array().get(items));
        for (auto result : items) {
          od::value item;
          check(result.get(item));
          pass_over(item, depth + 1);
        }
        return;
      }
      case od::json_type::object: {
        od::object members;
        check(value.get_object().get(members));
        std::unordered_set<std::string> seen;
        for (auto result : members) {
          od::field member;
          check(std::move(result).get(member));
          name_of(member, seen);
          pass_over(std::move(member).value(), depth + 1);
        }
        return;
      }
      case od::json_type::string: {
        std::string_view ignored;
        if (value.get_string().get(ignored)) wrong(value, "expected a string with valid escapes");
        return;
      }
      case od::json_type::number: {
        double ignored;
        if (value.get_double().get(ignored)) wrong(value, "expected a JSON number that float64 can hold");
        return;
      }
      case od::json_type::boolean: {
        bool ignored;
        if (value.get_bool().get(ignored)) wrong(value, "expected true or false");
        return;
      }
      default: {
        bool is_null = false;
        if (value.is_null().get(is_null) || !is_null) wrong(value, "expected a JSON value");
      }
    }
  }

  std::string name_of(od::field& member, std::unordered_set<std::string>& seen) {
    const char* at = member.key().raw();
    std::string_view name;
    if (member.unescaped_key().get(name)) fail(offset(at), "expected a name with valid escapes");
    if (!seen.emplace(name).second) fail(offset(at), "the member " + shown(name) + " stands here a second time: expected each name once");
    return std::string(name);
  }

  // The text of a scalar at which the reader stands, up to whatever ends it.
  std::string_view token(od::value& value) const {
    const std::string_view text = value.raw_json_token();
    const std::size_t end = text.find_first_of(" \t\r\n,:[]{}");
    return text.empty() || text[0] == '"' ? text : text.substr(0, std::max<std::size_t>(end == text.npos ? text.size() : end, 1));
  }

  [[noreturn]] void wrong(od::value& value, const std::string& expected, bool show = true) const {
    const std::string_view text = token(value);
    std::string reason = expected;
    if (show) {
      reason += ", found " + shown(text.substr(0, std::min<std::size_t>(text.size(), 60)));
      if (text == "]" || text == "}") reason += " (is there a comma too many before it?)";
      if (text == "NaN" || text == "Infinity" || text == "-Infinity") reason += " (JSON has no such number: write null, and read it with missing=nan)";
    }
    fail(offset(text.data()), reason);
  }

  void check(error_code error) {
    if (!error) return;
    switch (error) {
      case simdjson::UTF8_ERROR: fail(start_ + std::min(first_not_utf8({text_.data() + start_, size_ - start_}), size_ - start_), "bytes that are not UTF-8");
      case simdjson::UNCLOSED_STRING: fail(size_, "the file ends within a string: expected a closing quote");
      case simdjson::UNESCAPED_CHARS: fail_here("a control character within a string: expected it escaped");
      case simdjson::EMPTY: fail(size_, "expected a JSON document, found nothing but blanks");
      case simdjson::INCOMPLETE_ARRAY_OR_OBJECT: fail(size_, "the file does not end with the ] or } of its document");
      case simdjson::MEMALLOC: throw std::bad_alloc();
      case simdjson::TAPE_ERROR: fail_here("not JSON: expected a comma, a closing bracket, a name or a value here");
      default: fail_here(std::string("not JSON (") + simdjson::error_message(error) + ")");
    }
  }

  [[noreturn]] void fail_here(const std::string& reason) {
    const char* at = nullptr;
    if (!open_ || document_.current_location().get(at)) at = nullptr;  // not open: it never found its first bracket
    const bool inside = at && at >= text_.data() && at <= text_.data() + size_;
    if (inside) fail(offset(at), reason);
    throw FormatError(file_.name(), reason);
  }
  [[noreturn]] void fail(std::size_t at, const std::string& reason) const {
    const Position place = position_of(file_, at);
    throw FormatError(file_.name(), reason, place.line, place.column, static_cast<std::int64_t>(at));
  }
  std::size_t offset(const char* at) const { return static_cast<std::size_t>(at - text_.data()); }
  static const char* name(od::json_type type) {
    switch (type) {
      case od::json_type::array: return "an array";
      case od::json_type::object: return "an object";
      case od::json_type::number: return "a number";
      case od::json_type::string: return "a string";
      case od::json_type::boolean: return "true or false";
      default: return "null";
    }
  }

  const File& file_;
  const JsonOptions& options_;
  Content text_;
  std::size_t size_ = 0, start_ = 0;
  od::parser parser_, single_;
  od::document document_, document_alone_;
  double plain_zero_ = 0;
  bool open_ = false;  // whether document_ stands at a place in the text
};

}  // namespace

Matrix read_json(const File& file, const JsonOptions& options) { return Reader(file, options).read(); }

}  // namespace formats
