"""The merge sort, stage by stage, on lists: what a player shows, with every move of a key."""

from __future__ import annotations

from typing import NamedTuple

from labs.multi_gpu_sort.swaps import plan_swap


class Stage(NamedTuple):
    """One swap.

    Parameters
    ----------
    first, middle, end : int
        The ranks that take part, and where their upper half begins.
    pivot : int
        How many keys change halves, each way.
    before, swapped, merged : list of list
        Every rank's keys before it, after the swap, and after the local merges.
    arrived : list of (rank, place)
        The keys in `swapped` that have just arrived.
    moves : list of (source, target, count)
    """

    first: int
    middle: int
    end: int
    pivot: int
    before: list
    swapped: list
    merged: list
    arrived: list
    moves: list


def stages(chunks, placement="mirrored"):
    """Every swap of the merge sort.

    Parameters
    ----------
    chunks : list of lists
        Keys by rank, in any order; 1, 2, 4, 8, ... ranks.
    placement : {"mirrored", "ordered"}
        As for `labs.multi_gpu_sort.swaps.plan_swap`.

    Returns
    -------
    list of Stage
        g - 1 of them on g ranks; those of ranks that do not meet could run at the same time.
    """
    found = []
    _sort([sorted(chunk) for chunk in chunks], 0, len(chunks), placement, found)
    return found


def _sort(chunks, first, end, placement, found):
    if end - first < 2:
        return chunks
    middle = (first + end) // 2
    for half in ((first, middle), (middle, end)):
        chunks = _sort(chunks, *half, placement, found)
    stage = _swap(chunks, first, middle, end, placement)
    found.append(stage)
    chunks = stage.merged
    if stage.pivot:
        for half in ((first, middle), (middle, end)):
            chunks = _sort(chunks, *half, placement, found)
    return chunks


def _swap(chunks, first, middle, end, placement):
    a = [key for chunk in chunks[first:middle] for key in chunk]
    b = [key for chunk in chunks[middle:end] for key in chunk]
    # counted instead of searched: as many keys of b as lie among the smallest len(a) keys, ties left to a
    smallest = sorted([(key, 0) for key in a] + [(key, 1) for key in b])[: len(a)]
    pivot = sum(half for _, half in smallest)
    moves = plan_swap([len(chunk) for chunk in chunks[first:end]], middle - first, pivot, placement)
    swapped, arrived = [list(chunk) for chunk in chunks], []
    for rank in range(first, end):
        given = sum(move.count for move in moves if move.source == rank - first)
        new = [
            key
            for move in moves
            if move.target == rank - first
            for key in chunks[move.source + first][move.start : move.start + move.count]
        ]
        own = chunks[rank]
        if rank < middle:
            swapped[rank] = own[: len(own) - given] + new
            arrived += [(rank, place) for place in range(len(own) - given, len(own))]
        else:
            swapped[rank] = new + own[given:]
            arrived += [(rank, place) for place in range(given)]
    merged = [sorted(chunk) for chunk in swapped]
    arrows = [(move.source + first, move.target + first, move.count) for move in moves]
    return Stage(first, middle, end, pivot, chunks, swapped, merged, arrived, arrows)


def moved(chunks, placement="mirrored"):
    """How many keys change rank, all swaps together."""
    return sum(count for stage in stages(chunks, placement) for *_, count in stage.moves)
