"""Sort on any number of ranks with one all-to-all: cut the keys by value, send each to its rank, sort there."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import torch

from labs.multi_gpu_sort.codes import decode, encode
from labs.multi_gpu_sort.exchange import exchange_parts
from labs.multi_gpu_sort.local import declare, sort_chunk
from labs.multi_gpu_sort.result import Move, Sorted
from labs.multi_gpu_sort.sizes import chunk_sizes
from labs.multi_gpu_sort.splitters import find_splitters

HOLDS_ANSWERS = True


def radix_partition(keys, dist, values=None, *, descending=False):
    """Rank program: sort the keys of all ranks; rank 0 ends with the smallest.

    Each rank keeps as many keys as it brings. Every key moves at most once, and keys that lie right do not move.
    Equal keys keep their order.

    Parameters
    ----------
    keys : numpy.ndarray, shape (n,)
        This rank's, of a dtype in `labs.multi_gpu_sort.codes.DTYPES`.
    dist : virtual or real torch.distributed
    values : numpy.ndarray, shape (n,), optional
        Travel with the keys.
    descending : bool

    Returns
    -------
    Sorted

    Notes
    -----
    Ilic, Tolovski, Rabl: RMG Sort: Radix-Partitioning-Based Multi-GPU Sorting, BTW 2023. The paper balances by buckets
    of digits; here ties are dealt out too, so the balance is exact.
    """
    codes, rank = encode(keys, descending), dist.get_rank()
    sizes = chunk_sizes(len(codes), dist)
    splitters = find_splitters(codes, list(accumulate(sizes))[:-1], dist)
    targets = destinations(codes, splitters)
    declare(codes, values, passes=4, label="partition")  # count, read, write; the digits share one pass in the paper
    order = np.argsort(targets, kind="stable")
    counts = np.bincount(targets, minlength=len(sizes))
    codes = _sent(codes[order], counts, dist)
    values = None if values is None else _sent(values[order], counts, dist)
    codes, values = sort_chunk(codes, values)
    starts = [0, *accumulate(counts.tolist())]
    moves = tuple(
        Move(rank, target, starts[target], int(count))
        for target, count in enumerate(counts)
        if count and target != rank
    )  # fmt: skip
    return Sorted(decode(codes, np.asarray(keys).dtype, descending), values, (("all-to-all", moves),))


def destinations(codes, splitters):
    """The rank of each code.

    Parameters
    ----------
    codes : numpy.ndarray, shape (n,)
    splitters : list of Splitter
        Between rank 0 and 1, 1 and 2, and so on.

    Returns
    -------
    numpy.ndarray of int64, shape (n,)
    """
    targets = np.zeros(len(codes), dtype=np.int64)
    for code, ties_below in splitters:
        targets += codes > code
        targets[np.flatnonzero(codes == code)[ties_below:]] += 1
    return targets


def _sent(array, counts, dist):
    return exchange_parts(torch.from_numpy(array), torch.from_numpy(counts), dist).numpy()
