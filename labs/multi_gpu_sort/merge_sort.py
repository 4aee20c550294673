"""The peer-to-peer merge sort over 2^k ranks: sort halves, swap around the pivot, sort halves again."""

from __future__ import annotations

from labs.multi_gpu_sort.codes import decode, encode
from labs.multi_gpu_sort.exchange import finish, start
from labs.multi_gpu_sort.halves import Halves, search
from labs.multi_gpu_sort.local import merge_runs, sort_chunk
from labs.multi_gpu_sort.result import Move, Sorted
from labs.multi_gpu_sort.sizes import chunk_sizes
from labs.multi_gpu_sort.swaps import plan_swap
from labs.multi_gpu_sort.tensors import as_tensor, like

HOLDS_ANSWERS = True


def merge_sort(keys, dist, values=None, *, descending=False, placement="mirrored"):
    """Rank program: sort the keys of all ranks; rank 0 ends with the smallest.

    Each rank keeps as many keys as it brings, and the number of keys need not divide by the number of ranks.

    Parameters
    ----------
    keys : numpy.ndarray or torch.Tensor, shape (n,)
        This rank's, of a dtype in `labs.multi_gpu_sort.codes.DTYPES`; a tensor on the rank's GPU for NCCL.
    dist : virtual or real torch.distributed
    values : numpy.ndarray or torch.Tensor, shape (n,), optional
        Travel with the keys. Equal keys keep their order on one or two ranks; on more ranks with "ordered" placement.
    descending : bool
    placement : {"mirrored", "ordered"}
        See `labs.multi_gpu_sort.swaps.plan_swap`.

    Returns
    -------
    Sorted
        Arrays or tensors, as `keys` and `values` are.

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
    tensor = as_tensor(keys, dist)
    codes, travelling = sort_chunk(encode(tensor, descending), as_tensor(values, dist, "values"))
    chunk = _Chunk(codes, travelling, chunk_sizes(codes, dist), placement, dist)
    chunk.sort_halves(0, world_size)
    found = decode(chunk.codes, tensor.dtype, descending)
    return Sorted(like(found, keys), like(chunk.values, values), tuple(chunk.stages))


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
        if given:
            received = [move for move in moves if move.target == rank]
            self.codes, self.values = self._exchange(given, received, below=rank < middle)
        return pivot > 0

    def _exchange(self, given, received, below):
        """Send keys, receive as many right beside those that stay, and merge the runs."""
        arrays = [self.codes] if self.values is None else [self.codes, self.values]
        gone, n = sum(move.count for move in given), len(self.codes)
        kept, place = (slice(0, n - gone), n - gone) if below else (slice(gone, n), 0)
        new, slots = [array.new_empty(n) for array in arrays], []
        for move in received:
            slots.append((slice(place, place + move.count), move.source))
            place += move.count
        handles = start(
            [(array[move.start : move.start + move.count], move.target) for move in given for array in arrays],
            [(array[slot], source) for slot, source in slots for array in new],
            self.dist,
        )
        for array, after in zip(arrays, new):
            after[kept] = array[kept]  # while the messages are on their way
        finish(handles)
        runs = len(received) + (gone < n)
        return merge_runs(*new) if runs > 1 else (new[0], new[1] if len(new) > 1 else None)
