"""Wrong answers to the exercises of lesson 21: what learners really write, by the hint that each must get."""

import runpy
from pathlib import Path

_right = runpy.run_path(str(Path(__file__).with_name("right_answers.py")))  # test folders are no packages
CENTER, PARSE, SLAB, JSON, NCHW = (_right[name] for name in ("CENTER", "PARSE", "SLAB", "JSON", "NCHW"))


def changed(source, *pairs):
    """`source` with each (old, new) replaced; fails when `old` is not there, so that no wrong answer is a right one."""
    for old, new in pairs:
        assert old in source, f"{old!r} is not in the source"
        source = source.replace(old, new)
    return source


MAP = "Eigen::Map<Rows> m(numbers.data(), rows, columns);"
CENTERED = "m.rowwise() -= m.colwise().mean();"
CHECK = "if (error != std::errc() || end != last)"
BORDER = "while (at > 0 && at < file.size() && file[at - 1] != '\\n') ++at;"
BOTH = "return {start(rank), start(rank + 1)};"
PIXEL = "tensor.data()[(c * height + y) * width + x] = pixels.data()[y * stride + 3 * x + 2 - c] / 255.0f;"

STRTOD = """
std::vector<double> parse_row(std::string_view line, std::size_t skip) {
    while (!line.empty() && (line.back() == '\\n' || line.back() == '\\r')) line.remove_suffix(1);
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (char c : line) {
        if (c == '"') quoted = !quoted;
        if (c == ',' && !quoted) fields.emplace_back();
        else fields.back() += c;
    }
    std::vector<double> numbers;
    for (std::size_t k = skip; k < fields.size(); ++k) {
        char* end;
        errno = 0;
        numbers.push_back(std::strtod(fields[k].c_str(), &end));
        if (end == fields[k].c_str() || *end || (errno == ERANGE && std::isinf(numbers.back())))
            throw std::invalid_argument("field " + std::to_string(k + 1));
    }
    return numbers;
}
"""
ATOF = changed(
    STRTOD,
    ("std::strtod(fields[k].c_str(), &end)", "std::atof(fields[k].c_str())"),
    ("        if (end == fields[k].c_str() || *end || (errno == ERANGE && std::isinf(numbers.back())))\n", ""),
    ('            throw std::invalid_argument("field " + std::to_string(k + 1));\n', ""),
    ("        char* end;\n", ""),
)
COUNTED = """
std::pair<std::size_t, std::size_t> slab(std::string_view file, int rank, int world_size) {
    std::vector<std::size_t> starts;
    for (std::size_t at = 0; at < file.size(); ++at)
        if (at == 0 || file[at - 1] == '\\n') starts.push_back(at);
    starts.push_back(file.size());
    std::size_t lines = starts.size() - 1;
    return {starts[lines * rank / world_size], starts[lines * (rank + 1) / world_size]};
}
"""
BACK = "while (at > 0 && at < file.size() && file[at - 1] != '\\n') --at;"


def two_rules(begin, end):
    """A slab whose two borders move by different rules."""
    return f"""
std::pair<std::size_t, std::size_t> slab(std::string_view file, int rank, int world_size) {{
    auto begin = [&](int r) {{
        std::size_t at = file.size() * r / world_size;
        {begin}
        return at;
    }};
    auto end = [&](int r) {{
        std::size_t at = file.size() * r / world_size;
        {end}
        return at;
    }};
    return {{begin(rank), std::max(begin(rank), end(rank + 1))}};
}}
"""


