"""How many keys each rank holds: what every rank must know before keys can change their place."""

from __future__ import annotations

import torch


def chunk_sizes(mine, dist):
    """How many keys each rank holds.

    Parameters
    ----------
    mine : int
        Keys of this rank.
    dist : virtual or real torch.distributed

    Returns
    -------
    list of int
    """
    sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(dist.get_world_size())]
    dist.all_gather(sizes, torch.tensor([mine]))
    return [int(size) for size in sizes]
