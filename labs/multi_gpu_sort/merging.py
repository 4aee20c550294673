"""Merge two sorted runs in parallel: merge path cuts the work into equal, independent parts."""

from __future__ import annotations

import numpy as np

HOLDS_ANSWERS = True


def cuts(a, b, diagonals):
    """How many of the first so many merged keys come from `a`, for many places at once.

    A merge is a walk through a grid, one step right for a key of `a`, one step down for a key of `b`. After `diagonal`
    steps the walk crosses an anti-diagonal; a binary search on it finds where, without walking.

    Parameters
    ----------
    a, b : numpy.ndarray
        Sorted, of one dtype.
    diagonals : numpy.ndarray of int64, shape (k,)
        From 0 to len(a) + len(b).

    Returns
    -------
    numpy.ndarray of int64, shape (k,)
        i for each; the other ``diagonal - i`` come from `b`. Equal keys of `a` come before those of `b`.

    Notes
    -----
    Green, McColl, Bader: GPU Merge Path, ICS 2012, section 3.
    """
    low, high = np.maximum(0, diagonals - len(b)), np.minimum(diagonals, len(a))
    while len(searching := np.flatnonzero(low < high)):
        middle = (low[searching] + high[searching]) // 2
        more = a[middle] <= b[diagonals[searching] - middle - 1]
        low[searching] = np.where(more, middle + 1, low[searching])
        high[searching] = np.where(more, high[searching], middle)
    return low


def merge_path(a, b, parts=4096):
    """Merge in `parts` pieces of equal length that do not depend on each other.

    On a GPU a piece is a thread's. Here it is one place of a vector, and all pieces take each step together.

    Parameters
    ----------
    a, b : numpy.ndarray
        Sorted, of one dtype, without NaN.
    parts : int
        At least 1; some thousands keep the overhead of NumPy's calls and the misses of the cache low.

    Returns
    -------
    numpy.ndarray, shape (len(a) + len(b),)
        Equal keys of `a` before those of `b`.
    """
    n = len(a) + len(b)
    if not len(a) or not len(b):
        return np.concatenate([a, b])
    out, bounds = np.empty(n, a.dtype), n * np.arange(parts + 1) // parts
    i = cuts(a, b, bounds[:-1])
    place, j = bounds[:-1].copy(), bounds[:-1] - i
    for _ in range(n // parts):
        _step(a, b, i, j, place, out)
    longer = place < bounds[1:]  # n need not divide by parts: some pieces are one key longer
    _step(a, b, i[longer], j[longer], place[longer], out)
    return out


def _step(a, b, i, j, place, out):
    """Every piece takes the smaller of its two next keys; `a` wins ties, and a run at its end has no next key."""
    first, second = a.take(i, mode="clip"), b.take(j, mode="clip")
    from_a = first <= second
    from_a &= i < len(a)
    from_a |= j >= len(b)
    out[place] = np.where(from_a, first, second)
    i += from_a
    j += ~from_a
    place += 1
