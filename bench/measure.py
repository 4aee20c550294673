"""Taking times so that two things can be compared, and putting them into a few honest numbers."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Series:
    """Measurements of one thing, in the order in which they were taken.

    Parameters
    ----------
    values : tuple of float
        At least one.
    """

    values: tuple[float, ...]

    def __post_init__(self):
        if not self.values:
            raise ValueError("a series needs at least one measurement")

    @property
    def low(self) -> float:
        """The smallest."""
        return min(self.values)

    @property
    def median(self) -> float:
        """The middle one: what to compare, since it ignores a single disturbed run."""
        return statistics.median(self.values)

    @property
    def high(self) -> float:
        """The largest."""
        return max(self.values)

    @property
    def spread(self) -> float:
        """(largest - smallest) / median: how far single runs lie apart."""
        return (self.high - self.low) / self.median if self.median else 0.0

    def as_data(self) -> dict:
        """For the JSON file: the summary, and every run behind it."""
        return {
            "min": self.low,
            "median": self.median,
            "max": self.high,
            "spread": self.spread,
            "runs": list(self.values),
        }


@dataclass(frozen=True)
class Row:
    """One line of a table: a thing of ours, and the peer beside which it was measured.

    Parameters
    ----------
    what : str
        What was done.
    ours : Series
        How much of `unit` ours took.
    unit : str
        "s CPU", "s" (wall clock) or "MB".
    peer : str, optional
        What it is compared with; None where there is only a limit.
    theirs : Series, optional
        How much the peer took, run by run beside ours: as many as `ours`.
    aim : float, optional
        With a peer: ours should be this many times faster. Without: `ours` should stay below.
    """

    what: str
    ours: Series
    unit: str
    peer: str | None = None
    theirs: Series | None = None
    aim: float | None = None

    @property
    def ratio(self) -> Series | None:
        """Peer over ours, of each pair of runs: above 1, ours is faster by so much."""
        if self.theirs is None:
            return None
        return Series(tuple(b / a for a, b in zip(self.ours.values, self.theirs.values, strict=True)))

    @property
    def aim_met(self) -> bool | None:
        """Whether the median reaches the aim; None without an aim."""
        if self.aim is None:
            return None
        return self.ratio.median >= self.aim if self.ratio else self.ours.median <= self.aim

    def as_data(self) -> dict:
        """For the JSON file."""
        return {
            "what": self.what,
            "unit": self.unit,
            "ours": self.ours.as_data(),
            "peer": self.peer,
            "theirs": self.theirs and self.theirs.as_data(),
            "ratio": self.ratio and self.ratio.as_data(),
            "aim": self.aim,
            "aim_met": self.aim_met,
        }


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU seconds of this process (all threads, user and system) for one call, with garbage collected before."""
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start


def wall_seconds(work: Callable[[], object]) -> float:
    """Seconds by the clock for one call, with garbage collected before."""
    gc.collect()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def alternate(
    contenders: Sequence[Callable[[], object]],
    runs: int,
    clock: Callable[[Callable[[], object]], float],
    warm_up: bool = True,
) -> list[Series]:
    """Measure several things by turns, so that a change of the machine's load meets all of them.

    Parameters
    ----------
    contenders : sequence of callable
        What to measure.
    runs : int
        Measurements of each, from 1.
    clock : callable
        `cpu_seconds` or `wall_seconds`.
    warm_up : bool
        Whether each runs once before, unmeasured.

    Returns
    -------
    list of Series
        One for each contender. Every other turn goes backwards (A B, B A, A B, ...), which cancels a steady drift.
    """
    for contender in contenders if warm_up else ():
        contender()
    taken: list[list[float]] = [[] for _ in contenders]
    for turn in range(runs):
        order = range(len(contenders)) if turn % 2 == 0 else reversed(range(len(contenders)))
        for i in order:
            taken[i].append(clock(contenders[i]))
    return [Series(tuple(values)) for values in taken]
