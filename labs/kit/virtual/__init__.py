"""The virtual torch.distributed: ranks are greenlets in one process, with one virtual clock on modelled hardware.

from labs.kit.virtual import simulate, work

def program(tensor, dist):
    work(seconds=1e-3)
    dist.all_reduce(tensor)
    return tensor

run = simulate(program, 4, (torch.ones(3),))
run.results, run.time, run.trace
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labs.kit.virtual.computing import work
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
    from labs.kit.virtual.record import Event
    from labs.kit.virtual.run import ReusedBuffer, Run, simulate

# Loaded at first use: the virtual CUDA device next door needs neither torch nor greenlet, which the ranks need.
_HOMES = {
    "Event": "record",
    "Place": "places",
    "ReusedBuffer": "run",
    "Run": "run",
    "simulate": "run",
    "work": "computing",
}

__all__ = [
    "Deadlock",
    "Event",
    "Mismatch",
    "Misuse",
    "Place",
    "RankDied",
    "RankFailed",
    "ReusedBuffer",
    "Run",
    "RunFailure",
    "TimedOut",
    "Unreceived",
    "Waiting",
    "simulate",
    "work",
]


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES.get(name, 'failures')}"), name)


def __dir__():
    return sorted(__all__)
