"""Sort on any number of ranks with one all-to-all: cut the keys by value, send each to its rank, sort there."""

from __future__ import annotations

from itertools import accumulate

import torch

from labs.multi_gpu_sort.codes import decode, encode
from labs.multi_gpu_sort.exchange import exchange_parts
from labs.multi_gpu_sort.local import group, sort_chunk
from labs.multi_gpu_sort.result import Move, Sorted
from labs.multi_gpu_sort.sizes import chunk_sizes
from labs.multi_gpu_sort.splitters import find_splitters
from labs.multi_gpu_sort.tensors import as_tensor, like

HOLDS_ANSWERS = True


def radix_partition(keys, dist, values=None, *, descending=False):
    """Rank program: sort the keys of all ranks; rank 0 ends with the smallest.

    Each rank keeps as many keys as it brings. Every key moves at most once, and keys that lie right do not move.
    Equal keys keep their order.

    Parameters
    ----------
    keys : numpy.ndarray or torch.Tensor, shape (n,)
        This rank's, of a dtype in `labs.multi_gpu_sort.codes.DTYPES`; a tensor on the rank's GPU for NCCL.
    dist : virtual or real torch.distributed
    values : numpy.ndarray or torch.Tensor, shape (n,), optional
        Travel with the keys.
    descending : bool

    Returns
    -------
    Sorted
        Arrays or tensors, as `keys` and `values` are.

    Notes
    -----
    Ilic, Tolovski, Rabl: RMG Sort: Radix-Partitioning-Based Multi-GPU Sorting, BTW 2023. The paper balances by buckets
    of digits; here ties are dealt out too, so the balance is exact.
    """
    codes, travelling = encode(as_tensor(keys, dist), descending), as_tensor(values, dist, "values")
    rank, sizes = dist.get_rank(), chunk_sizes(codes, dist)
    splitters = find_splitters(codes, list(accumulate(sizes))[:-1], dist)
    codes, travelling, counts = group(codes, travelling, splitters)
    parts = torch.tensor(counts, device=codes.device)
    codes = exchange_parts(codes, parts, dist)
    travelling = None if travelling is None else exchange_parts(travelling, parts, dist)
    codes, travelling = sort_chunk(codes, travelling)
    starts = [0, *accumulate(counts)]
    moves = tuple(
        Move(rank, target, starts[target], count) for target, count in enumerate(counts) if count and target != rank
    )
    found = decode(codes, as_tensor(keys, dist).dtype, descending)
    return Sorted(like(found, keys), like(travelling, values), (("all-to-all", moves),))
