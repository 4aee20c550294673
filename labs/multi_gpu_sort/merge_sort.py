"""The peer-to-peer merge sort over 2^k ranks: sort halves, swap around the pivot, sort halves again."""

from __future__ import annotations

import numpy as np
import torch

from labs.multi_gpu_sort.codes import decode, encode
from labs.multi_gpu_sort.halves import Halves, search
from labs.multi_gpu_sort.local import merge_runs, sort_chunk
from labs.multi_gpu_sort.result import Move, Sorted
from labs.multi_gpu_sort.sizes import chunk_sizes
from labs.multi_gpu_sort.swaps import plan_swap

HOLDS_ANSWERS = True


def merge_sort(keys, dist, values=None, *, descending=False, placement="mirrored"):
    """Rank program: sort the keys of all ranks; rank 0 ends with the smallest.

    Each rank keeps as many keys as it brings, and the number of keys need not divide by the number of ranks.

    Parameters
    ----------
    keys : numpy.ndarray, shape (n,)
        This rank's, of a dtype in `labs.multi_gpu_sort.codes.DTYPES`.
    dist : virtual or real torch.distributed
    values : numpy.ndarray, shape (n,), optional
        Travel with the keys. Equal keys keep their order on one or two ranks; on more ranks with "ordered" placement.
    descending : bool
    placement : {"mirrored", "ordered"}
        See `labs.multi_gpu_sort.swaps.plan_swap`.

    Returns
    -------
    Sorted

    Raises
    ------
    ValueError
        When the number of ranks is no power of two.
    """
    world_size = dist.get_world_size()
    if world_size & (world_size - 1):
        raise ValueError(
            f"the merge sort halves its ranks again and again, so it needs 1, 2, 4, 8, ... of them, not {world_size}; "
            "radix_partition sorts on any number"
        )
    codes, values = sort_chunk(encode(keys, descending), values)
    sizes = chunk_sizes(len(codes), dist)
    chunk = _Chunk(codes, values, sizes, placement, dist)
    chunk.sort_halves(0, world_size)
    return Sorted(decode(chunk.codes, np.asarray(keys).dtype, descending), chunk.values, tuple(chunk.stages))


class _Chunk:
    """One rank's keys on their way through the stages."""

    def __init__(self, codes, values, sizes, placement, dist):
        self.codes, self.values, self.sizes = codes, values, sizes
        self.placement, self.dist, self.stages = placement, dist, []

    def sort_halves(self, first, end):
        """Sort the ranks from `first` to `end`; each one's chunk is sorted already."""
        if end - first < 2:
            return
        middle, rank = (first + end) // 2, self.dist.get_rank()
        mine = (first, middle) if rank < middle else (middle, end)
        self.sort_halves(*mine)
        if self.swap(first, middle, end):
            self.sort_halves(*mine)

    def swap(self, first, middle, end):
        """One stage: find the pivot, swap around it, merge. Returns whether any key moved."""
        sizes, rank = self.sizes[first:end], self.dist.get_rank()
        pivot = search(Halves(self.codes, sizes, first, middle, self.dist))
        moves = [
            Move(move.source + first, move.target + first, move.start, move.count)
            for move in plan_swap(sizes, middle - first, pivot, self.placement)
        ]
        given = [move for move in moves if move.source == rank]
        self.stages.append((f"ranks {first} to {end - 1}", tuple(given)))
        gone = sum(move.count for move in given)
        if gone:
            kept = slice(0, len(self.codes) - gone) if rank < middle else slice(gone, len(self.codes))
            self.codes, self.values = self._exchange(moves, given, kept, kept_first=rank < middle)
        return pivot > 0

    def _exchange(self, moves, given, kept, kept_first):
        arrays = [self.codes] if self.values is None else [self.codes, self.values]
        sends = [
            self.dist.isend(torch.from_numpy(array[move.start : move.start + move.count]), dst=move.target)
            for move in given
            for array in arrays
        ]
        received, receives = [[] for _ in arrays], []
        for move in moves:
            if move.target == self.dist.get_rank():
                for runs, array in zip(received, arrays):
                    runs.append(np.empty(move.count, array.dtype))
                    receives.append(self.dist.irecv(torch.from_numpy(runs[-1]), src=move.source))
        for handle in [*sends, *receives]:
            handle.wait()
        own = [[array[kept]] for array in arrays]
        return merge_runs(*(a + b if kept_first else b + a for a, b in zip(own, received)))
