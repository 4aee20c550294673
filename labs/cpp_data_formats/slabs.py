"""One rank's part of a file: read by all ranks at once, each row by exactly one.

HDF5 knows where each row is, so rank r of n takes rows r * rows / n up to (r + 1) * rows / n. A CSV file does not: rank
r takes bytes r * size / n up to (r + 1) * size / n, moved to the next start of a line, and the rows that start there.
Their number differs a little from rank to rank; who needs the number of its first row adds up what the ranks before
it have read.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .errors import FormatError
from .extension import native, need
from .readers import Table, csv_options, read_hdf5


@dataclass(frozen=True)
class CsvRange:
    """The bytes [begin, end) of a CSV file whose lines belong to one reader. `begin` starts a line."""

    begin: int
    end: int


def rows_of(rank: int, world_size: int, rows: int) -> tuple[int, int]:
    """First row of a rank, and the row behind its last: as equal as can be, in order, none twice, none left out."""
    _check(rank, world_size)
    return rank * rows // world_size, (rank + 1) * rows // world_size


def read_hdf5_slab(path: str | os.PathLike, dataset: str, rank: int, world_size: int, **options) -> np.ndarray:
    """Rows `rows_of(rank, world_size, rows)` of a dataset, and no others.

    Parameters
    ----------
    path, dataset
        As for `read_hdf5`. All ranks may read one file at the same time.
    rank, world_size : int
    **options
        `columns`, `ndim`, `threads`, `isolated` of `read_hdf5`.

    Returns
    -------
    ndarray
        Of shape (rows of this rank, ...); its length may be 0.
    """
    shape = need("HDF5").Hdf5Dataset(os.fspath(path), dataset, [0], [0], options.get("isolated", True)).shape
    return read_hdf5(path, dataset, rows=rows_of(rank, world_size, shape[0]), **options)


def csv_range(
    path: str | os.PathLike, rank: int, world_size: int, quotes: Literal["refuse", "count"] = "refuse", **options
) -> CsvRange:
    """Which bytes of a CSV file are a rank's.

    See `read_csv_slab` for `quotes`. The range is that between two starts of lines.
    """
    _check(rank, world_size)
    if quotes not in ("refuse", "count"):
        raise ValueError(f"quotes must be 'refuse' or 'count', found {quotes!r}")
    native_options = csv_options(**options)
    module, name, size = native(), os.fspath(path), os.path.getsize(path)
    first = min(module.CsvStream(name, native_options, 0, 0).first_record, size)
    borders = [first + (size - first) * r // world_size for r in (rank, rank + 1)]
    starts = [module.CsvStream(name, native_options, border, size).begin for border in borders]
    starts[1] = size if rank + 1 == world_size else starts[1]
    quote = options.get("quote", '"')
    if quote is None or world_size == 1:
        return CsvRange(*starts)
    if quotes == "refuse":
        if module.count_byte(name, quote, *starts):
            raise FormatError(
                f"{path}: quotes stand in the part of rank {rank} of {world_size} (bytes {starts[0]} to {starts[1]}). "
                "Within quotes a line end is text, and nobody sees that from the middle of a file: "
                "pass quotes='count' (each rank then counts the quotes before its part), or quote=None where it is "
                "an ordinary character",
                str(path),
            )
        return CsvRange(*starts)
    return CsvRange(*(_outside_quotes(path, start, first, size, quote, native_options) for start in starts))


def read_csv_slab(
    path: str | os.PathLike, rank: int, world_size: int, *, quotes: Literal["refuse", "count"] = "refuse", **options
) -> Table:
    """The rows that start in a rank's share of a CSV file's bytes.

    Parameters
    ----------
    path
        All ranks may read one file at the same time; each reads the header, and its own share.
    rank, world_size : int
    quotes : "refuse" or "count"
        Whether the data may have quoted fields. "refuse" reads nothing but the share, and raises on the rank that finds
        a quote in it (a quoted header is no problem). "count" also counts the quotes before the share, by which a rank
        knows whether a line end at its border is within quotes; that reads the file up to there.
    **options
        Those of `read_csv`, apart from `threads`.

    Returns
    -------
    Table
        Its rows may be none. All ranks together hold each row once, in the order of the ranks.

    Raises
    ------
    FormatError, OSError
    """
    part = csv_range(path, rank, world_size, quotes, **options)
    stream = native().CsvStream(os.fspath(path), csv_options(**options), part.begin, part.end)
    return Table(stream.next(2**62), tuple(stream.names))


def _outside_quotes(path, start, first, size, quote, options):
    """The first start of a line from `start` on that is not within quotes; quotes come in pairs outside of them."""
    module, name = native(), os.fspath(path)
    counted, odd = first, 0
    while start < size:
        odd ^= module.count_byte(name, quote, counted, start) & 1
        if not odd:
            return start
        counted, start = start, module.CsvStream(name, options, start + 1, size).begin
    return size


def _check(rank, world_size):
    if not 0 <= rank < world_size:
        raise ValueError(f"the rank must be 0 to {world_size - 1}, found {rank}")
