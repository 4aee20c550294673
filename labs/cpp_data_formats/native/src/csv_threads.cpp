// A whole CSV file by several threads.
//
// Each thread takes a range of bytes and has to guess where its first record starts: behind the next line end, unless
// that stands within quotes. The guess is checked afterwards: the thread before must have ended exactly there. So the
// result, and the first error, are those of a single thread; a wrong guess costs only time.
#include <algorithm>
#include <cstring>

#include "csv.hpp"
#include "error.hpp"
#include "threads.hpp"

namespace formats {
namespace {

struct Share {
  std::uint64_t begin = 0, end = 0, stopped = 0;
  Buffer values;
  std::size_t rows = 0;
};

void parse(const File& file, const CsvOptions& options, const CsvLayout& layout, Share& share) {
  share.rows = 0;
  share.stopped = share.begin;
  if (share.begin >= share.end) return;
  CsvRecords records(file, options, layout, share.begin, share.end);
  share.rows = records.read(share.values, 0);
  share.stopped = records.position();
}

}  // namespace

std::uint64_t record_after(const File& file, std::uint64_t offset, std::uint64_t first_record) {
  if (offset <= first_record) return first_record;
  char block[1 << 12];
  bool after_return = false;
  for (std::uint64_t at = offset - 1;;) {
    const std::size_t got = file.read(at, block, sizeof block);
    for (std::size_t i = 0; i < got; ++i) {
      if (after_return) return at + i + (block[i] == '\n');
      if (block[i] == '\n') return at + i + 1;
      after_return = block[i] == '\r';
    }
    at += got;
    if (got < sizeof block) return std::min(at, file.size());
  }
}

CsvTable read_csv(const File& file, const CsvOptions& options, unsigned threads, std::size_t smallest_share) {
  const CsvLayout layout = csv_layout(file, options);
  const std::uint64_t start = std::min(layout.first_record, file.size()), bytes = file.size() - start;
  const auto count = static_cast<unsigned>(std::clamp<std::uint64_t>(bytes / smallest_share, 1, std::max(threads, 1u)));

  std::vector<Share> shares(count);
  const auto problems = in_parallel(count, [&](unsigned i) {
    Share& share = shares[i];
    share.end = i + 1 == count ? UINT64_MAX : start + bytes / count * (i + 1);
    share.begin = record_after(file, start + bytes / count * i, start);
    parse(file, options, layout, share);
  });
  std::size_t rows = 0;
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t expected = i ? std::max(shares[i - 1].stopped, shares[i - 1].begin) : start;
    if (i && shares[i].begin != expected) {
      shares[i].begin = expected;  // the guess fell into quotes, or a record spans the whole share
      parse(file, options, layout, shares[i]);
    } else if (problems[i]) {
      std::rethrow_exception(problems[i]);
    }
    rows += shares[i].rows;
  }

  const std::size_t row_bytes = times(layout.columns, sizeof(double));
  CsvTable table{std::move(shares[0].values), rows, layout.columns, layout.names};
  table.values.resize(times(rows, row_bytes));
  std::size_t at = shares[0].rows;
  std::vector<std::size_t> offsets(count);
  for (unsigned i = 1; i < count; at += shares[i++].rows) offsets[i] = at;
  in_parallel(count - 1, [&](unsigned k) {
    const Share& share = shares[k + 1];
    if (share.rows)
      std::memcpy(table.values.data<char>() + offsets[k + 1] * row_bytes, share.values.data(), share.rows * row_bytes);
  });
  return table;
}

}  // namespace formats
