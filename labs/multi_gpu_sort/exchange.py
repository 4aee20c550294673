"""Two small exchanges of tensors that programs on ranks need again and again."""

from __future__ import annotations

import torch


def trade(tensor, other, dist):
    """Give a tensor to another rank and get one of the same shape and dtype from it, at the same time.

    Parameters
    ----------
    tensor : torch.Tensor
    other : int
        The partner's rank; it calls this too.
    dist : virtual or real torch.distributed

    Returns
    -------
    torch.Tensor
        A new one.
    """
    received = torch.empty_like(tensor)
    handle = dist.isend(tensor.contiguous(), dst=other)
    dist.recv(received, src=other)
    handle.wait()
    return received


def exchange_parts(tensor, counts, dist):
    """All-to-all of consecutive parts: the first ``counts[0]`` entries go to rank 0, the next to rank 1, and so on.

    Parameters
    ----------
    tensor : torch.Tensor, shape (n,)
    counts : torch.Tensor of int64, shape (world_size,)
        They add up to n.
    dist : virtual or real torch.distributed
        First the numbers of keys are exchanged, then the keys.

    Returns
    -------
    torch.Tensor
        The parts meant for this rank, in order of the ranks that sent them.
    """
    incoming = torch.empty_like(counts)
    dist.all_to_all_single(incoming, counts)
    received = torch.empty(int(incoming.sum()), dtype=tensor.dtype)
    dist.all_to_all_single(received, tensor, incoming.tolist(), counts.tolist())
    return received
