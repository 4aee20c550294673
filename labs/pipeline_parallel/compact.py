"""A schedule as arrays: eight million actions take 40 MB so, and NumPy can go through them many ranks at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from labs.pipeline_parallel.actions import Action

LETTERS = "FBIW"
NOTHING = -1


@dataclass(frozen=True, eq=False)
class Compact:
    """Actions by position and rank; ranks with fewer actions are filled up with `NOTHING`.

    Parameters
    ----------
    kinds : numpy.ndarray
        (positions, ranks), int8: index into `LETTERS`.
    stages : numpy.ndarray
        (positions, ranks), int16.
    micro_batches : numpy.ndarray
        (positions, ranks), int32.
    """

    kinds: np.ndarray
    stages: np.ndarray
    micro_batches: np.ndarray

    @classmethod
    def of(cls, ranks: Iterable[Iterable[Action]]) -> Compact:
        """Read a schedule rank by rank; generators will do, so that it need not exist as tuples."""
        rows = []
        for actions in ranks:
            flat = [(LETTERS.index(kind), stage, micro_batch) for kind, stage, micro_batch in actions]
            rows.append(np.array(flat, dtype=np.int32).reshape(-1, 3))
        longest = max(map(len, rows), default=0)
        table = np.full((3, longest, len(rows)), NOTHING, dtype=np.int32)
        for rank, row in enumerate(rows):
            table[:, : len(row), rank] = row.T
        return cls(table[0].astype(np.int8), table[1].astype(np.int16), table[2])

    @property
    def shape(self) -> tuple[int, int]:
        """(positions, ranks)."""
        return self.kinds.shape

    @property
    def counts(self) -> np.ndarray:
        """Actions of each rank."""
        return (self.kinds != NOTHING).sum(axis=0)

    def action(self, position: int, rank: int) -> Action:
        """One entry as an `Action`."""
        at = position, rank
        return Action(LETTERS[self.kinds[at]], int(self.stages[at]), int(self.micro_batches[at]))

    def change(self) -> np.ndarray:
        """(positions, ranks), int8: by how much each action changes the number of live activations."""
        return np.array([1, -1, 0, -1, 0], dtype=np.int8)[self.kinds]  # F, B, I, W; the last is NOTHING's
