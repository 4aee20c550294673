// Rows of numbers from delimited text: strict, in one pass, from any record of the file on.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "file.hpp"
#include "number.hpp"

namespace formats {

struct CsvOptions {
  char delimiter = ',';
  char quote = '"';  // '\0': a quote is an ordinary character
  NumberStyle style;
  enum class Header { none, checked, always } header = Header::checked;  // checked: refuses a first row of numbers
  bool skip_blank_lines = false;
  bool fill_missing = false;  // otherwise a missing value is an error
  double missing_value = 0;
  std::vector<std::string> missing_words;  // besides the empty field
  std::vector<std::string> column_names;   // read only these, in this order; empty: by column_numbers
  std::vector<std::size_t> column_numbers;  // from 0; both empty: all columns
  void check() const;  // throws std::invalid_argument
};

// What the first record tells about all others.
struct CsvLayout {
  std::vector<std::string> names;  // of the columns that are read; empty without a header
  std::size_t fields = 0;          // in each record
  std::vector<std::ptrdiff_t> target;  // of each field: its column in the result, or -1
  std::size_t columns = 0;             // in the result
  std::uint64_t first_record = 0;      // byte at which the data start
};
CsvLayout csv_layout(const File& file, const CsvOptions& options);

// The records that start in bytes [begin, end) of a file, parsed in order, block by block.
class CsvRecords {
 public:
  // `begin` must be the start of a record, see `record_after`.
  CsvRecords(const File& file, const CsvOptions& options, const CsvLayout& layout, std::uint64_t begin,
             std::uint64_t end);

  // Parse up to `most` further rows and append them to `values` behind `rows` rows that are there. Returns the new
  // number of rows: less than `most` more only at the end. Throws FormatError.
  std::size_t read(Buffer& values, std::size_t rows, std::size_t most = SIZE_MAX);

  // Byte at which the next record starts. Behind the last one: at or behind `end`.
  std::uint64_t position() const;

 private:
  struct Fault {
    const char* at;
    std::size_t field;
    std::string reason;
  };
  bool refill();
  const char* record(const char* p, double* row);
  const char* field(const char* p, std::size_t number, double* row);
  const char* quoted(const char* p, std::size_t number);
  void store(std::string_view text, const char* at, std::size_t number, double* row) const;
  [[noreturn]] void fail(const Fault& fault) const;

  const File& file_;
  const CsvOptions& options_;
  const CsvLayout& layout_;
  std::uint64_t end_;
  bool simple_;  // every field is wanted, in its place

  std::vector<char> block_;    // bytes of the file from block_at_ on, then padding
  std::uint64_t block_at_;
  const char* next_;           // the next record
  const char* safe_;           // behind the last line end in the block: no quick scan runs past it
  std::size_t filled_ = 0;     // bytes in the block
  bool at_end_ = false;        // the block holds the end of the file
  std::string unquoted_;       // a quoted field without its quotes
};

// Where the first record starts behind the first line end at or after `offset` - 1: `offset` itself if a line starts
// there. Right unless that line end is within quotes.
std::uint64_t record_after(const File& file, std::uint64_t offset, std::uint64_t first_record);

struct CsvTable {
  Buffer values;
  std::size_t rows = 0, columns = 0;
  std::vector<std::string> names;
};

// The whole file, by `threads` threads, none with less than `smallest_share` bytes: below, a thread costs more than it brings.
CsvTable read_csv(const File& file, const CsvOptions& options, unsigned threads, std::size_t smallest_share = 1 << 16);

}  // namespace formats
