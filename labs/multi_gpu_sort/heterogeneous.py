"""The heterogeneous sort: the devices sort chunks, and the CPU, which holds the data, merges them all."""

from __future__ import annotations

import torch

from labs.multi_gpu_sort.codes import decode, encode
from labs.multi_gpu_sort.exchange import finish
from labs.multi_gpu_sort.local import merge_runs, sort_chunk
from labs.multi_gpu_sort.result import Move, Sorted
from labs.multi_gpu_sort.tensors import as_tensor, like, over_nccl

HOLDS_ANSWERS = True


def heterogeneous_sort(keys, dist, values=None, *, descending=False):
    """Rank program: the last rank is the CPU; it deals the keys out, and merges what the others have sorted.

    Any number of devices will do. Equal keys keep their order.

    Parameters
    ----------
    keys : numpy.ndarray or torch.Tensor, shape (n,)
        All keys, on the last rank; on the others only the dtype counts.
    dist : virtual or real torch.distributed
    values : numpy.ndarray or torch.Tensor, shape (n,), optional
        Travel with the keys; on the other ranks only the dtype counts.
    descending : bool

    Returns
    -------
    Sorted
        With all keys on the last rank, with none on the others.
    """
    host = dist.get_world_size() - 1
    if host == 0:
        raise ValueError("the heterogeneous sort needs the CPU's rank and at least one device's, so two ranks or more")
    if over_nccl(dist):
        raise ValueError(
            "in the heterogeneous sort one rank is the CPU, and NCCL connects only GPUs: "
            'run it on="gloo", or sort with radix_partition'
        )
    tensor = as_tensor(keys, dist)
    length = torch.tensor([len(tensor)])
    dist.broadcast(length, src=host)
    bounds = [int(length) * device // host for device in range(host + 1)]
    role = _host if dist.get_rank() == host else _device
    codes, travelling, stages = role(encode(tensor, descending), as_tensor(values, dist), bounds, dist)
    return Sorted(like(decode(codes, tensor.dtype, descending), keys), like(travelling, values), stages)


def _host(codes, values, bounds, dist):
    """Send chunk after chunk, get each back sorted, merge."""
    rank, devices = dist.get_rank(), range(len(bounds) - 1)
    arrays = [codes] if values is None else [codes, values]
    results = [torch.empty_like(array) for array in arrays]
    chunks = [slice(bounds[device], bounds[device + 1]) for device in devices]
    handles = [dist.isend(array[chunks[device]], dst=device) for device in devices for array in arrays]
    handles += [dist.irecv(result[chunks[device]], src=device) for device in devices for result in results]
    finish(handles)
    codes, values = merge_runs(*results)
    moves = tuple(Move(rank, device, bounds[device], bounds[device + 1] - bounds[device]) for device in devices)
    return codes, values, (("to the devices", moves),)


def _device(codes, values, bounds, dist):
    """Sort one chunk for the CPU."""
    rank, host = dist.get_rank(), dist.get_world_size() - 1
    count = bounds[rank + 1] - bounds[rank]
    arrays = [array.new_empty(count) for array in (codes, values) if array is not None]
    for array in arrays:
        dist.recv(array, src=host)
    for array in sort_chunk(*arrays):
        if array is not None:
            dist.send(array, dst=host)
    return codes[:0], None if values is None else values[:0], (("to the CPU", (Move(rank, host, 0, count),)),)
