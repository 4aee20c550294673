"""The times of a schedule's actions, and what follows from them: bubble, idle time, live activations over time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from labs.pipeline_parallel.actions import Action
from labs.pipeline_parallel.compact import NOTHING, Compact


class Span(NamedTuple):
    """An action with its time."""

    rank: int
    position: int
    action: Action
    start: float
    end: float


@dataclass(frozen=True, eq=False)
class Timeline:
    """When each action of a schedule runs.

    Parameters
    ----------
    plan : Compact
    starts, ends : numpy.ndarray
        (positions, ranks), in the unit of the durations; NaN where nothing ran.
    """

    plan: Compact
    starts: np.ndarray
    ends: np.ndarray

    @property
    def spans(self) -> list[Span]:
        """All actions that ran, by rank and position."""
        found = []
        for rank in range(self.plan.shape[1]):
            for position in np.flatnonzero(~np.isnan(self.ends[:, rank])):
                times = float(self.starts[position, rank]), float(self.ends[position, rank])
                found.append(Span(rank, int(position), self.plan.action(position, rank), *times))
        return found

    @property
    def stuck(self) -> dict[int, int]:
        """By rank, the position at which it waits for ever; empty when the schedule runs to its end."""
        done = (~np.isnan(self.ends)).sum(axis=0)
        return {rank: int(done[rank]) for rank in np.flatnonzero(done < self.plan.counts).tolist()}

    @cached_property
    def makespan(self) -> float:
        """From the first start to the last end."""
        return float(np.nanmax(self.ends, initial=0.0))

    @cached_property
    def busy(self) -> tuple[float, ...]:
        """How long each rank computes."""
        return tuple(np.nansum(self.ends - self.starts, axis=0).tolist())

    @property
    def idle(self) -> tuple[float, ...]:
        """How long each rank stands still: the bubble's time."""
        return tuple(self.makespan - busy for busy in self.busy)

    @property
    def gaps(self) -> tuple[float, ...]:
        """How long each rank stands still between its own first start and last end: 0 for all is a "zero bubble"."""
        last = np.nan_to_num(self.ends, nan=-np.inf).max(axis=0, initial=-np.inf)
        first = np.nan_to_num(self.starts, nan=np.inf).min(axis=0, initial=np.inf)
        return tuple(np.where(last >= first, last - first - np.array(self.busy), 0.0).tolist())

    @property
    def share(self) -> float:
        """The bubble's share of the step: idle time of all ranks over (ranks times makespan)."""
        whole = self.makespan * len(self.busy)
        return sum(self.idle) / whole if whole else 0.0

    @property
    def over_useful(self) -> float:
        """The bubble against the useful time, as Megatron-LM counts it: idle over busy, all ranks together."""
        busy = sum(self.busy)
        return sum(self.idle) / busy if busy else 0.0

    @property
    def peaks(self) -> tuple[int, ...]:
        """The most micro-batches whose activations each rank ever holds."""
        ran = np.where(np.isnan(self.ends), 0, self.plan.change())
        return tuple(np.cumsum(ran, axis=0, dtype=np.int32).max(axis=0, initial=0).tolist())

    def live(self, rank: int) -> list[tuple[float, int]]:
        """(time, micro-batches held from then on) of a rank.

        A forward counts from its start; a backward lets go at its end.
        """
        held, found = 0, [(0.0, 0)]
        kinds, change = self.plan.kinds[:, rank], self.plan.change()[:, rank]
        for position in np.flatnonzero((kinds != NOTHING) & (change != 0)):
            time = self.starts[position, rank] if change[position] > 0 else self.ends[position, rank]
            if np.isnan(time):
                break
            held += int(change[position])
            found.append((float(time), held))
        return found
