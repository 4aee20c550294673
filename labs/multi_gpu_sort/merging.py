"""Merge two sorted runs in parallel: merge path cuts the work into equal, independent parts."""

from __future__ import annotations

import numpy as np

HOLDS_ANSWERS = True


def cut(a, b, diagonal):
    """How many of the first `diagonal` merged keys come from `a`.

    A merge is a walk through a grid, one step right for a key of `a`, one step down for a key of `b`. After `diagonal`
    steps the walk crosses an anti-diagonal; a binary search on it finds where, without walking.

    Parameters
    ----------
    a, b : numpy.ndarray
        Sorted.
    diagonal : int
        From 0 to len(a) + len(b).

    Returns
    -------
    int
        i; the other ``diagonal - i`` come from `b`. Equal keys of `a` come before those of `b`.

    Notes
    -----
    Green, McColl, Bader: GPU Merge Path, ICS 2012, section 3.
    """
    low, high = max(0, diagonal - len(b)), min(diagonal, len(a))
    while low < high:
        middle = (low + high) // 2
        if a[middle] <= b[diagonal - middle - 1]:
            low = middle + 1
        else:
            high = middle
    return low


def merge_path(a, b, parts):
    """Merge in `parts` pieces of equal length that do not depend on each other.

    Parameters
    ----------
    a, b : numpy.ndarray
        Sorted, of one dtype.
    parts : int
        At least 1.

    Returns
    -------
    numpy.ndarray, shape (len(a) + len(b),)
        Equal keys of `a` before those of `b`.
    """
    n = len(a) + len(b)
    out = np.empty(n, a.dtype)
    diagonals = [n * part // parts for part in range(parts + 1)]
    cuts = [cut(a, b, diagonal) for diagonal in diagonals]
    for part in range(parts):  # on a GPU: a block each
        begin, end = diagonals[part], diagonals[part + 1]
        i, j = cuts[part], cuts[part + 1]
        merge_serially(a[i:j], b[begin - i : end - j], out[begin:end])
    return out


def merge_serially(a, b, out):
    """Merge key by key, as one thread does it."""
    i = j = 0
    for k in range(len(out)):
        if j == len(b) or (i < len(a) and a[i] <= b[j]):
            out[k], i = a[i], i + 1
        else:
            out[k], j = b[j], j + 1
