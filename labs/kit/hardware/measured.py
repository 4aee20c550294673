"""The reference machine: what was measured on a real pair of GPUs, shipped with the course.

Learners without GPUs compare their models with it; those with a pair of their own compare their measurements.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

import numpy as np


@dataclass(frozen=True, eq=False)
class Pairwise:
    """One matrix measured twice: with peer access off (copies go through the host) and on (copies cross NVLink).

    Parameters
    ----------
    off, on : np.ndarray
        float64 (devices, devices), read-only; row = source, column = destination.
    """

    off: np.ndarray
    on: np.ndarray

    def peer(self, access: bool) -> np.ndarray:
        """The matrix with peer access on (True) or off (False)."""
        return self.on if access else self.off


@dataclass(frozen=True, eq=False)
class ReferenceMachine:
    """Measurements of two RTX A5000 with an NVLink bridge, in SI units: seconds, bytes, bytes per second.

    Parameters
    ----------
    name, source : str
        The machine, and the tools whose output this is.
    nvlinks : int
        NVLinks between the two devices.
    nvlink_bandwidth : float
        B/s of one NVLink in one direction, on paper.
    unidirectional : Pairwise
        B/s of copies in one direction at a time.
    bidirectional : Pairwise
        B/s of copies in both directions at once, **both directions summed**.
    gpu_latency, cpu_latency : Pairwise
        Seconds for the smallest copy, measured on the GPU and on the CPU.
    stream_times : dict of str to tuple of float
        Seconds for "copy_to", "kernel" and "copy_back" on each device, each in its own stream.
    relations : tuple of tuple of str
        The matrix that ``nvidia-smi topo -m`` prints.

    Notes
    -----
    **The diagonal is something else.** The tool copies a buffer to another place on the *same* device there and counts
    the bytes read plus the bytes written, so a diagonal cell is memory bandwidth and twice the speed of that copy.
    Never average it with the rest, nor compare it with a link.

    **One cell is a cold start.** The first cell of the first matrix, 439.52 GB/s, was measured before clocks and
    caches were warm; the other cells of its kind are 673 to 681. Warm up, measure several times, take the median.
    """

    name: str
    source: str
    nvlinks: int
    nvlink_bandwidth: float
    unidirectional: Pairwise
    bidirectional: Pairwise
    gpu_latency: Pairwise
    cpu_latency: Pairwise
    stream_times: dict[str, tuple[float, ...]]
    relations: tuple[tuple[str, ...], ...]

    @property
    def cold_start(self) -> float:
        """B/s of the cell that was measured cold: from device 0 to itself, one direction, peer access off."""
        return float(self.unidirectional.off[0, 0])

    @property
    def nvlink_peak(self) -> float:
        """B/s of all NVLinks together in one direction, on paper."""
        return self.nvlinks * self.nvlink_bandwidth

    def one_way(self, peer_access: bool) -> np.ndarray:
        """B/s between different devices, one direction at a time: float64 (2, 2) with NaN on the diagonal."""
        matrix = self.unidirectional.peer(peer_access).copy()
        np.fill_diagonal(matrix, np.nan)
        return matrix

    def both_ways(self, peer_access: bool) -> float:
        """B/s between different devices, both directions at once and summed: the median of the cells."""
        return _off_diagonal_median(self.bidirectional.peer(peer_access))

    def latency(self, peer_access: bool) -> float:
        """Seconds between different devices, measured on the GPU: the median of the cells."""
        return _off_diagonal_median(self.gpu_latency.peer(peer_access))

    def memory_bandwidth(self) -> float:
        """B/s of a device's own memory, reading plus writing: the median of the diagonals without the cold start."""
        matrices = (self.unidirectional.off, self.unidirectional.on, self.bidirectional.off, self.bidirectional.on)
        cells = np.concatenate([np.diagonal(matrix) for matrix in matrices])[1:]  # the first one is the cold start
        return float(np.median(cells))


@lru_cache(maxsize=1)
def reference_machine() -> ReferenceMachine:
    """The reference machine's measurements, read from the file that comes with the course.

    Examples
    --------
    >>> machine = reference_machine()
    >>> round(machine.both_ways(peer_access=True) / 1e9, 1)
    101.7
    """
    text = resources.files("labs.kit.hardware").joinpath("a5000_pair.json").read_text(encoding="utf-8")
    data = json.loads(text)
    streams = {name: tuple(1e-3 * ms for ms in times) for name, times in data["per_device_stream_ms"].items()}
    return ReferenceMachine(
        name=data["name"],
        source=data["source"],
        nvlinks=data["nvlink"]["links"],
        nvlink_bandwidth=1e9 * data["nvlink"]["per_link_per_direction_GBps"],
        unidirectional=_pairwise(data["unidirectional_GBps"], 1e9),
        bidirectional=_pairwise(data["bidirectional_GBps"], 1e9),
        gpu_latency=_pairwise(data["gpu_latency_us"], 1e-6),
        cpu_latency=_pairwise(data["cpu_latency_us"], 1e-6),
        stream_times=streams,
        relations=tuple(map(tuple, data["topology"])),
    )


def _pairwise(cells: dict, unit: float) -> Pairwise:
    matrices = []
    for key in ("peer_off", "peer_on"):
        matrix = unit * np.array(cells[key], dtype=np.float64)
        matrix.setflags(write=False)
        matrices.append(matrix)
    return Pairwise(*matrices)


def _off_diagonal_median(matrix: np.ndarray) -> float:
    return float(np.median(matrix[~np.eye(len(matrix), dtype=bool)]))
