"""The one number that decides a swap: the smallest count p after which the lower half holds only smaller keys."""

from __future__ import annotations

HOLDS_ANSWERS = True


def find_pivot(a, b):
    """The leftmost pivot of two sorted halves.

    Parameters
    ----------
    a, b : sequence
        Sorted; anything with a length and items.

    Returns
    -------
    int
        The smallest p from 0 to min(len(a), len(b)) with ``a[len(a) - p - 1] <= b[p]``. Swapping the last p of `a` with
        the first p of `b` leaves nothing in `a` that is larger than anything in `b`, and `<=` leaves ties where they
        are. The largest p needs no comparison: then everything of the shorter half has gone.
    """
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high) // 2
        if a[len(a) - middle - 1] <= b[middle]:
            high = middle
        else:
            low = middle + 1
    return low
