"""A step of the learner's DDP in Python against one of PyTorch's, on real processes."""

from __future__ import annotations

import time

from bench.measure import Row, Series
from labs.kit import ranks

NAME = "ddp-step"
TITLE = "A step of the learner's DDP, against one of PyTorch's DistributedDataParallel"
NOTES = (
    "Forward, backward and SGD by the clock of the slowest rank, from a barrier on; buckets of 1 MB, 64 samples each.",
    "By turns in the same processes, after three unmeasured (PyTorch rearranges its buckets after the first).",
    "Gradients are compared after each turn. The aim: at most 1.2 times PyTorch's time.",
)
AIM = 0.83  # times faster; 1 / 1.2


def take_turns(width: int, layers: int, runs: int, dist) -> list[list[float]]:
    """Time both by turns on one rank: seconds of each step of ours, of each of PyTorch's."""
    import copy

    import torch

    from bench.programs import DDP

    class Theirs(torch.nn.parallel.DistributedDataParallel):
        def backward(self, loss):
            loss.backward()

    torch.manual_seed(0)
    model = torch.nn.Sequential(
        *(part for _ in range(layers) for part in (torch.nn.Linear(width, width), torch.nn.ReLU()))
    )
    wrapped = DDP(model, dist, 1_000_000), Theirs(copy.deepcopy(model), bucket_cap_mb=1)
    optimisers = [torch.optim.SGD(each.module.parameters(), lr=1e-3) for each in wrapped]
    batch = torch.randn(64, width, generator=torch.Generator().manual_seed(dist.get_rank()))
    taken: list[list[float]] = [[], []]
    for turn in range(-3, runs):
        for which in (0, 1) if turn % 2 == 0 else (1, 0):
            dist.barrier()
            start = time.perf_counter()
            optimisers[which].zero_grad()
            wrapped[which].backward(wrapped[which](batch).square().mean())
            optimisers[which].step()
            if turn >= 0:
                taken[which].append(time.perf_counter() - start)
        for mine, theirs in zip(*(each.module.parameters() for each in wrapped)):
            if not torch.allclose(mine.grad, theirs.grad, rtol=1e-4, atol=1e-7):
                raise AssertionError("the gradients differ, so the times mean nothing")
    return taken


def rows(quick: bool) -> list[Row]:
    """Measure large layers and many small ones on 2 and 4 ranks, or a small network on 2 ranks when `quick`."""
    plan = [(2, 64, 3, 3)] if quick else [(2, 512, 8, 31), (4, 512, 8, 21), (2, 32, 100, 31), (4, 32, 100, 21)]
    lines = []
    for size, width, layers, runs in plan:
        run = ranks.run(take_turns, size, (width, layers, runs), on="gloo", check=False, timeout=300.0)
        ours, theirs = (Series(tuple(map(max, zip(*(times[which] for times in run.results))))) for which in (0, 1))
        what = f"{size} ranks, {layers} layers of {width} x {width}"
        lines.append(Row(what, ours, "s", "PyTorch's DDP", theirs, aim=AIM))
    return lines
