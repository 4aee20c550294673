// One input for one reader, chosen when compiled (-DREADER_csv, ...): for libFuzzer, and for driver.cpp.
//
// Besides crashes and what the sanitizers see, disagreements are caught: parts of a file must add up to the whole, and
// several threads must say what one says.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "error.hpp"
#include "file.hpp"
#if defined(READER_csv)
#include "csv.hpp"
#elif defined(READER_json)
#include "json.hpp"
#elif defined(READER_hdf5)
#include <sys/mman.h>
#include <unistd.h>

#include "hdf5.hpp"
#else
#include "image.hpp"
#include "npy.hpp"
#endif

namespace {

using namespace formats;

[[maybe_unused]] void insist(bool truth, const char* what) {
  if (truth) return;
  std::fprintf(stderr, "disagreement: %s\n", what);
  std::abort();
}

#if defined(READER_csv)
// The result, or the error, as text that can be compared.
std::string outcome(const File& file, const CsvOptions& options, unsigned threads) {
  try {
    const CsvTable table = read_csv(file, options, threads, 1);
    std::string text = std::to_string(table.rows) + "x" + std::to_string(table.columns);
    if (table.rows) text.append(table.values.data<char>(), table.rows * table.columns * sizeof(double));
    return text;
  } catch (const FormatError& error) {
    return error.what();
  }
}

void read(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto choice = static_cast<unsigned char>(bytes[0]);
  bytes.remove_prefix(1);
  const File file = File::in_memory("x", bytes);
  CsvOptions options;
  options.header = choice & 1 ? CsvOptions::Header::none : choice & 2 ? CsvOptions::Header::always : CsvOptions::Header::checked;
  options.skip_blank_lines = choice & 4;
  options.fill_missing = choice & 8;
  options.missing_words = {"NA"};
  if (choice & 16) options.delimiter = ';', options.style = {',', '.'};
  if (choice & 32) options.quote = '\0';
  if (choice & 64) options.column_numbers = {1, 0};
  const std::string one = outcome(file, options, 1);
  insist(one == outcome(file, options, 2), "two threads");
  insist(one == outcome(file, options, 5), "five threads");
}
#elif defined(READER_json)
void read(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto choice = static_cast<unsigned char>(bytes[0]);
  bytes.remove_prefix(1);
  JsonOptions options;
  if (choice & 1) options.key = "data";
  if (choice & 2) options.missing_value = 0;
  const Matrix matrix = read_json(File::in_memory("x", bytes), options);
  double sum = 0;
  for (std::size_t i = 0; i < matrix.rows * matrix.columns; ++i) sum += matrix.values.data<double>()[i];
  insist(sum == sum || sum != sum, "every number can be read");
}
#elif defined(READER_hdf5)
void read(std::string_view bytes) {
  static const int memory = memfd_create("fuzz", 0);
  if (ftruncate(memory, 0) || pwrite(memory, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) std::abort();
  const File file("/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(memory));
  for (const bool part : {false, true}) {
    Box box;
    if (part) box = {{1, 0}, {3, 2}};
    const Layout layout = hdf5_layout(file, "x", box, /*isolated=*/true);
    std::size_t size = layout.scalar.bytes;
    for (const std::uint64_t length : layout.shape) size = times(size, length);
    if (size < (1 << 26) || part) read_hdf5(file, layout, box, 1);
  }
}
#else
void read(std::string_view bytes) {
  const File file = File::in_memory("x", bytes);
  if (bytes.substr(0, 6) == "\x93NUMPY") read_npy(file);
  else read_image(file);
}
#endif

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    read(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const FormatError&) {
  } catch (const std::bad_alloc&) {
  } catch (const std::invalid_argument&) {
  }
  return 0;
}
