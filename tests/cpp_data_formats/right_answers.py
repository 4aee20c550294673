"""Right answers to the exercises of lesson 21, in C++: at least two styles each."""

CENTER = """
using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
void center_columns(lab::Vector<double> numbers, int rows, int columns) {
    Eigen::Map<Rows> m(numbers.data(), rows, columns);
    m.rowwise() -= m.colwise().mean();
}
"""

PARSE = """
std::vector<double> parse_row(std::string_view line, std::size_t skip) {
    while (!line.empty() && (line.back() == '\\n' || line.back() == '\\r')) line.remove_suffix(1);
    std::vector<double> numbers;
    std::size_t start = 0, field = 1;
    bool quoted = false;
    for (std::size_t i = 0; i <= line.size(); ++i) {
        if (i < line.size() && line[i] == '"') quoted = !quoted;
        if (i < line.size() && (line[i] != ',' || quoted)) continue;
        if (field > skip) {
            double value = 0;
            const char *first = line.data() + start, *last = line.data() + i;
            auto [end, error] = std::from_chars(first, last, value);
            if (error != std::errc() || end != last)
                throw std::invalid_argument("field " + std::to_string(field) + ": expected a number");
            numbers.push_back(value);
        }
        start = i + 1, ++field;
    }
    return numbers;
}
"""

SLAB = """
std::pair<std::size_t, std::size_t> slab(std::string_view file, int rank, int world_size) {
    auto start = [&](int r) {
        std::size_t at = file.size() * r / world_size;
        while (at > 0 && at < file.size() && file[at - 1] != '\\n') ++at;
        return at;
    };
    return {start(rank), start(rank + 1)};
}
"""

JSON = """
#include <nlohmann/json.hpp>
auto json_matrix(std::string_view text) {
    auto rows = nlohmann::json::parse(text);
    auto fail = [](const std::string& what, std::size_t i, std::size_t j) {
        throw std::invalid_argument(what + ": row " + std::to_string(i + 1) + ", column " + std::to_string(j + 1));
    };
    if (!rows.is_array()) throw std::invalid_argument("expected an array of rows");
    std::vector<double> numbers;
    std::size_t columns = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (!rows[i].is_array()) fail("expected an array", i, 0);
        if (i == 0) columns = rows[i].size();
        if (rows[i].size() != columns) fail("expected " + std::to_string(columns) + " numbers", i, rows[i].size());
        for (std::size_t j = 0; j < columns; ++j) {
            const auto& value = rows[i][j];
            if (!value.is_number()) fail("expected a number", i, j);
            double number = value.get<double>();
            if (value.is_number_integer() && std::abs(number) >= 9007199254740992.0 && value != 9007199254740992 &&
                value != -9007199254740992)
                fail("no float64 holds this integer", i, j);
            numbers.push_back(number);
        }
    }
    return lab::as_array(std::move(numbers), rows.size(), columns);
}
"""

NCHW = """
auto to_nchw(lab::Vector<const std::uint8_t> pixels, int height, int width, int stride) {
    auto tensor = lab::zeros<float>(1, 3, height, width);
    for (int c = 0; c < 3; ++c)
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x)
                tensor.data()[(c * height + y) * width + x] = pixels.data()[y * stride + 3 * x + 2 - c] / 255.0f;
    return tensor;
}
"""

