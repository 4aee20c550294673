"""The rank programs that are measured, as a learner writes them against torch.distributed."""

import torch


def ring_all_reduce(tensor, dist):
    """Sum `tensor` over all ranks, in place: a reduce-scatter and an all-gather around the ring.

    The tensor is flat and its length a multiple of the world size, which keeps the program down to its messages.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % size, (rank - 1) % size
    chunks = tensor.view(size, -1).unbind()
    incoming = torch.empty_like(chunks[0])
    for step in range(size - 1):
        sending = dist.isend(chunks[(rank - step) % size], dst=right)
        dist.recv(incoming, src=left)
        sending.wait()
        chunks[(rank - step - 1) % size].add_(incoming)
    for step in range(size - 1):
        sending = dist.isend(chunks[(rank + 1 - step) % size], dst=right)
        dist.recv(chunks[(rank - step) % size], src=left)
        sending.wait()
    return tensor


def tree_all_reduce(tensor, dist):
    """Sum `tensor` over all ranks, in place: a binomial tree to rank 0, and back."""
    rank, size = dist.get_rank(), dist.get_world_size()
    incoming = torch.empty_like(tensor)
    distance = 1
    while distance < size and not rank & distance:
        if rank + distance < size:
            dist.recv(incoming, src=rank + distance)
            tensor += incoming
        distance *= 2
    if rank:
        dist.send(tensor, dst=rank - distance)
        dist.recv(tensor, src=rank - distance)
    while distance := distance // 2:
        if rank + distance < size:
            dist.send(tensor, dst=rank + distance)
    return tensor
