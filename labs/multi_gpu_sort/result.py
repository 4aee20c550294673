"""What a sort leaves on a rank: its part of the sorted whole, and a record of every key that moved."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch


class Move(NamedTuple):
    """Keys that one device sends to another.

    Parameters
    ----------
    source, target : int
        Devices.
    start, count : int
        The keys ``[start, start + count)`` of the source's chunk.
    """

    source: int
    target: int
    start: int
    count: int


class Sorted(NamedTuple):
    """What a sort leaves on one rank.

    Parameters
    ----------
    keys : numpy.ndarray or torch.Tensor
        This rank's part of the sorted whole.
    values : numpy.ndarray, torch.Tensor or None
        In the order of their keys.
    stages : tuple of (str, tuple of Move)
        What this rank sent away at each stage.
    """

    keys: np.ndarray | torch.Tensor
    values: np.ndarray | torch.Tensor | None
    stages: tuple

    @property
    def moved(self):
        """Number of keys that this rank sent to others, all stages together."""
        return sum(move.count for _, moves in self.stages for move in moves)
