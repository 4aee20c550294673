"""The shipped set of small files: what each holds or which error it deserves, and where other readers decide otherwise.

Each file in the folder `files` shows one thing that breaks loaders. `SPECIMENS` says what our reader makes of it, and
`differences.py` what others do instead. The tests check both directions: a reader that is not named there agrees (it
returns the same numbers, or refuses as well).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from . import readers
from .differences import DIFFERS

FOLDER = Path(__file__).parent / "files"
NAN, INF = float("nan"), float("inf")


@dataclass(frozen=True)
class Specimen:
    """One file, read in one way.

    Parameters
    ----------
    file : str
        Its name in `FOLDER`.
    shows : str
        What is special about it.
    values : nested list or ndarray, optional
        What it holds. None: the file is refused.
    error : str
        Where it is refused: words of the message, place first.
    names : tuple of str
        Of a table's columns.
    dataset : str
        Within an HDF5 file.
    options : dict
        For our reader.
    """

    file: str
    shows: str
    values: object = None
    error: str = ""
    names: tuple[str, ...] = ()
    dataset: str = ""
    options: dict = field(default_factory=dict)

    @property
    def differs(self) -> dict[str, str]:
        """By other reader: what it does instead."""
        return DIFFERS.get((self.file, self.shows), {})

    @property
    def path(self) -> Path:
        """Where it lies."""
        return FOLDER / self.file

    def read(self):
        """What our reader returns for it, as an array; raises `FormatError` where the file is refused."""
        kind = self.path.suffix
        if kind == ".csv":
            return readers.read_csv(self.path, **self.options).values
        if kind == ".json":
            return readers.read_json(self.path, **self.options)
        if kind == ".h5":
            return readers.read_hdf5(self.path, self.dataset, **self.options)
        if kind == ".npy":
            return readers.read_npy(self.path)
        return readers.read_image(self.path)


def pixels(height: int, width: int, channels: int, largest: int = 255) -> np.ndarray:
    """Samples in which neighbours differ, and each position tells where it is: what the pictures show."""
    y, x, c = np.mgrid[0:height, 0:width, 0:channels]
    return (y * 67 + x * 29 + c * 97 + 5) % (largest + 1)


def _csv(name, shows, values=None, error="", names=(), **options):
    return Specimen(f"{name}.csv", shows, values, error, tuple(names), options=options)


CSV = (
    _csv("plain", "three columns, two rows", [[1, 2, 3], [4, 5, 6]], names="abc"),
    _csv("bom", "a byte-order mark before the first name", [[1, 2]], names="ab"),
    _csv("bom_quoted_delimiter", "a byte-order mark before a quoted name with a comma", [[1, 2]], names=("a,x", "b")),
    _csv("bom_quoted_newline", "a byte-order mark before a quoted name with a line end", [[1, 2]], names=("a\nx", "b")),
    _csv("utf16", "UTF-16", error="line 1, column 1: the file is UTF-16"),
    _csv("cr", "lines that end in CR", [[1, 2], [3, 4]], names="ab"),
    _csv("crlf", "lines that end in CRLF", [[1, 2], [3, 4]], names="ab"),
    _csv("mixed_ends", "each line ends otherwise", [[1, 2], [3, 4], [5, 6]], names="ab"),
    _csv("no_final_newline", "the last line has no end", [[1, 2], [3, 4]], names="ab"),
    _csv("empty", "no byte at all", error="line 1, column 1: the file is empty"),
    _csv("header_only", "names, and no row", np.empty((0, 2)), names="ab"),
    _csv("no_header", "numbers from the first line on", [[1, 2], [3, 4]], header=False),
    _csv(
        "no_header",
        "numbers where names should be",
        error="line 1, column 1: expected column names, found only numbers",
    ),
    _csv("one_column", "one column", [[1], [2], [3]], names="a"),
    _csv("one_row", "one row", [[1, 2, 3]], names="abc"),
    _csv("quoted_delimiter", "a quoted comma in a number", [[1234, 2]], names="ab", thousands=","),
    _csv("quoted_newline", "text with a line end, in a column that is not read", [[2], [4]], names="b", columns=["b"]),
    _csv(
        "quoted_newline",
        "text where a number is expected",
        error="line 2, column 1 ('a'): expected a number, found 'x\\ny'",
    ),
    _csv("doubled_quotes", "quotes within quotes", [[1, 2]], names=('say "a"', "b")),
    _csv(
        "quote_inside",
        "a quote in the middle of a field",
        error="line 2, column 1 ('a'): a quote within an unquoted field",
    ),
    _csv("quote_open", "a quote that is never closed", error="line 2, column 1 ('a'): a quoted field is never closed"),
    _csv(
        "text_behind_quote",
        "text behind a closing quote",
        error="line 2, column 1 ('a'): expected a delimiter or the end of the line",
    ),
    _csv("blank_lines", "blank lines", error="line 3, column 1 ('a'): the line is blank"),
    _csv("blank_lines", "blank lines, passed over", [[1, 2], [3, 4]], names="ab", skip_blank_lines=True),
    _csv("blank_first_line", "a blank line before the names", error="line 1, column 1: the line is blank"),
    _csv("blank_first_line", "the same, passed over", [[1, 2]], names="ab", skip_blank_lines=True),
    _csv(
        "ragged_short",
        "a row with too few fields",
        error="line 3, column 2 ('b'): the line ends after 2 fields: expected 3",
    ),
    _csv(
        "ragged_long",
        "a row with too many fields",
        error="line 3, column 3: expected 2 fields as in the first line, found more",
    ),
    _csv("empty_field", "empty fields", error="line 2, column 2 ('b'): the field is empty: expected a number"),
    _csv("empty_field", "empty fields, filled", [[1, NAN], [NAN, 4]], names="ab", missing=NAN),
    _csv("spaces", "spaces around numbers and names", [[1, 2], [3, 4]], names="ab"),
    _csv("tabs", "tabs between fields", [[1, 2]], names="ab", delimiter="\t"),
    _csv(
        "semicolons",
        "semicolons and decimal commas",
        [[1.5, 2.25], [-0.5, 1000]],
        names="ab",
        delimiter=";",
        decimal=",",
    ),
    _csv(
        "thousands", "points between thousands", [[1234567.5, 2]], names="ab", delimiter=";", decimal=",", thousands="."
    ),
    _csv(
        "bad_thousands",
        "points that do not stand between thousands",
        error="line 2, column 1 ('a'): expected groups of three digits behind each '.', found '1.23.4'",
        delimiter=";",
        decimal=",",
        thousands=".",
    ),
    _csv("too_large", "a number beyond float64", error="line 2, column 1 ('a'): '1e400' is beyond the largest float64"),
    _csv(
        "too_small",
        "a number that float64 would make 0",
        error="line 2, column 1 ('a'): '1e-400' is so small that float64 would make it 0",
    ),
    _csv(
        "smallest",
        "the smallest numbers and the largest",
        [[5e-324], [2.225073858507201e-308], [1.7976931348623157e308]],
        names="a",
    ),
    _csv("hexadecimal", "a hexadecimal number", error="line 2, column 1 ('a'): expected a number, found '0x1p3'"),
    _csv("nan_inf", "nan and inf", [[NAN, INF], [NAN, -INF]], names="ab"),
    _csv("na", "NA", error="line 2, column 2 ('b'): the value is missing ('NA')"),
    _csv("na", "NA, filled", [[1, NAN], [3, 4]], names="ab", missing=NAN),
    _csv("minus_zero", "minus zero keeps its sign", [[-0.0], [-0.0]], names="a"),
    _csv("beyond_2_53", "2^53 + 1", error="line 2, column 1 ('a'): '9007199254740993' is an integer beyond 2^53"),
    _csv("at_2_53", "2^53 and 2^53 + 2, which float64 holds", [[9007199254740992], [9007199254740994]], names="a"),
    _csv(
        "halfway",
        "decimals between two float64 numbers",
        [[9007199254740992.0], [0.1], [1.7976931348623157e308]],
        names="a",
    ),
    _csv("underscore", "an underscore in a number", error="line 2, column 1 ('a'): expected a number, found '1_000'"),
    _csv("plus_and_points", "a plus sign, and points at the ends", [[1, 0.5, 2]], names="abc"),
    _csv("word", "a word among numbers", error="line 3, column 2 ('b'): expected a number, found 'four'"),
    _csv("nul", "a zero byte", error="line 3, column 1 ('a'): expected a number, found '3\\x00'"),
    _csv("same_name_twice", "a name that stands twice", error="line 1, column 2: the name 'a' was column 1's already"),
    _csv("name_not_utf8", "a name that is not UTF-8", error="line 1, column 2: the column's name '\\xff' is not UTF-8"),
    _csv(
        "comma_for_point",
        "a decimal comma where points are expected",
        error="line 2, column 1 ('a'): expected a number, found '1,5' (if the comma",
    ),
)


def _json(name, shows, values=None, error="", **options):
    return Specimen(f"{name}.json", shows, values, error, options=options)


JSON = (
    _json("plain", "two rows", [[1, 2.5], [-300, 4]]),
    _json("bom", "a byte-order mark", [[1, 2]]),
    _json("split", "a table as pandas writes it", [[1, 2], [3, 4]], key="data"),
    _json(
        "split", "an object where rows should be", error="line 1, column 1: expected an array of rows, found an object"
    ),
    _json(
        "nan",
        "NaN, which JSON does not have",
        error="line 1, column 6: row 1, number 2: expected a number, found 'NaN'",
    ),
    _json("infinity", "Infinity", error="line 1, column 6: row 1, number 2: expected a number, found '-Infinity'"),
    _json("null", "null", error="line 1, column 6: row 1, number 2: found null"),
    _json("null", "null, filled", [[1, NAN]], missing=NAN),
    _json("ragged", "rows of different lengths", error="line 2, column 5: row 2 has 1 number: expected 2"),
    _json(
        "nested_ragged",
        "an array within a row",
        error="line 1, column 6: row 1, number 2: expected a number, found '['",
    ),
    _json(
        "same_key_twice",
        "a member that stands twice",
        error="line 1, column 18: the member 'data' stands here a second time",
        key="data",
    ),
    _json(
        "trailing_comma",
        "a comma behind the last number",
        error="line 1, column 8: row 1, number 3: expected a number, found ']'",
    ),
    _json(
        "trailing_comma_rows",
        "a comma behind the last row",
        error="line 3, column 1: row 3: expected an array of numbers, found ']'",
    ),
    _json("deep", "200 levels", error="nested more than 64 levels deep", key="data"),
    _json(
        "invalid_utf8",
        "a byte that is not UTF-8, in a part that is passed over",
        error="line 1, column 11: bytes that are not UTF-8",
        key="data",
    ),
    _json(
        "beyond_2_53",
        "2^53 + 1",
        error="line 1, column 3: row 1, number 1: '9007199254740993' is an integer beyond 2^53",
    ),
    _json(
        "too_large",
        "a number beyond float64",
        error="line 1, column 3: row 1, number 1: '1e400' is beyond the largest float64",
    ),
    _json(
        "too_small",
        "a number that float64 would make 0",
        error="line 1, column 3: row 1, number 1: '1e-400' is so small",
    ),
    _json("minus_zero", "minus zero keeps its sign", [[-0.0, -0.0, 0.0]]),
    _json(
        "leading_zero",
        "a number with a leading zero",
        error="line 1, column 3: row 1, number 1: JSON does not write a number as '01'",
    ),
    _json("text", "a number in quotes", error="line 1, column 3: row 1, number 1: expected a number, found '\"1\"'"),
    _json("truncated", "half a file", error="the file does not end with the ] or } of its document"),
    _json("string_open", "a string that is never closed", error="line 1, column 6: the file ends within a string"),
    _json(
        "behind_the_end",
        "a second document",
        error="line 1, column 7: expected the end of the file behind the document",
    ),
    _json("empty", "no byte at all", error="line 1, column 1: the file is empty"),
    _json("no_rows", "no row", np.empty((0, 0))),
)

_MATRIX = np.arange(12.0).reshape(4, 3)


def _hdf5(name, shows, values=None, error="", dataset="x", **options):
    return Specimen(f"{name}.h5", shows, values, error, dataset=dataset, options=options)


HDF5 = (
    _hdf5("plain", "in one piece", _MATRIX),
    _hdf5("plain", "a box", _MATRIX[1:3, 1:], rows=(1, 3), columns=(1, 9)),
    _hdf5("big_endian", "floats with the high byte first", _MATRIX),
    _hdf5("big_endian", "integers with the high byte first", _MATRIX.astype("i4"), dataset="i"),
    _hdf5("chunked", "in chunks that do not divide the shape", _MATRIX),
    _hdf5("chunked", "a box across chunks", _MATRIX[2:, :2], rows=(2, 4), columns=(0, 2)),
    _hdf5("gzip", "compressed, shuffled, with checksums", _MATRIX),
    _hdf5(
        "not_all_written",
        "a chunk that was never written shows the fill value",
        np.vstack([_MATRIX[:2], np.full((2, 3), -1.0)]),
    ),
    _hdf5("float16", "numbers of two bytes", _MATRIX.astype("f2")),
    _hdf5("compact", "the numbers stand in the head", _MATRIX),
    _hdf5(
        "strings",
        "strings of fixed length",
        error="the dataset holds strings of fixed length: expected integers or floats",
        dataset="fixed",
    ),
    _hdf5(
        "strings", "strings of varying length", error="the dataset holds strings of varying length", dataset="variable"
    ),
    _hdf5("column_major", "MATLAB's mark", error="was written by MATLAB, whose axes stand reversed"),
    _hdf5("column_major", "as MATLAB shows it", _MATRIX, transpose=True),
    _hdf5("column_major", "as stored", _MATRIX.T, transpose=False),
    _hdf5("column_major", "rows as MATLAB counts them", _MATRIX[1:3], transpose=True, rows=(1, 3)),
    _hdf5("plain", "a dataset that is not there", error="there is no dataset 'y': '/' holds 'x'", dataset="y"),
    _hdf5(
        "ranks",
        "a vector where a matrix is expected",
        error="has 1 axis, its shape is (3,): expected 2",
        dataset="vector",
        ndim=2,
    ),
    _hdf5("ranks", "a cube in a group", _MATRIX.reshape(2, 2, 3), dataset="deep/cube"),
    _hdf5("ranks", "a group where a dataset is expected", error="'deep' is a group, not a dataset", dataset="deep"),
    _hdf5("lzf", "a filter of h5py's own", error="compressed by the filter 'lzf'"),
    _hdf5("truncated", "the end is missing", error="truncated"),
    _hdf5("damaged_chunk", "a bit of a compressed chunk has changed", error="a chunk of the dataset: its c"),
)

_DEEP = pixels(2, 3, 1, 65535) * 251 % 65536
_COLOURS = np.array([[255, 0, 0, 0], [0, 255, 0, 128], [0, 0, 255, 255]])


def _image(name, shows, values=None, error=""):
    return Specimen(name, shows, values, error)


IMAGES = (
    _image("grey.png", "grey, an odd width", pixels(3, 5, 1)),
    _image("rgb.png", "colour, an odd width", pixels(3, 5, 3)),
    _image("rgb_filters.png", "each row filter", pixels(6, 7, 3)),
    _image("rgba.png", "colour with alpha", pixels(2, 3, 4)),
    _image("grey_alpha.png", "grey with alpha", pixels(2, 3, 2)),
    _image("grey16.png", "16 bits of grey", _DEEP),
    _image("rgb16.png", "16 bits of each colour", pixels(2, 3, 3, 65535) * 257 % 65536),
    _image("one_bit.png", "one bit a pixel becomes 0 and 255", pixels(3, 9, 1, 1) * 255),
    _image("palette.png", "a palette becomes colours", _COLOURS[pixels(2, 5, 1, 2)[..., 0], :3]),
    _image("palette_transparent.png", "a palette with alpha", _COLOURS[pixels(2, 5, 1, 2)[..., 0]]),
    _image("one_pixel.png", "one pixel", pixels(1, 1, 3)),
    _image("truncated.png", "the end is missing", error="the file is truncated"),
    _image("bad_checksum.png", "a bit has changed", error="the checksum of the chunk 'IDAT' is wrong"),
    _image("grey.pgm", "PNM, grey", pixels(3, 5, 1)),
    _image("rgb.ppm", "PNM, colour", pixels(3, 5, 3)),
    _image("rgb_text.ppm", "PNM as text", pixels(3, 5, 3)),
    _image("grey16.pgm", "PNM, 16 bits, high byte first", _DEEP),
    _image("largest_15.pgm", "PNM whose largest sample is 15", [[[0], [7], [15]]]),
    _image("truncated.ppm", "a byte too few", error="the file is truncated"),
    _image("truncated.jpg", "the end is missing", error="not a whole JPEG picture: Premature end of JPEG file"),
    _image("not_an_image.png", "a name that lies", error="neither PNG nor JPEG nor PNM"),
)

ARRAYS = (
    Specimen("plain.npy", "row-major", np.arange(6.0).reshape(2, 3)),
    Specimen("fortran.npy", "column-major in the file, row-major here", np.arange(6.0).reshape(2, 3)),
    Specimen("big_endian.npy", "floats of 4 bytes, high byte first", np.arange(6, dtype="f4").reshape(2, 3)),
    Specimen("version2.npy", "version 2 of the format, integers", np.arange(6, dtype="i2").reshape(2, 3)),
    Specimen("objects.npy", "objects, which are pickles", error="elements of type '|O'"),
    Specimen("truncated.npy", "the end is missing", error="it is truncated"),
)

SPECIMENS = CSV + JSON + HDF5 + IMAGES + ARRAYS
