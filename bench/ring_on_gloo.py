"""The learner's ring in Python against gloo's own all-reduce, on real processes."""

from __future__ import annotations

import time

from bench.measure import Row, Series
from labs.kit import ranks

NAME = "ring-on-gloo"
TITLE = "The learner's ring on gloo's send and recv, against gloo's all_reduce"
NOTES = (
    "Seconds by the clock of the slowest rank, from a barrier on. Both in the same processes by turns, after two",
    "unmeasured turns. All ranks share this machine's memory, so both are bound by copying: no network is measured.",
)


def take_turns(numel: int, runs: int, dist) -> list[list[float]]:
    """Time both by turns on one rank: seconds of each ring, seconds of each all_reduce."""
    import torch

    from bench.programs import ring_all_reduce

    rank, size = dist.get_rank(), dist.get_world_size()
    contenders = (lambda tensor: ring_all_reduce(tensor, dist), dist.all_reduce)
    taken: list[list[float]] = [[], []]
    for turn in range(-2, runs):
        for which in (0, 1) if turn % 2 == 0 else (1, 0):
            tensor = torch.full((numel,), float(rank))
            dist.barrier()
            start = time.perf_counter()
            contenders[which](tensor)
            seconds = time.perf_counter() - start
            if not (tensor == size * (size - 1) / 2).all():
                raise AssertionError("a wrong sum, so the times mean nothing")
            if turn >= 0:
                taken[which].append(seconds)
    return taken


def rows(quick: bool) -> list[Row]:
    """Measure 1, 16 and 64 MB on 4 ranks, or 1 MB on 2 ranks when `quick`."""
    size, plan = (2, [(1, 3)]) if quick else (4, [(1, 21), (16, 11), (64, 7)])
    lines = []
    for megabytes, runs in plan:
        numel = megabytes * 1_000_000 // 4
        run = ranks.run(take_turns, size, (numel, runs), on="gloo", check=False, timeout=300.0)
        ring, library = (Series(tuple(map(max, zip(*(times[which] for times in run.results))))) for which in (0, 1))
        lines.append(Row(f"{size} ranks, {megabytes} MB of float32", ring, "s", "gloo all_reduce", library))
    return lines
