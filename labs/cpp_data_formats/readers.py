"""Read the files that machine learning meets, strictly, into one row-major buffer that everybody sees.

    table = readers.read_csv("prices.csv")            # Table: values (rows x columns, float64), names
    matrix = readers.read_json("weights.json")        # [[1, 2], [3, 4]]; or key="data" for {"data": [[...], ...]}
    matrix = readers.read_hdf5("run.h5", "train/x", rows=(100, 200))
    pixels = readers.read_image("cat.png")            # height x width x channels, red first
    array = readers.read_npy("x.npy")
    table = readers.read_arrow("prices.arrow")        # by pyarrow, for comparison

The work is done in C++ (the folder `native`), which hands its memory over: each result is a NumPy array over the very
bytes that the reader filled, C-contiguous and aligned to 64 bytes, and `torch.from_numpy(result)` is a tensor over the
same bytes. They are freed once, when the last array or tensor that looks at them is gone. `views.seen_by(matrix)` lets
Eigen, xtensor, Armadillo, Dlib and OpenCV look, too.

Each reader either returns what the file says or raises `FormatError`, which names file, line, column and what was
expected. None depends on the process's locale. What counts as right is written down with each reader; where others
decide otherwise, `specimens.py` says how, file by file.

Numbers in text (CSV and JSON) become the nearest float64, except where that would hide something. An error, therefore:
a number beyond the range of float64 (1e400), one so small that it would become 0 (1e-400), and an integer beyond 2^53
that float64 would change (2^53 + 1).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from .errors import FormatError
from .extension import native, need

MISSING_WORDS = ("NA", "N/A", "null", "NULL")


@dataclass(frozen=True)
class Table:
    """Numbers with the names of their columns.

    Parameters
    ----------
    values : ndarray of shape (rows, columns), float64
        Row after row in one block of memory.
    names : tuple of str
        Of the columns; empty where the file has no header.
    """

    values: np.ndarray
    names: tuple[str, ...] = ()

    def column(self, name: str) -> np.ndarray:
        """One column, as a view of shape (rows,): its elements lie a row apart in memory."""
        if name not in self.names:
            raise KeyError(f"there is no column {name!r}; there are: {', '.join(self.names) or 'no names at all'}")
        return self.values[:, self.names.index(name)]


def csv_options(
    *,
    delimiter: str = ",",
    decimal: str = ".",
    thousands: str | None = None,
    quote: str | None = '"',
    header: bool | Literal["always"] = True,
    columns: Sequence[str] | Sequence[int] | None = None,
    missing: float | None = None,
    missing_words: Sequence[str] = MISSING_WORDS,
    skip_blank_lines: bool = False,
):
    """The options of `read_csv`, checked, in the form that the extension takes."""
    for name, value in (("delimiter", delimiter), ("decimal", decimal), ("thousands", thousands), ("quote", quote)):
        if value is not None and (len(value) != 1 or ord(value) > 127):
            raise ValueError(f"{name} must be one ASCII character, found {value!r}")
    if header not in (True, False, "always"):
        raise ValueError(f"header must be True, False or 'always', found {header!r}")
    chosen = list(columns or ())
    by_name = all(isinstance(column, str) for column in chosen)
    if not by_name and not all(isinstance(column, int | np.integer) and column >= 0 for column in chosen):
        raise ValueError("columns must be all names, or all numbers from 0")
    if columns is not None and not chosen:
        raise ValueError("columns names no column: expected at least one, or None for all")
    module = native()
    kind = {True: module.Header.checked, False: module.Header.none, "always": module.Header.always}[header]
    return module.CsvOptions(
        delimiter=delimiter,
        decimal=decimal,
        thousands=thousands,
        quote=quote,
        header=kind,
        skip_blank_lines=skip_blank_lines,
        missing=None if missing is None else float(missing),
        missing_words=list(missing_words),
        column_names=chosen if by_name else [],
        column_numbers=[] if by_name else [int(column) for column in chosen],
    )


def read_csv(path: str | os.PathLike, *, threads: int | None = None, **options) -> Table:
    """Numbers from delimited text.

    Parameters
    ----------
    path : path
        UTF-8, with or without a byte-order mark. Lines end in LF, CRLF or CR; the last one need not.
    threads : int, optional
        How many parse. The result and the first error do not depend on it. Default: one a core, at most 8.
    delimiter : str, default ","
        Between fields. Blanks (spaces, and tabs unless they delimit) around a number are ignored.
    decimal : "." or ","
        The decimal point. A number is an optional sign, digits with at most one point, and an optional exponent; or
        nan, inf, infinity in any case. Hexadecimal numbers and underscores are errors.
    thousands : str, optional
        A separator within numbers, which must then stand before each group of three digits. It may be the delimiter
        where such numbers are quoted.
    quote : str or None, default '"'
        Around a field that holds the delimiter or a line end; within, it is doubled. None: an ordinary character.
    header : bool or "always", default True
        Whether the first line holds names. True refuses a line that holds only numbers, which are probably data;
        "always" takes it for names whatever it holds. Each name may stand once; columns without a name are allowed.
    columns : sequence of str or of int, optional
        Read only these, in this order; the others may hold anything. Default: all.
    missing : float, optional
        What an empty field, or one of `missing_words`, becomes (mostly `float("nan")`). Default: it is an error.
    missing_words : sequence of str
        Default: NA, N/A, null, NULL.
    skip_blank_lines : bool, default False
        Pass over lines without a character. Otherwise they are an error, also at the end, except in a table of one
        column with `missing`, where they are a missing value.

    Returns
    -------
    Table

    Raises
    ------
    FormatError
        For whatever is not as described: each line must have as many fields as the first.
    OSError
        Where the file cannot be read.
    """
    threads = min(os.cpu_count() or 1, 8) if threads is None else threads
    if threads < 1:
        raise ValueError(f"threads must be at least 1, found {threads}")
    values, names = native().read_csv(os.fspath(path), csv_options(**options), threads)
    return Table(values, tuple(names))


def read_json(path: str | os.PathLike, *, key: str | None = None, missing: float | None = None) -> np.ndarray:
    """A matrix from JSON: an array of rows, each an array of numbers, all equally long.

    Parameters
    ----------
    path : path
        UTF-8, with or without a byte-order mark. The whole file is checked, also what is passed over: NaN, Infinity,
        trailing commas, a member that stands twice, more than 64 levels of nesting are errors.
    key : str, optional
        The member of the outermost object that holds the rows. Default: the file is the array of rows.
    missing : float, optional
        What null becomes. Default: it is an error.

    Returns
    -------
    ndarray of shape (rows, columns), float64

    Raises
    ------
    FormatError, OSError, MissingPart
    """
    return need("simdjson").read_json(os.fspath(path), key, None if missing is None else float(missing))


Range = tuple[int, int]


def read_hdf5(
    path: str | os.PathLike,
    dataset: str,
    *,
    rows: Range | None = None,
    columns: Range | None = None,
    ndim: int | None = None,
    transpose: bool | None = None,
    threads: int = 1,
    isolated: bool = True,
) -> np.ndarray:
    """A dataset of an HDF5 file, or a box out of it, in this machine's byte order.

    Parameters
    ----------
    path : path
        Stored in one piece, compact, or in chunks, these compressed by gzip, shuffled, with checksums, or not.
    dataset : str
        Its path within the file, such as "train/x".
    rows, columns : (start, stop), optional
        Of the first and the second axis, as slices count (a stop behind the end is the end). Only what is needed is
        read.
    ndim : int, optional
        How many axes you expect; others are an error.
    transpose : bool, optional
        Fortran, MATLAB and Julia write matrices column after column, and what they call (rows, columns) stands in the
        file as (columns, rows). Nothing in the file says so, except that MATLAB leaves a mark. True: turn it round (the
        axes of the result are reversed; `rows` counts the first axis of the result); False: as stored. Default: as
        stored, and an error where MATLAB has left its mark.
    threads : int, default 1
        How many decompress chunks.
    isolated : bool, default True
        Let the HDF5 library look at the file in a child process, because damaged files can make it crash; a crash is
        then a `FormatError`. A small program that stays as long as this process does so (the first file costs some
        milliseconds, others less than one). False: in this process, for files that you trust.

    Returns
    -------
    ndarray
        Of the type in the file (float16 to float64, signed and unsigned integers).

    Raises
    ------
    FormatError
        For strings, records, other filters, a missing dataset, a wrong number of axes, a damaged file.
    OSError, MissingPart
    """
    module = need("HDF5")
    box = {}
    for axis, name, given in ((0, "rows", rows), (1, "columns", columns)):
        if given is not None:
            start, stop = given
            if not 0 <= start <= stop:
                raise ValueError(f"{name} must be (start, stop) with 0 <= start <= stop, found {given!r}")
            box[axis] = (start, stop)
    if transpose and box:
        stored = module.Hdf5Dataset(os.fspath(path), dataset, [0], [0], isolated).shape
        if len(stored) <= max(box):
            raise FormatError(f"{path}: the dataset {dataset!r} has shape {tuple(stored)}: expected more axes")
        box = {len(stored) - 1 - axis: given for axis, given in box.items()}
    everything = (0, 2**63)
    asked = [box.get(axis, everything) for axis in range(max(box, default=-1) + 1)]
    starts, stops = [start for start, _ in asked], [stop for _, stop in asked]
    opened = module.Hdf5Dataset(os.fspath(path), dataset, starts, stops, isolated)
    shape = opened.shape
    if ndim is not None and len(shape) != ndim:
        axes = "1 axis" if len(shape) == 1 else f"{len(shape)} axes"
        raise FormatError(
            f"{path}: the dataset {dataset!r} has {axes}, its shape is {tuple(shape)}: expected {ndim}", str(path)
        )
    if opened.matlab and transpose is None and len(shape) > 1:
        raise FormatError(
            f"{path}: the dataset {dataset!r} was written by MATLAB, whose axes stand reversed in the file (here "
            f"{tuple(shape)}): say transpose=True for the matrix as MATLAB shows it, False for the one that is stored",
            str(path),
        )
    values = opened.read(starts, stops, threads)
    return np.ascontiguousarray(values.T) if transpose else values


def read_image(path: str | os.PathLike) -> np.ndarray:
    """A picture, by its first bytes and not by its name: PNG, JPEG, or PNM (P2, P3, P5, P6).

    Parameters
    ----------
    path : path
        PNG is read by our own decoder over zlib (not interlaced), JPEG by libjpeg, PNM by our own.

    Returns
    -------
    ndarray of shape (height, width, channels), uint8 or uint16
        Channels: 1 grey, 2 grey and alpha, 3 red, green, blue, 4 with alpha. Rows have no padding. Samples are those of
        the file: 16-bit PNG stays 16-bit, a PNM's largest value is not scaled to 255; palettes become colours, and grey
        of 1, 2, 4 bits is spread to 0 ... 255, as the PNG standard says. A camera's note on orientation is ignored.

    Raises
    ------
    FormatError
        Also for a truncated file: the pixels that are there are not returned with grey ones for the rest.
    OSError
    MissingPart
        For PNG in a build without zlib, for JPEG in one without libjpeg.
    """
    return native().read_image(os.fspath(path))


def read_npy(path: str | os.PathLike) -> np.ndarray:
    """An array from NumPy's file format (versions 1 to 3), row-major and in this machine's byte order.

    Returns
    -------
    ndarray
        Floats, integers or truth values of the file's shape.

    Raises
    ------
    FormatError
        Also for objects, which are pickles and could run code.
    OSError
    """
    return native().read_npy(os.fspath(path))


def read_arrow(path: str | os.PathLike) -> Table:
    """Numbers from an Arrow (Feather) file by pyarrow: for comparison. Arrow keeps columns apart, so this copies.

    Raises
    ------
    FormatError
        Where a column does not hold numbers, or a value is missing.
    """
    import pyarrow as pa
    import pyarrow.feather

    try:
        table = pyarrow.feather.read_table(Path(path))
    except pa.ArrowInvalid as problem:
        raise FormatError(f"{path}: {problem}", str(path)) from None
    values = np.empty((table.num_rows, table.num_columns))
    for i, (name, column) in enumerate(zip(table.column_names, table.columns)):
        if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
            raise FormatError(f"{path}: column {i + 1} ({name!r}) holds {column.type}: expected numbers", str(path))
        if column.null_count:
            raise FormatError(f"{path}: column {i + 1} ({name!r}) lacks {column.null_count} values", str(path))
        exact = column.to_numpy()
        values[:, i] = exact
        if exact.dtype.kind in "iu" and not all(int(v) == int(e) for v, e in zip(values[:, i], exact)):
            raise FormatError(f"{path}: column {i + 1} ({name!r}) holds integers that float64 would change", str(path))
    return Table(values, tuple(table.column_names))
