"""How many keys each rank holds: what every rank must know before keys can change their place."""

from __future__ import annotations

import torch


def chunk_sizes(codes, dist):
    """How many keys each rank holds.

    Parameters
    ----------
    codes : torch.Tensor, shape (n,)
        This rank's.
    dist : virtual or real torch.distributed

    Returns
    -------
    list of int
    """
    mine = torch.tensor([len(codes)], device=codes.device)
    sizes = [torch.zeros_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(sizes, mine)
    return [int(size) for size in sizes]
