#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>

#include "bindings.hpp"
#include "csv.hpp"

namespace formats {
namespace {

constexpr Scalar float64{'f', 8};

nb::object matrix(Buffer&& values, std::size_t rows, std::size_t columns) {
  return as_numpy(std::move(values), {rows, columns}, float64);
}

nb::list strings(const std::vector<std::string>& names) {
  nb::list result;
  for (const std::string& name : names) result.append(nb::str(name.data(), name.size()));
  return result;
}

// Records of one range of bytes, batch by batch: what streaming and the slabs of ranks are made of.
class Stream {
 public:
  Stream(const std::string& path, CsvOptions options, std::uint64_t begin, std::uint64_t end)
      : file_(path), options_(std::move(options)), layout_(csv_layout(file_, options_)) {
    const std::uint64_t size = file_.size(), first = std::min(layout_.first_record, size);
    begin_ = record_after(file_, std::max(first, std::min(begin, size)), first);
    end_ = std::min(end, size);
    records_ = std::make_unique<CsvRecords>(file_, options_, layout_, begin_, end_);
  }
  nb::object next(std::size_t most) {
    Buffer values;
    std::size_t rows = 0;
    {
      nb::gil_scoped_release free_python;
      const std::lock_guard<std::mutex> one_at_a_time(turn_);
      rows = begin_ < end_ ? records_->read(values, 0, most) : 0;
      values.resize(rows * layout_.columns * sizeof(double));
    }
    return matrix(std::move(values), rows, layout_.columns);
  }
  nb::list names() const { return strings(layout_.names); }
  std::uint64_t begin() const { return begin_; }
  std::uint64_t position() const { return begin_ < end_ ? records_->position() : begin_; }
  std::uint64_t first_record() const { return layout_.first_record; }

 private:
  File file_;
  CsvOptions options_;
  CsvLayout layout_;
  std::uint64_t begin_ = 0, end_ = 0;
  std::unique_ptr<CsvRecords> records_;
  std::mutex turn_;
};

// How often the byte `quote` stands in bytes [begin, end) of a file.
std::uint64_t count_byte(const std::string& path, char byte, std::uint64_t begin, std::uint64_t end) {
  const nb::gil_scoped_release free_python;
  const File file(path);
  std::vector<char> block(1 << 18);
  std::uint64_t count = 0;
  for (std::uint64_t at = begin; at < end;) {
    const std::size_t got = file.read(at, block.data(), std::min<std::uint64_t>(block.size(), end - at));
    if (!got) break;
    count += static_cast<std::uint64_t>(std::count(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(got), byte));
    at += got;
  }
  return count;
}

}  // namespace

void bind_csv(nb::module_& m) {
  nb::enum_<CsvOptions::Header>(m, "Header")
      .value("none", CsvOptions::Header::none)
      .value("checked", CsvOptions::Header::checked)
      .value("always", CsvOptions::Header::always);
  nb::class_<CsvOptions>(m, "CsvOptions")
      .def("__init__",
           [](CsvOptions* self, char delimiter, char decimal, std::optional<char> thousands, std::optional<char> quote,
              CsvOptions::Header header, bool skip_blank_lines, std::optional<double> missing,
              std::vector<std::string> missing_words, std::vector<std::string> names, std::vector<std::size_t> numbers) {
             auto* o = new (self) CsvOptions();
             o->delimiter = delimiter;
             o->style = {decimal, thousands.value_or('\0')};
             o->quote = quote.value_or('\0');
             o->header = header;
             o->skip_blank_lines = skip_blank_lines;
             o->fill_missing = missing.has_value();
             o->missing_value = missing.value_or(0);
             o->missing_words = std::move(missing_words);
             o->column_names = std::move(names);
             o->column_numbers = std::move(numbers);
             o->check();
           },
           nb::arg("delimiter"), nb::arg("decimal"), nb::arg("thousands").none(), nb::arg("quote").none(), nb::arg("header"),
           nb::arg("skip_blank_lines"), nb::arg("missing").none(), nb::arg("missing_words"), nb::arg("column_names"),
           nb::arg("column_numbers"));
  m.def("read_csv", [](const std::string& path, const CsvOptions& options, unsigned threads) {
    CsvTable table;
    {
      const nb::gil_scoped_release free_python;
      const File file(path);
      table = read_csv(file, options, threads);
    }
    return nb::make_tuple(matrix(std::move(table.values), table.rows, table.columns), strings(table.names));
  });
  m.def("count_byte", &count_byte);
  nb::class_<Stream>(m, "CsvStream")
      .def(nb::init<const std::string&, CsvOptions, std::uint64_t, std::uint64_t>())
      .def("next", &Stream::next)
      .def_prop_ro("names", &Stream::names)
      .def_prop_ro("begin", &Stream::begin)
      .def_prop_ro("position", &Stream::position)
      .def_prop_ro("first_record", &Stream::first_record);
}

}  // namespace formats
