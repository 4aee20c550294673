"""Messages that programs on ranks need again and again: several at a time, a trade, parts for everybody."""

from __future__ import annotations

import torch

from labs.multi_gpu_sort.tensors import over_nccl


def start(sends, receives, dist):
    """Start messages in both directions together.

    NCCL carries two ranks' messages to each other only so: a send on its own occupies the wire until the other rank
    receives, and the other rank's send does the same.

    Parameters
    ----------
    sends, receives : iterable of (torch.Tensor, int)
        Tensors, contiguous, with the rank to which or from which they go.
    dist : virtual or real torch.distributed

    Returns
    -------
    list of handles
        Call ``wait()`` on each before the tensors are used again.
    """
    if not over_nccl(dist):  # one by one, so that a report of a failure names the line of the program that called this
        handles = [dist.isend(tensor, dst=peer) for tensor, peer in sends]
        return handles + [dist.irecv(tensor, src=peer) for tensor, peer in receives]
    messages = [dist.P2POp(dist.isend, tensor, peer) for tensor, peer in sends]
    messages += [dist.P2POp(dist.irecv, tensor, peer) for tensor, peer in receives]
    return dist.batch_isend_irecv(messages) if messages else []


def finish(handles):
    """Wait for messages that `start` has started."""
    for handle in handles:
        handle.wait()


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
    received = torch.empty_like(tensor, memory_format=torch.contiguous_format)
    finish(start([(tensor.contiguous(), other)], [(received, other)], dist))
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
    received = tensor.new_empty(int(incoming.sum()))
    dist.all_to_all_single(received, tensor, incoming.tolist(), counts.tolist())
    return received
