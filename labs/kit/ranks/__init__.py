"""Run a rank program on virtual ranks or on real processes: one call, and failures that name rank and line."""

from labs.kit.ranks.run import run
from labs.kit.ranks.summary import outcome
from labs.kit.ranks.warm import cool, warm
from labs.kit.virtual import Event, Run, work
from labs.kit.virtual.failures import (
    Deadlock,
    Mismatch,
    Misuse,
    RankDied,
    RankFailed,
    RunFailure,
    TimedOut,
    Unreceived,
    Waiting,
)
from labs.kit.virtual.places import Place

__all__ = [
    "Deadlock",
    "Event",
    "Mismatch",
    "Misuse",
    "Place",
    "RankDied",
    "RankFailed",
    "Run",
    "RunFailure",
    "TimedOut",
    "Unreceived",
    "Waiting",
    "cool",
    "outcome",
    "run",
    "warm",
    "work",
]
