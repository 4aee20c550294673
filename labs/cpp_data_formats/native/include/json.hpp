// A matrix from JSON: an array of rows, each an array of numbers, all equally long.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "buffer.hpp"
#include "file.hpp"

namespace formats {

struct JsonOptions {
  std::optional<std::string> key;       // the member of the outer object that holds the rows; none: the file is the rows
  std::optional<double> missing_value;  // what null becomes; none: null is an error
};

struct Matrix {
  Buffer values;  // float64, row after row
  std::size_t rows = 0, columns = 0;
};

// Strict RFC 8259: no NaN, no trailing comma, no member twice, valid UTF-8 throughout, also in the parts passed over.
// Numbers are the nearest float64, except that integers which float64 would change are an error.
Matrix read_json(const File& file, const JsonOptions& options);

}  // namespace formats
