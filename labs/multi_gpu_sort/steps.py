"""One stage of the merge sort as a function that a learner's program can call: swap two sorted halves, and merge."""

from __future__ import annotations

import torch

from labs.multi_gpu_sort.exchange import finish, start
from labs.multi_gpu_sort.halves import Halves, search
from labs.multi_gpu_sort.result import Move
from labs.multi_gpu_sort.swaps import plan_swap


def swap_halves(keys, first, middle, end, dist):
    """Swap as many keys as needed between two sorted halves: then the lower ranks hold the smaller keys.

    Parameters
    ----------
    keys : torch.Tensor, shape (n,)
        This rank's, sorted. Ranks ``first`` to ``middle - 1`` together hold one sorted half, rank by rank, and ranks
        ``middle`` to ``end - 1`` the other.
    first, middle, end : int
    dist : virtual or real torch.distributed
        Every rank from `first` to `end - 1` calls this with the same numbers; the others do not.

    Returns
    -------
    torch.Tensor, shape (n,)
        This rank's keys afterwards, sorted. Within a half they need not lie on the right rank: received keys go to
        the mirrored partner, so the half has to be sorted once more.

    Raises
    ------
    RuntimeError
        When this rank is not among them.
    """
    rank = dist.get_rank()
    if not first <= rank < end:
        raise RuntimeError(f"rank {rank} calls a swap of ranks {first} to {end - 1}, of which it is none")
    sizes = [len(keys)] * (end - first)
    pivot = search(Halves(keys, sizes, first, middle, dist))
    moves = [
        Move(move.source + first, move.target + first, move.start, move.count)
        for move in plan_swap(sizes, middle - first, pivot)
    ]
    given = [move for move in moves if move.source == rank]
    received = [(keys.new_empty(move.count), move.source) for move in moves if move.target == rank]
    sends = [(keys[move.start : move.start + move.count].contiguous(), move.target) for move in given]
    finish(start(sends, received, dist))
    gone = sum(move.count for move in given)
    kept = keys[: len(keys) - gone] if rank < middle else keys[gone:]
    return torch.cat([kept, *(part for part, _ in received)]).sort().values
