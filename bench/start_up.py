"""Starting real ranks: `labs.kit.ranks.run` against `torch.multiprocessing.spawn`."""

from __future__ import annotations

import socket

from bench.measure import Row, Series, alternate, wall_seconds
from bench.spawned import main, sum_of_ranks
from labs.kit import ranks

NAME = "start-up"
TITLE = "Starting real ranks from a warm server, against torch.multiprocessing.spawn of a module function"
NOTES = (
    "Seconds by the clock from the call until every rank has joined gloo, summed one number with the others, given",
    "back the sum and ended. The first call of run, which starts the server, is shown apart.",
)


def rows(quick: bool) -> list[Row]:
    """Measure: 4 ranks five times, or 2 ranks once when `quick`."""
    import torch.multiprocessing as mp

    size, runs = (2, 1) if quick else (4, 5)
    right = [size * (size - 1) / 2] * size

    def ours():
        if list(ranks.run(sum_of_ranks, size, on="gloo", check=False).results) != right:
            raise AssertionError("run gave a wrong sum, so the times mean nothing")

    def theirs():
        answers = mp.get_context("spawn").SimpleQueue()
        mp.spawn(main, args=(size, free_port(), answers), nprocs=size)
        if [answers.get() for _ in range(size)] != right:
            raise AssertionError("spawn gave a wrong sum, so the times mean nothing")

    ranks.cool()  # another figure may have started the server already
    first = wall_seconds(ours)
    warm, spawn = alternate([ours, theirs], runs, wall_seconds, warm_up=False)
    return [
        Row(f"{size} ranks, warm", warm, "s", "mp.spawn", spawn, aim=None if quick else 5.0),
        Row(f"{size} ranks, first call", Series((first,)), "s", "mp.spawn", Series((spawn.median,))),
    ]


def free_port() -> int:
    """A port that nobody uses at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
