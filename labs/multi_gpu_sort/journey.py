"""The whole way of data that begins and ends in the CPU's memory: out to the devices, sorted there, and back."""

from __future__ import annotations

import numpy as np
import torch


class Members:
    """The first ranks of a world, as a world of their own: what a sort on the devices gets as `dist`.

    Parameters
    ----------
    world_size : int
        How many ranks take part; every rank of the whole world makes a `Members` at the same time.
    dist : virtual or real torch.distributed
    """

    def __init__(self, world_size, dist):
        self._size, self._dist = world_size, dist
        self._group = dist.new_group(list(range(world_size)))
        self.isend, self.irecv = dist.isend, dist.irecv  # ranks keep their numbers
        self.get_rank = dist.get_rank

    def get_world_size(self):
        return self._size

    def all_gather(self, tensors, tensor):
        self._dist.all_gather(tensors, tensor, group=self._group)

    def all_reduce(self, tensor):
        self._dist.all_reduce(tensor, group=self._group)

    def all_to_all_single(self, output, tensor, output_sizes=None, input_sizes=None):
        self._dist.all_to_all_single(output, tensor, output_sizes, input_sizes, group=self._group)


def through_the_devices(sort, keys, dist):
    """Rank program: the last rank, the CPU, deals its keys out; the others sort with `sort` and send them back.

    Parameters
    ----------
    sort : callable
        ``sort(keys, dist)`` on the devices, for instance `labs.multi_gpu_sort.merge_sort.merge_sort`.
    keys : numpy.ndarray, shape (n,)
        All keys, on every rank (only the CPU's are read).
    dist : virtual or real torch.distributed

    Returns
    -------
    numpy.ndarray or None
        All keys in order, on the CPU's rank.
    """
    host, rank = dist.get_world_size() - 1, dist.get_rank()
    devices = Members(host, dist)
    chunks = [slice(len(keys) * d // host, len(keys) * (d + 1) // host) for d in range(host)]
    if rank < host:
        mine = np.empty(chunks[rank].stop - chunks[rank].start, keys.dtype)
        dist.recv(torch.from_numpy(mine), src=host)
        dist.send(torch.from_numpy(sort(mine, devices).keys), dst=host)
        return None
    found = np.empty_like(keys)
    sends = [dist.isend(torch.from_numpy(keys[chunk].copy()), dst=d) for d, chunk in enumerate(chunks)]
    for handle in sends:
        handle.wait()
    receives = [dist.irecv(torch.from_numpy(found[chunk]), src=d) for d, chunk in enumerate(chunks)]
    for handle in receives:
        handle.wait()
    return found
