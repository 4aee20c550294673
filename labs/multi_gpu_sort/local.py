"""What one device does alone: sort its chunk, merge the sorted runs that it holds, group keys by where they go.

On a CPU NumPy does it (its sorts are faster than torch's there), on a GPU torch.
"""

from __future__ import annotations

import numpy as np
import torch

from labs.kit.virtual import work

DIGIT_BITS = 8


def sort_chunk(codes, values=None):
    """Sort a chunk with the library's sort, stably when values travel with it.

    Parameters
    ----------
    codes : torch.Tensor, shape (n,)
        int32 or int64; without values it may be sorted in place.
    values : torch.Tensor, shape (n,), optional

    Returns
    -------
    codes, values : torch.Tensor
        values is None without values.
    """
    # a radix sort reads and writes everything once for each digit of 8 bits, and reads once more to count
    declare(codes, values, passes=3 * codes.element_size(), label="sort")
    return _sort(codes, values, "quicksort" if values is None else "stable")


def merge_runs(codes, values=None):
    """Merge sorted runs that lie one behind the other; equal keys of earlier runs stay in front.

    Parameters
    ----------
    codes : torch.Tensor, shape (n,)
        Without values it may be changed in place.
    values : torch.Tensor, shape (n,), optional

    Returns
    -------
    codes, values : torch.Tensor
    """
    declare(codes, values, passes=2, label="merge")
    # NumPy's stable sort looks for sorted runs and merges them, which costs n steps for two runs, not n log n
    return _sort(codes, values, "stable")


def _sort(codes, values, kind):
    if not on_cpu(codes):
        codes, order = codes.sort(stable=kind == "stable")
        return codes, None if values is None else values[order]
    if values is None:
        codes.numpy().sort(kind=kind)
        return codes, None
    order = np.argsort(codes.numpy(), kind=kind)
    return torch.from_numpy(codes.numpy()[order]), torch.from_numpy(values.numpy()[order])


def group(codes, values, splitters):
    """Bring keys that go to the same rank together, those for rank 0 first.

    Parameters
    ----------
    codes : torch.Tensor, shape (n,)
        Without values it may be changed in place.
    values : torch.Tensor, shape (n,), or None
    splitters : list of labs.multi_gpu_sort.splitters.Splitter
        Between rank 0 and 1, 1 and 2, and so on.

    Returns
    -------
    codes, values : torch.Tensor
    counts : list of int
        How many go to each rank.
    """
    declare(codes, values, passes=4, label="partition")  # count, read, write; the digits share one pass in the paper
    if values is None and on_cpu(codes):
        cuts = [np.count_nonzero(codes.numpy() < code) + ties_below for code, ties_below in splitters]
        if inside := [cut for cut in cuts if 0 < cut < len(codes)]:
            codes.numpy().partition(inside)  # equal keys may change places, and without values nobody can tell
        return codes, None, np.diff([0, *cuts, len(codes)]).tolist()
    targets = destinations(codes, splitters)
    counts = torch.bincount(targets, minlength=len(splitters) + 1).tolist()
    if on_cpu(codes):  # NumPy's stable sort of small integers is a radix sort: one pass
        order = torch.from_numpy(np.argsort(targets.numpy(), kind="stable"))
        return codes[order], torch.from_numpy(values.numpy()[order.numpy()]), counts
    order = targets.sort(stable=True).indices
    return codes[order], None if values is None else values[order], counts


def destinations(codes, splitters):
    """The rank of each code.

    Parameters
    ----------
    codes : torch.Tensor, shape (n,)
    splitters : list of labs.multi_gpu_sort.splitters.Splitter

    Returns
    -------
    torch.Tensor of int16, shape (n,)
    """
    targets = torch.zeros(len(codes), dtype=torch.int16, device=codes.device)
    for code, ties_below in splitters:
        targets += codes > code
        targets[torch.nonzero(codes == code)[ties_below:, 0]] += 1
    return targets


def digits(codes, shift):
    """Eight bits of each code as if it had no sign, for codes in the order of bytes that CPUs and GPUs have today.

    Parameters
    ----------
    codes : torch.Tensor, shape (n,)
    shift : int
        The lowest of the bits: 0, 8, 16, ...

    Returns
    -------
    torch.Tensor of uint8, shape (n,)
    """
    if not len(codes):  # an empty tensor may have strides with which it has no bytes to look at
        return codes.to(torch.uint8)
    width = codes.element_size()
    found = codes.view(torch.uint8)[shift // DIGIT_BITS :: width]
    return found ^ 128 if shift // DIGIT_BITS == width - 1 else found


def on_cpu(tensor):
    """Whether NumPy can work on this tensor's memory."""
    return tensor.device.type == "cpu"


def declare(codes, values, passes, label):
    """Tell the virtual clock what a device would need: memory traffic bounds sorting."""
    nbytes = codes.nbytes + (0 if values is None else values.nbytes)
    if nbytes:
        work(bytes=passes * nbytes, label=label)