RIGHT = {
    "center_columns": {
        "eigen_row_major": CENTER,
        "indices": """
void center_columns(lab::Vector<double> numbers, int rows, int columns) {
    double* a = numbers.data();
    for (int j = 0; j < columns; ++j) {
        double sum = 0;
        for (int i = 0; i < rows; ++i) sum += a[i * columns + j];
        for (int i = 0; i < rows; ++i) a[i * columns + j] -= sum / rows;
    }
}
""",
        "eigen_column_major_of_the_other_shape": """
void center_columns(lab::Vector<double> numbers, int rows, int columns) {
    Eigen::Map<Eigen::MatrixXd> m(numbers.data(), columns, rows);
    if (rows > 0) m.colwise() -= m.rowwise().mean().eval();
}
""",
    },
    "parse_row": {
        "one_loop": PARSE,
        "fields_first": """
std::vector<double> parse_row(std::string_view line, std::size_t skip) {
    if (line.ends_with('\\n')) line.remove_suffix(1);
    if (line.ends_with('\\r')) line.remove_suffix(1);
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (char c : line) {
        if (c == '"') quoted = !quoted;
        if (c == ',' && !quoted) fields.emplace_back();
        else fields.back() += c;
    }
    std::vector<double> numbers;
    for (std::size_t k = skip; k < fields.size(); ++k) {
        double value = 0;
        const char* last = fields[k].data() + fields[k].size();
        auto result = std::from_chars(fields[k].data(), last, value);
        if (result.ec != std::errc{} || result.ptr != last) {
            std::ostringstream what;
            what << "'" << fields[k] << "' is no number (field " << k + 1 << ")";
            throw std::invalid_argument(what.str());
        }
        numbers.push_back(value);
    }
    return numbers;
}
""",
        "recursion_over_the_rest": """
std::vector<double> parse_row(std::string_view line, std::size_t skip) {
    line = line.substr(0, line.find_last_not_of("\\r\\n") + 1);
    std::vector<double> numbers;
    for (std::size_t field = 1;; ++field) {
        std::size_t end = 0;
        for (bool quoted = false; end < line.size() && (quoted || line[end] != ','); ++end) quoted ^= line[end] == '"';
        if (field > skip) {
            double value;
            auto [stop, error] = std::from_chars(line.data(), line.data() + end, value);
            if (error != std::errc() || stop != line.data() + end)
                throw std::invalid_argument("expected a number in field " + std::to_string(field));
            numbers.push_back(value);
        }
        if (end == line.size()) return numbers;
        line.remove_prefix(end + 1);
    }
}
""",
    },
    "slab": {
        "start_of_the_line": SLAB,
        "find": """
std::pair<std::size_t, std::size_t> slab(std::string_view file, int rank, int world_size) {
    std::size_t border[2];
    for (int k = 0; k < 2; ++k) {
        std::size_t at = file.size() * (rank + k) / world_size;
        if (at > 0 && at < file.size()) {
            std::size_t found = file.find('\\n', at - 1);
            at = found == file.npos ? file.size() : found + 1;
        }
        border[k] = at;
    }
    return {border[0], border[1]};
}
""",
        "the_line_at_a_border_goes_back": """
std::pair<std::size_t, std::size_t> slab(std::string_view file, int rank, int world_size) {
    auto start = [&](std::size_t r) {
        if (r == 0) return std::size_t(0);
        if (r == std::size_t(world_size)) return file.size();
        std::size_t found = file.find('\\n', file.size() * r / world_size);
        return found == file.npos ? file.size() : found + 1;
    };
    return {start(rank), start(rank + 1)};
}
""",
    },
    "json_matrix": {
        "nlohmann": JSON,
        "by_hand": """
namespace by_hand {
struct Reader {
    const char *at, *end;
    std::string place() const { return "row " + std::to_string(row) + ", column " + std::to_string(column); }
    std::size_t row = 1, column = 1;
    [[noreturn]] void fail(const char* expected) const { throw std::invalid_argument(place() + ": expected " + expected); }
    void blanks() { while (at < end && std::strchr(" \\t\\r\\n", *at)) ++at; }
    bool take(char c) {
        blanks();
        if (at == end || *at != c) return false;
        ++at;
        return true;
    }
    double number() {
        blanks();
        const char* first = at;
        if (at == end || !std::strchr("-0123456789", *at)) fail("a number");
        double value;
        auto [stop, error] = std::from_chars(at, end, value);
        if (error != std::errc() || !std::strchr("0123456789", stop[-1])) fail("a number within float64");
        std::string text(first, stop);
        if (text.find_first_of(".eE") == text.npos) {
            long long whole = 0;
            auto exact = std::from_chars(first, stop, whole);
            if (exact.ec != std::errc() || std::abs(whole) > (1LL << 53)) fail("an integer up to 2^53");
        }
        at = stop;
        return value;
    }
};
}  // namespace by_hand

auto json_matrix(std::string_view text) {
    by_hand::Reader in{text.data(), text.data() + text.size()};
    std::vector<double> numbers;
    std::size_t rows = 0, columns = 0;
    if (!in.take('[')) in.fail("an array of rows");
    if (!in.take(']')) {
        do {
            in.row = rows + 1, in.column = 1;
            std::size_t count = 0;
            if (!in.take('[')) in.fail("a row");
            if (!in.take(']')) {
                do {
                    numbers.push_back(in.number());
                    in.column = ++count + 1;
                } while (in.take(','));
                if (!in.take(']')) in.fail("a comma or the end of the row");
            }
            if (rows == 0) columns = count;
            if (count != columns) in.fail("as many numbers as in the first row");
            ++rows;
        } while (in.take(','));
        if (!in.take(']')) in.fail("a comma or the end of the rows");
    }
    in.blanks();
    if (in.at != in.end) in.fail("nothing more");
    return lab::as_array(std::move(numbers), rows, columns);
}
""",
    },
    "to_nchw": {
        "indices": NCHW,
        "row_by_row": """
auto to_nchw(lab::Vector<const std::uint8_t> pixels, int height, int width, int stride) {
    std::vector<float> planes[3];
    for (int y = 0; y < height; ++y) {
        const std::uint8_t* pixel = pixels.data() + std::size_t(y) * stride;
        for (int x = 0; x < width; ++x, pixel += 3)
            for (int c = 0; c < 3; ++c) planes[2 - c].push_back(float(pixel[c]) / 255);
    }
    std::vector<float> all;
    for (auto& plane : planes) all.insert(all.end(), plane.begin(), plane.end());
    return lab::as_array(std::move(all), 1, 3, height, width);
}
""",
    },
}
