"""What one device does alone: sort its chunk, and merge the sorted runs that it holds."""

from __future__ import annotations

import numpy as np

from labs.kit.virtual import work


def sort_chunk(codes, values=None):
    """Sort a chunk, stably, with the library's sort.

    Parameters
    ----------
    codes : numpy.ndarray, shape (n,)
        int32 or int64.
    values : numpy.ndarray, shape (n,), optional

    Returns
    -------
    codes, values : numpy.ndarray
        New arrays; values is None without values.
    """
    # a radix sort reads and writes everything once for each digit of 8 bits, and reads once more to count
    declare(codes, values, passes=3 * codes.dtype.itemsize, label="sort")
    if values is None:
        return np.sort(codes), None
    order = np.argsort(codes, kind="stable")
    return codes[order], values[order]


def merge_runs(codes, values=None):
    """Merge consecutive sorted runs into one; equal keys of earlier runs stay in front.

    Parameters
    ----------
    codes : list of numpy.ndarray
        Each sorted.
    values : list of numpy.ndarray, optional

    Returns
    -------
    codes, values : numpy.ndarray
    """
    together = np.concatenate(codes)
    follow = None if values is None else np.concatenate(values)
    if sum(len(run) > 0 for run in codes) > 1:
        declare(together, follow, passes=2, label="merge")
        # the stable sort of NumPy looks for sorted runs and merges them: a merge, not a sort, costs n steps here
        if follow is None:
            return np.sort(together, kind="stable"), None
        order = np.argsort(together, kind="stable")
        return together[order], follow[order]
    return together, follow


def declare(codes, values, passes, label):
    """Tell the virtual clock what a device would need: memory traffic bounds sorting."""
    nbytes = codes.nbytes + (0 if values is None else values.nbytes)
    if nbytes:
        work(bytes=passes * nbytes, label=label)