WRONG = {
    "center_columns": {
        "column_major": changed(CENTER, ("Eigen::RowMajor", "Eigen::ColMajor")),
        "swapped": changed(
            CENTER,
            (MAP, "Eigen::Map<Eigen::MatrixXd> n(numbers.data(), rows, columns); auto m = n.transpose();"),
            (CENTERED, "m.rowwise() -= m.colwise().mean().eval();"),
        ),
        "copied": changed(CENTER, (MAP, "Rows m = Eigen::Map<Rows>(numbers.data(), rows, columns);")),
        "row_means": changed(CENTER, (CENTERED, "m.colwise() -= m.rowwise().mean().eval();")),
        "overall_mean": changed(CENTER, (CENTERED, "m.array() -= m.mean();")),
        "wrong_count": changed(CENTER, ("m.colwise().mean()", "m.colwise().sum() / columns")),
        "sum_for_mean": changed(CENTER, ("m.colwise().mean()", "m.colwise().sum().eval()")),
    },
    "parse_row": {
        "line_end": changed(PARSE, ("line.back() == '\\n' || line.back() == '\\r'", "line.back() == '\\n'")),
        "silent_zero": ATOF,
        "strtod": STRTOD,
        "lost_last": changed(PARSE, ("i <= line.size()", "i < line.size()")),
        "rest_ignored": changed(PARSE, (CHECK, "if (error != std::errc())")),
        "range_ignored": changed(PARSE, (CHECK, "if (error == std::errc::invalid_argument || end != last)")),
        "quoted_delimiter": changed(PARSE, ("quoted = !quoted", "quoted = false")),
        "no_place": changed(PARSE, ('"field " + std::to_string(field) + ": expected a number"', '"expected a number"')),
        "counts_from_zero": changed(PARSE, ("std::to_string(field)", "std::to_string(field - 1)")),
        "text_not_counted": changed(PARSE, ("std::to_string(field)", "std::to_string(numbers.size() + 1)")),
        "inexact": changed(PARSE, ("double value = 0;", "float value = 0;")),
        "fields": changed(PARSE, ("if (field > skip)", "if (field > skip + 1)")),
    },
    "slab": {
        "cut_line": changed(SLAB, (BORDER, "")),
        "off_by_one": changed(SLAB, ("file[at - 1]", "file[at]")),
        "border_line": two_rules("if (at > 0) at = std::min(file.find('\\n', at), file.size() - 1) + 1;", BORDER),
        "lost": two_rules(BORDER, "if (r < world_size) " + BACK),
        "twice": two_rules(BACK, BORDER),
        "lost_last": changed(
            SLAB, (BOTH, "return {start(rank), rank + 1 < world_size ? start(rank + 1) : file.rfind('\\n') + 1};")
        ),
        "uneven": COUNTED,
        "rounded_share": changed(SLAB, ("file.size() * r / world_size", "file.size() / world_size * r")),
        "overflow": changed(SLAB, ("file.size() * r / world_size", "int(file.size()) * r / world_size")),
    },
    "json_matrix": {
        "ragged": changed(
            JSON,
            ("if (rows[i].size() != columns) fail", "if (rows[i].size() > columns) fail"),
            ("for (std::size_t j = 0; j < columns", "numbers.resize(i * columns + columns - rows[i].size());\n"
             "        for (std::size_t j = 0; j < rows[i].size()"),
        ),
        "rest_of_row": changed(JSON, ("rows[i].size() != columns", "rows[i].size() < columns")),
        "null_is_zero": changed(
            JSON, ("if (!value.is_number())", "if (!value.is_number() && !value.is_null())"),
            ("value.get<double>()", "(value.is_null() ? 0.0 : value.get<double>())"),
        ),
        "text_number": changed(
            JSON, ("if (!value.is_number())", "if (!value.is_number() && !value.is_string())"),
            ("value.get<double>()", "(value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>())"),
        ),
        "true_is_one": changed(
            JSON, ("if (!value.is_number())", "if (!value.is_number() && !value.is_boolean())"),
            ("value.get<double>()", "(value.is_boolean() ? double(value.get<bool>()) : value.get<double>())"),
        ),
        "beyond_2_53": changed(JSON, ("value.is_number_integer() &&", "false &&")),
        "signed_compare": changed(
            JSON, ("std::abs(number) >= 9007199254740992.0 && value != 9007199254740992 &&\n"
                   "                value != -9007199254740992", "(value > (1LL << 53) || value < -(1LL << 53))"),
        ),
        "refused": changed(JSON, ("if (value.is_number_integer() &&", "if (std::abs(number) > 4503599627370496.0 ||"
                                  " value.is_number_integer() &&")),
        "no_place": changed(JSON, ('"expected " + std::to_string(columns) + " numbers", i,', '"ragged", 99,')),
        "counts_from_zero": changed(JSON, ("std::to_string(i + 1)", "std::to_string(i)")),
        "column_by_column": changed(
            JSON, ("return lab::as_array(std::move(numbers), rows.size(), columns);",
                   "std::vector<double> turned(numbers.size());\n"
                   "    for (std::size_t k = 0; k < numbers.size(); ++k)\n"
                   "        turned[k % columns * rows.size() + k / columns] = numbers[k];\n"
                   "    return lab::as_array(std::move(turned), rows.size(), columns);"),
        ),
        "first_row": changed(JSON, ("std::size_t columns = 0;", "std::size_t columns = rows.at(0).size();")),
    },
    "to_nchw": {
        "bgr": changed(NCHW, ("+ 2 - c", "+ c")),
        "padding": changed(NCHW, ("y * stride", "y * width * 3")),
        "left_nhwc": changed(NCHW, ("(c * height + y) * width + x", "(y * width + x) * 3 + c")),
        "not_scaled": changed(NCHW, (" / 255.0f", "")),
        "integer_division": changed(NCHW, (" / 255.0f", " / 255")),
        "axes_swapped": changed(NCHW, ("(c * height + y) * width + x", "(c * width + x) * height + y")),
        "upside_down": changed(NCHW, ("y * stride", "(height - 1 - y) * stride")),
        "double": changed(NCHW, ("lab::zeros<float>", "lab::zeros<double>")),
        "shape": changed(NCHW, ("(1, 3, height, width)", "(3, height, width)")),
    },
}  # fmt: skip
