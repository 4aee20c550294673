"""The virtual torch.distributed: ranks are greenlets in one process, with one virtual clock on modelled hardware.

from labs.kit.virtual import simulate, work

def program(tensor, dist):
    work(seconds=1e-3)
    dist.all_reduce(tensor)
    return tensor

run = simulate(program, 4, (torch.ones(3),))
run.results, run.time, run.trace
"""

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
