"""Find the pivot of two sorted halves that lie on several ranks, reading a few keys of each at a time."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import torch

from labs.multi_gpu_sort.exchange import finish, start

PROBES = 64  # keys of each half that a round reads: 4 rounds for 16 million keys, where halving takes 24


class Halves:
    """Two sorted halves over the ranks of a group, where all its ranks together can read keys of both.

    Parameters
    ----------
    codes : torch.Tensor, shape (n,)
        This rank's chunk, int32 or int64.
    sizes : sequence of int
        Keys of each rank of the group.
    first, middle : int
        The group's first rank, and the first one of its upper half.
    dist : virtual or real torch.distributed
    """

    def __init__(self, codes, sizes, first, middle, dist):
        self.codes, self.dist = codes, dist
        self.others = [rank for rank in range(first, first + len(sizes)) if rank != dist.get_rank()]
        below = middle - first
        self.lengths = sum(sizes[:below]), sum(sizes[below:])
        self.half = int(dist.get_rank() >= middle)
        mine = dist.get_rank() - first
        self.start = [*accumulate(sizes, initial=0)][mine] - self.half * self.lengths[0]

    def read(self, indices):
        """Keys of both halves by their place in the half; every rank of the group calls this with the same places.

        Parameters
        ----------
        indices : pair of numpy.ndarray of int, each of shape (k,)

        Returns
        -------
        a, b : numpy.ndarray of int64, shape (k,)
        """
        local = indices[self.half] - self.start
        places = np.flatnonzero((local >= 0) & (local < len(self.codes)))
        places, local = (torch.from_numpy(found).to(self.codes.device) for found in (places, local[places]))
        found = torch.zeros(2, len(indices[0]), dtype=torch.int64, device=self.codes.device)
        found[self.half, places] = self.codes[local].long()
        theirs = [torch.empty_like(found) for _ in self.others]
        finish(start([(found, rank) for rank in self.others], zip(theirs, self.others), self.dist))
        return (found + sum(theirs)).cpu().numpy()  # each key has one owner; all others brought zero


def search(halves):
    """The leftmost pivot, as `labs.multi_gpu_sort.pivot.find_pivot` defines it, on every rank of the group.

    Parameters
    ----------
    halves : Halves

    Returns
    -------
    int
    """
    length, (low, high) = halves.lengths[0], (0, min(halves.lengths))
    while low < high:
        tried = np.unique(np.linspace(low, high - 1, PROBES).astype(np.int64))
        a, b = halves.read((length - tried - 1, tried))
        enough = int(np.count_nonzero(a > b))  # a falls and b rises: first all too few, then all enough
        if enough < len(tried):
            high = int(tried[enough])
        if enough:
            low = int(tried[enough - 1]) + 1
    return low
