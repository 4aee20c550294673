"""The peer-to-peer merge sort in one process over several devices: kernels, peer copies, two buffers a device."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labs.kit.gpu import cuda
from labs.multi_gpu_sort.codes import decode, encode
from labs.multi_gpu_sort.kernels import merge, radix_sort
from labs.multi_gpu_sort.pivot import find_pivot
from labs.multi_gpu_sort.result import Move
from labs.multi_gpu_sort.swaps import plan_swap

HOLDS_ANSWERS = True


class PeerSorted(NamedTuple):
    """What the sort in one process leaves.

    Parameters
    ----------
    keys : numpy.ndarray, shape (n,)
    stages : list of (str, list of Move)
        Every copy from device to device.
    """

    keys: np.ndarray
    stages: list


def peer_merge_sort(keys, devices, *, descending=False, placement="mirrored"):
    """Sort on the first `devices` devices of this machine, real or virtual.

    Parameters
    ----------
    keys : numpy.ndarray, shape (n,)
        Of a dtype in `labs.multi_gpu_sort.codes.DTYPES`.
    devices : int
        1, 2, 4, 8, ...
    descending : bool
    placement : {"mirrored", "ordered"}

    Returns
    -------
    PeerSorted

    Raises
    ------
    ValueError
        When `devices` is no power of two, or when there are not so many.
    """
    if devices < 1 or devices & (devices - 1):
        raise ValueError(f"the merge sort needs 1, 2, 4, 8, ... devices, not {devices}; a radix partition takes any")
    if devices > len(cuda.gpus):
        raise ValueError(f"the merge sort was asked for {devices} devices, but there are {len(cuda.gpus)} here")
    codes, stages = encode(keys, descending), []
    bounds = [len(codes) * device // devices for device in range(devices + 1)]
    main, spare = [], []
    for device in range(devices):
        with cuda.gpus[device]:
            chunk = np.ascontiguousarray(codes[bounds[device] : bounds[device + 1]])
            buffers = cuda.to_device(chunk), cuda.device_array(chunk.shape, chunk.dtype)
            for role, buffer in zip((main, spare), radix_sort(*buffers)):
                role.append(buffer)
    _sort_halves(main, spare, 0, devices, placement, stages)
    parts = []
    for device in range(devices):
        with cuda.gpus[device]:
            parts.append(main[device].copy_to_host())
    return PeerSorted(decode(np.concatenate(parts), np.asarray(keys).dtype, descending), stages)


class _Half:
    """Sorted chunks on several devices as one sequence, of which single keys are read."""

    def __init__(self, chunks, first):
        self.chunks, self.first = chunks, first

    def __len__(self):
        return sum(chunk.size for chunk in self.chunks)

    def __getitem__(self, index):
        for number, chunk in enumerate(self.chunks):
            if index < chunk.size:
                with cuda.gpus[self.first + number]:
                    return chunk[index : index + 1].copy_to_host()[0]
            index -= chunk.size
        raise IndexError("beyond the last key of this half")


def _sort_halves(main, spare, first, end, placement, stages):
    if end - first < 2:
        return
    middle = (first + end) // 2
    for half in ((first, middle), (middle, end)):
        _sort_halves(main, spare, *half, placement, stages)
    pivot = find_pivot(_Half(main[first:middle], first), _Half(main[middle:end], middle))
    sizes = [chunk.size for chunk in main[first:end]]
    moves = [
        Move(move.source + first, move.target + first, move.start, move.count)
        for move in plan_swap(sizes, middle - first, pivot, placement)
    ]
    stages.append((f"devices {first} to {end - 1}", moves))
    _swap(main, spare, moves, middle)
    if pivot:
        for half in ((first, middle), (middle, end)):
            _sort_halves(main, spare, *half, placement, stages)


def _swap(main, spare, moves, middle):
    """Copy what was exchanged into the spare buffers, back beside what stayed, and merge both into the spare ones."""
    received = dict.fromkeys((move.target for move in moves), 0)
    for move in moves:
        place = received[move.target]
        with cuda.gpus[move.target]:
            given = main[move.source][move.start : move.start + move.count]
            spare[move.target][place : place + move.count].copy_to_device(given)
        received[move.target] += move.count
    for device, count in received.items():
        size = main[device].size
        gone = slice(size - count, size) if device < middle else slice(0, count)
        with cuda.gpus[device]:
            main[device][gone].copy_to_device(spare[device][:count])
            if count < size:
                cut = size - count if device < middle else count  # where one sorted run ends and the other begins
                merge[(size + 255) // 256, 64](main[device][:cut], main[device][cut:], spare[device])
                main[device], spare[device] = spare[device], main[device]
