"""At the border of a sort: NumPy arrays become tensors and back, and a GPU's network gets only tensors on GPUs."""

from __future__ import annotations

import numpy as np
import torch


def as_tensor(array, dist, what="keys"):
    """The same data as a tensor that `dist` can send.

    Parameters
    ----------
    array : numpy.ndarray, torch.Tensor or None
    dist : virtual or real torch.distributed
    what : str
        How an error calls it.

    Returns
    -------
    torch.Tensor or None
        On the memory of the array, where that is possible.

    Raises
    ------
    TypeError
        On NCCL, for data in the CPU's memory.
    """
    if array is None:
        return None
    given, tensor = type(array).__name__, array
    if not isinstance(array, torch.Tensor):
        tensor = torch.from_numpy(np.ascontiguousarray(array))
    if tensor.device.type == "cpu" and over_nccl(dist):
        raise TypeError(
            f"NCCL connects GPUs, and the {what} of rank {dist.get_rank()} are a {given} in the CPU's memory. Pass "
            'torch tensors: run(..., on="nccl") puts each rank\'s on its GPU'
        )
    return tensor


def like(tensor, array):
    """`tensor` as what `array` is: a NumPy array, or a tensor."""
    return tensor if tensor is None or isinstance(array, torch.Tensor) else tensor.numpy()


def over_nccl(dist):
    """Whether messages go from GPU to GPU; virtual ranks and gloo have no such limit."""
    backend = getattr(dist, "get_backend", None)
    return backend is not None and backend() == "nccl"
