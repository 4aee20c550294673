"""Batches for torch's DataLoader, read from the file while training runs; never the whole file in memory."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator

import torch
from torch.utils.data import IterableDataset, get_worker_info

from .extension import native, need
from .readers import csv_options
from .slabs import csv_range, rows_of

BLOCK = 4 << 20
"""B. What `Hdf5Batches` reads at once, or one batch where that is more."""


def _share(rank: int, world_size: int) -> tuple[int, int]:
    """This worker of this rank, among all workers of all ranks: each reads its own part of the file."""
    worker = get_worker_info()
    return (
        (rank, world_size)
        if worker is None
        else (rank * worker.num_workers + worker.id, world_size * worker.num_workers)
    )


class CsvBatches(IterableDataset):
    """Batches of rows from a CSV file, in the order of the file.

    Pass it to ``DataLoader(batches, batch_size=None, num_workers=...)``: the batches are made here, by parsing, not by
    stacking rows. Each worker of each rank reads its own share of the bytes (see `slabs`), so each row comes once; the
    last batch of a share is shorter.

    Parameters
    ----------
    path : path
    batch_size : int
        Rows.
    rank, world_size : int
        This rank's part of the file.
    quotes : "refuse" or "count"
        As for `read_csv_slab`.
    **options
        Those of `read_csv`, apart from `threads`.

    Yields
    ------
    torch.Tensor of shape (rows, columns), float64
        Over the memory that the parser filled.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        batch_size: int,
        *,
        rank: int = 0,
        world_size: int = 1,
        quotes="refuse",
        **options,
    ):
        super().__init__()
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, found {batch_size}")
        self.path, self.batch_size, self.rank, self.world_size = os.fspath(path), batch_size, rank, world_size
        self.quotes, self.options = quotes, options

    def __iter__(self) -> Iterator[torch.Tensor]:
        share = _share(self.rank, self.world_size)
        part = csv_range(self.path, *share, self.quotes, **self.options)
        stream = native().CsvStream(self.path, csv_options(**self.options), part.begin, part.end)
        while len(values := stream.next(self.batch_size)):
            yield torch.from_numpy(values)


class Hdf5Batches(IterableDataset):
    """Batches of rows from a dataset of an HDF5 file, in the order of the file; the rest as for `CsvBatches`.

    Parameters
    ----------
    path, dataset
        As for `read_hdf5`.
    batch_size : int
        Rows.
    rank, world_size : int
    isolated : bool
        As for `read_hdf5`.

    Yields
    ------
    torch.Tensor
        Of shape (rows, ...) and the dataset's type; views of a block of batches that is read at once.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        dataset: str,
        batch_size: int,
        *,
        rank: int = 0,
        world_size: int = 1,
        isolated: bool = True,
    ):
        super().__init__()
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, found {batch_size}")
        self.path, self.dataset, self.batch_size = os.fspath(path), dataset, batch_size
        self.rank, self.world_size, self.isolated = rank, world_size, isolated

    def __iter__(self) -> Iterator[torch.Tensor]:
        module = need("HDF5")
        shape = module.Hdf5Dataset(self.path, self.dataset, [0], [0], self.isolated).shape
        first, behind = rows_of(*_share(self.rank, self.world_size), shape[0])
        opened = module.Hdf5Dataset(self.path, self.dataset, [first], [behind], self.isolated)  # asks the library once
        # Several batches at once: a chunk that holds many of them is then decompressed once or twice, not for each.
        row_bytes = 8 * math.prod(shape[1:])
        at_once = self.batch_size * max(1, BLOCK // max(1, row_bytes * self.batch_size))
        for start in range(first, behind, at_once):
            rows = torch.from_numpy(opened.read([start], [min(start + at_once, behind)], 1))
            yield from rows.split(self.batch_size)
