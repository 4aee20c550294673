"""The pipeline executor of lesson 12 against torch.distributed.pipelining, and its simulator on a large schedule."""

from __future__ import annotations

import time

from bench.measure import Row, Series, cpu_seconds
from labs.kit import ranks

NAME = "pipeline"
TITLE = "A step of the lesson's pipeline executor, against torch.distributed.pipelining; the schedule simulator"
NOTES = (
    "Forward and backward of the whole batch in float64 by the clock of the slowest rank, from a barrier on.",
    "By turns in the same processes, after three unmeasured; gradients are compared after each turn.",
    "The simulator's row is CPU time for all actions of the schedule, which is ready as arrays; events are actions.",
)
AIM = 0.83  # times faster; 1 / 1.2


def take_turns(name: str, schedule, width: int, micro_batches: int, runs: int, dist) -> list[list[float]]:
    """Time both by turns on one rank: seconds of each step of ours, of each of PyTorch's."""
    import torch

    from labs.pipeline_parallel import pytorch
    from labs.pipeline_parallel.executor import Worker, gradients_of
    from labs.pipeline_parallel.plan import forms_of, plans_of

    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    stages = [
        torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.Tanh(), torch.nn.Linear(width, width)).double()
        for _ in pytorch.homes_of(name, size)
    ]
    inputs, targets = torch.randn(2, 8 * micro_batches, width, dtype=torch.float64)
    loss = torch.nn.functional.mse_loss
    own, first, last = pytorch.share_of(rank, name, size, stages, inputs, targets)
    worker = Worker(plans_of(schedule, forms_of(stages, inputs), len(inputs))[rank], own, dist)
    theirs = pytorch.scheduler(name, own, loss, micro_batches, "mean", dist)

    def their_step():
        for stage in own.values():
            stage.zero_grad()
        pytorch.losses_of_step(theirs, first, last)

    steps = (lambda: worker.step(first, last, loss)), their_step
    taken: list[list[float]] = [[], []]
    for turn in range(-3, runs):
        found = [None, None]
        for which in (0, 1) if turn % 2 == 0 else (1, 0):
            dist.barrier()
            start = time.perf_counter()
            steps[which]()
            if turn >= 0:
                taken[which].append(time.perf_counter() - start)
            found[which] = [gradient.clone() for stage in own.values() for gradient in gradients_of(stage)]
        for mine, other in zip(*found, strict=True):
            if not torch.allclose(mine, other, rtol=1e-10, atol=1e-12):
                raise AssertionError("the gradients differ, so the times mean nothing")
    return taken


def executors(quick: bool) -> list[Row]:
    """1F1B with small and with larger layers, and interleaved 1F1B with small ones, on 2 and 4 ranks."""
    from labs.pipeline_parallel.interleaving import interleaved
    from labs.pipeline_parallel.schedules import one_f_one_b

    kinds = ("1F1B", 64), ("1F1B", 256), ("Interleaved1F1B", 64)
    plan = [("1F1B", 2, 64, 3)] if quick else [(name, size, width, 31) for name, width in kinds for size in (2, 4)]
    makers = {"1F1B": one_f_one_b, "Interleaved1F1B": lambda p, m: interleaved(2, p, m)}
    lines = []
    for name, size, width, runs in plan:
        schedule, micro_batches = makers[name](size, 16), 16
        arguments = name, schedule, width, micro_batches, runs
        run = ranks.run(take_turns, size, arguments, on="gloo", check=False, timeout=300.0, stream=False)
        ours, theirs = (Series(tuple(map(max, zip(*(times[which] for times in run.results))))) for which in (0, 1))
        what = f"{name}, {size} ranks, 16 micro-batches of 8, layers of {width}"
        lines.append(Row(what, ours, "s", f"PyTorch's {name}", theirs, aim=AIM))
    return lines


def simulator(quick: bool) -> Row:
    """Time the simulation of 1F1B; the row's title gives the events a second."""
    from labs.pipeline_parallel.compact import Compact
    from labs.pipeline_parallel.schedules import one_f_one_b_of
    from labs.pipeline_parallel.simulation import simulate

    size, micro_batches, runs = (64, 256, 2) if quick else (1024, 4096, 5)
    plan = Compact.of(one_f_one_b_of(rank, size, micro_batches) for rank in range(size))
    share = (size - 1) / (micro_batches + size - 1)

    def once():
        if abs(simulate(plan).share - share) > 1e-9:
            raise AssertionError("the simulated bubble is not that of the formula, so the time means nothing")

    taken = Series(tuple(cpu_seconds(once) for _ in range(runs)))
    rate = int(plan.counts.sum()) / taken.median
    return Row(f"simulator, {size} stages x {micro_batches} micro-batches: {rate / 1e6:.1f} M events/s", taken, "s CPU")


def rows(quick: bool) -> list[Row]:
    """Measure the executors, then the simulator."""
    return [*executors(quick), simulator(quick)]
