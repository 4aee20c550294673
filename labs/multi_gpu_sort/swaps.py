"""Which keys change device when two sorted halves of the devices swap: intervals, before anything is sent."""

from __future__ import annotations

from itertools import accumulate

from labs.multi_gpu_sort.result import Move


def plan_swap(sizes, middle, pivot, placement="mirrored"):
    """Plan the exchange of the last `pivot` keys of the lower devices with the first `pivot` of the upper ones.

    Parameters
    ----------
    sizes : sequence of int
        Keys of each device; devices before `middle` hold A in order, the others hold B.
    middle : int
        The first device of the upper half.
    pivot : int
        How many keys leave each half, from 0 to the smaller half's number of keys.
    placement : {"mirrored", "ordered"}
        Where received keys go. Mirrored: the lower half's last device trades with the upper half's first, the one
        before it with the second, and so on, each pair as many keys as it gives (the paper's, in place). Ordered: the
        received keys lie in order on the devices that gave some, so equal keys keep their order (and a half that was
        replaced as a whole is sorted already).

    Returns
    -------
    list of Move
        Ordered by target, then by the order of the keys.

    Notes
    -----
    Maltenberger, Ilic, Tolovski, Rabl: Evaluating Multi-GPU Sorting with Modern Interconnects, SIGMOD 2022, section 4.
    """
    below, above = range(middle), range(middle, len(sizes))
    tail = _take(sizes, reversed(below), pivot)  # device -> keys it gives, from its end
    head = _take(sizes, above, pivot)
    a_starts = dict(zip(below, accumulate((sizes[d] for d in below), initial=0)))
    b_starts = dict(zip(above, accumulate((sizes[d] for d in above), initial=0)))
    a_size = sum(sizes[d] for d in below)
    if placement not in ("mirrored", "ordered"):
        raise ValueError(f'placement is {placement!r}; it can be "mirrored" or "ordered"')
    mirrored = placement == "mirrored"
    from_b = _assign(tail if mirrored else dict(reversed(tail.items())), 0)
    from_a = _assign(dict(reversed(head.items())) if mirrored else head, a_size - pivot)
    moves = []
    for target, (begin, end) in sorted(from_b.items()):
        moves += _cut(begin, end, target, b_starts, sizes)
    for target, (begin, end) in sorted(from_a.items()):
        moves += _cut(begin, end, target, a_starts, sizes)
    return moves


def gives(moves, device):
    """Number of keys that a device gives away."""
    return sum(move.count for move in moves if move.source == device)


def _take(sizes, devices, wanted):
    """Give `wanted` keys, as many as possible from each device in turn."""
    taken = {}
    for device in devices:
        taken[device] = min(sizes[device], wanted - sum(taken.values()))
    return {device: count for device, count in taken.items() if count}


def _assign(counts, begin):
    """Consecutive intervals of a half's keys for the devices, in their given order."""
    ends = list(accumulate(counts.values(), initial=begin))
    return {device: (ends[i], ends[i + 1]) for i, device in enumerate(counts)}


def _cut(begin, end, target, starts, sizes):
    """One interval of a half's keys as moves from the devices that hold it."""
    for source, start in starts.items():
        low, high = max(begin, start), min(end, start + sizes[source])
        if low < high:
            yield Move(source, target, low - start, high - low)
