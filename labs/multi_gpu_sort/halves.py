"""Read single keys of a sorted half that lies on several ranks: what a pivot search over ranks needs."""

from __future__ import annotations

from itertools import accumulate

import torch

HOLDS_ANSWERS = True


class SharedProbe:
    """Two sorted halves over the ranks of a group, where one key of each can be read by all ranks at once.

    Parameters
    ----------
    codes : numpy.ndarray
        This rank's chunk.
    sizes : sequence of int
        Keys of each rank of the group.
    first, middle : int
        The group's first rank, and the first one of its upper half.
    dist : virtual or real torch.distributed
    """

    def __init__(self, codes, sizes, first, middle, dist):
        self.codes, self.dist = codes, dist
        self.ranks = range(first, first + len(sizes))
        half = middle - first
        self.starts = [*accumulate(sizes[:half], initial=0)][:-1], [*accumulate(sizes[half:], initial=0)][:-1]
        self.lengths = sum(sizes[:half]), sum(sizes[half:])
        self.owners = self.ranks[:half], self.ranks[half:]

    def read(self, index_a, index_b):
        """Key `index_a` of the lower half and key `index_b` of the upper one, on every rank of the group.

        Every rank of the group calls this with the same arguments.

        Returns
        -------
        a, b : int
        """
        return tuple(work() for work in [self._share(0, index_a), self._share(1, index_b)])

    def _share(self, half, index):
        owner, start = max((rank, start) for rank, start in zip(self.owners[half], self.starts[half]) if start <= index)
        rank = self.dist.get_rank()
        if rank == owner:
            key = torch.tensor([int(self.codes[index - start])])
            sends = [self.dist.isend(key, dst=other) for other in self.ranks if other != rank]
            return lambda: ([send.wait() for send in sends], int(key))[1]
        key = torch.empty(1, dtype=torch.int64)
        receive = self.dist.irecv(key, src=owner)
        return lambda: (receive.wait(), int(key))[1]


def search(probe):
    """The leftmost pivot of the two halves; every rank of the group takes part and gets it.

    Parameters
    ----------
    probe : SharedProbe

    Returns
    -------
    int
    """
    length, (low, high) = probe.lengths[0], (0, min(probe.lengths))
    while low < high:
        middle = (low + high) // 2
        a, b = probe.read(length - middle - 1, middle)
        if a <= b:
            high = middle
        else:
            low = middle + 1
    return low
