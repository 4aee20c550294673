"""Where other readers make something else of a shipped file than ours: by file and what it shows, then by reader.

A reader that is not named agrees. The tests check both: that those named differ, and that the others do not.
"""

_TEXT = "makes the whole column text"
_NAN = "takes it for missing: nan"
_AGAIN = "as stored: the transpose of what MATLAB shows"
_ZERO_SIGN = "-0 is an integer there, and loses its sign (-0.0 keeps it)"
_INTEGER = "reads an integer of 64 bits, which is exact; it cannot stand in a float64 matrix"

DIFFERS: dict[tuple[str, str], dict[str, str]] = {
    ("no_header.csv", "numbers where names should be"): {
        "pandas": "takes the first row for names: a row is lost",
        "pyarrow": "takes the first row for names: a row is lost",
    },
    ("quoted_delimiter.csv", "a quoted comma in a number"): {"pyarrow": "knows no thousands: makes the column text"},
    ("quoted_newline.csv", "text where a number is expected"): {"pandas": _TEXT, "pyarrow": _TEXT},
    ("quote_inside.csv", "a quote in the middle of a field"): {"pandas": _TEXT, "pyarrow": _TEXT},
    ("text_behind_quote.csv", "text behind a closing quote"): {
        "pandas": 'joins both: "1"2 becomes 12',
        "pyarrow": 'joins both: "1"2 becomes 12',
    },
    ("blank_lines.csv", "blank lines"): {
        "pandas": "passes over them",
        "pyarrow": "rows of nan, where told not to pass",
    },
    ("blank_first_line.csv", "a blank line before the names"): {"pandas": "passes over it"},
    ("ragged_short.csv", "a row with too few fields"): {"pandas": "fills the row with nan, without a word"},
    ("empty_field.csv", "empty fields"): {"pandas": _NAN, "pyarrow": _NAN},
    ("thousands.csv", "points between thousands"): {"pyarrow": "knows no thousands: makes the column text"},
    ("bad_thousands.csv", "points that do not stand between thousands"): {
        "pandas": "takes the points out, wherever they stand: 1.23.4 becomes 1234",
        "pyarrow": "knows no thousands: makes the column text",
    },
    ("too_large.csv", "a number beyond float64"): {"pandas": "becomes inf", "pyarrow": "becomes inf"},
    ("too_small.csv", "a number that float64 would make 0"): {"pandas": "becomes 0", "pyarrow": "becomes 0"},
    ("hexadecimal.csv", "a hexadecimal number"): {"pandas": _TEXT, "pyarrow": _TEXT},
    ("nan_inf.csv", "nan and inf"): {"pyarrow": "takes nan and NaN together for a column of nothing (null)"},
    ("na.csv", "NA"): {"pandas": _NAN, "pyarrow": _NAN},
    ("beyond_2_53.csv", "2^53 + 1"): {"pandas": _INTEGER, "pyarrow": _INTEGER},
    ("underscore.csv", "an underscore in a number"): {"pandas": _TEXT, "pyarrow": _TEXT},
    ("word.csv", "a word among numbers"): {"pandas": _TEXT, "pyarrow": _TEXT},
    ("nul.csv", "a zero byte"): {"pandas": _TEXT, "pyarrow": _TEXT},
    ("same_name_twice.csv", "a name that stands twice"): {
        "pandas": "calls the second one a.1",
        "pyarrow": "keeps both under one name",
    },
    ("comma_for_point.csv", "a decimal comma where points are expected"): {"pandas": _TEXT, "pyarrow": _TEXT},
    ("bom.json", "a byte-order mark"): {"orjson": "refuses it, as RFC 8259 allows"},
    ("nan.json", "NaN, which JSON does not have"): {"json": "reads it: an extension of Python's"},
    ("infinity.json", "Infinity"): {"json": "reads it: an extension of Python's"},
    ("null.json", "null"): {"json": "None, for which an array needs objects", "orjson": "None, likewise"},
    ("same_key_twice.json", "a member that stands twice"): {
        "json": "the last one wins, without a word",
        "orjson": "the last one wins, without a word",
    },
    ("deep.json", "200 levels"): {"json": "reads them (up to about 1,000)", "orjson": "reads them (up to 1,024)"},
    ("beyond_2_53.json", "2^53 + 1"): {"json": _INTEGER, "orjson": _INTEGER},
    ("too_large.json", "a number beyond float64"): {"json": "becomes inf"},
    ("too_small.json", "a number that float64 would make 0"): {"json": "becomes 0", "orjson": "becomes 0"},
    ("minus_zero.json", "minus zero keeps its sign"): {"json": _ZERO_SIGN, "orjson": _ZERO_SIGN},
    ("text.json", "a number in quotes"): {"json": "an array of text", "orjson": "an array of text"},
    ("strings.h5", "strings of fixed length"): {"h5py": "reads the strings"},
    ("strings.h5", "strings of varying length"): {"h5py": "reads the strings"},
    ("column_major.h5", "MATLAB's mark"): {"h5py": _AGAIN},
    ("column_major.h5", "as MATLAB shows it"): {"h5py": _AGAIN},
    ("column_major.h5", "rows as MATLAB counts them"): {"h5py": _AGAIN},
    ("ranks.h5", "a vector where a matrix is expected"): {"h5py": "reads it; how many axes were meant is not asked"},
    ("lzf.h5", "a filter of h5py's own"): {"h5py": "reads it, since the filter is its own"},
    ("rgb16.png", "16 bits of each colour"): {"Pillow": "keeps the upper 8 bits of each, without a word"},
    ("one_bit.png", "one bit a pixel becomes 0 and 255"): {"Pillow": "False and True"},
    ("palette.png", "a palette becomes colours"): {"Pillow": "the numbers of the colours, unless converted"},
    ("palette_transparent.png", "a palette with alpha"): {"Pillow": "the numbers of the colours, unless converted"},
    ("largest_15.pgm", "PNM whose largest sample is 15"): {"Pillow": "scales to 255"},
}
