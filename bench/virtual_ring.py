"""A ring all-reduce on virtual ranks against the same program on SimPy: CPU time."""

from __future__ import annotations

import gc

import torch

from bench import simpy_ring
from bench.measure import Row, alternate, cpu_seconds
from bench.programs import ring_all_reduce
from labs.kit.hardware import costs, uniform
from labs.kit.virtual import simulate

NAME = "virtual-ring"
TITLE = "Ring all-reduce on virtual ranks, against the same program written on SimPy"
NOTES = (
    "CPU time of one run, all in one process. Each run's sums and simulated time are checked against the closed form.",
    "SimPy records no trace, checks nothing and shares no links. 'usual' is the style of its manual; 'lean' avoids all",
    "processes and stores; 'collector quiet' gives it the garbage collector's settings that virtual ranks use.",
)
LATENCY, BANDWIDTH = 5e-6, 50e9


def rows(quick: bool) -> list[Row]:
    """Measure: 256 ranks three times, or 32 ranks twice when `quick`."""
    for contender in contenders(16):  # warm up on a small ring
        contender()
    size, runs = (32, 2) if quick else (256, 3)
    traced, untraced, usual, lean, lean_quiet = alternate(contenders(size), runs, cpu_seconds, warm_up=False)
    ours, ours_untraced = f"{size} ranks, with trace", f"{size} ranks, trace=False"
    unit = "s CPU"
    return [
        Row(ours, traced, unit, "SimPy, usual", usual, aim=None if quick else 4.0),
        Row(ours, traced, unit, "SimPy, lean", lean),
        Row(ours, traced, unit, "SimPy, lean, collector quiet", lean_quiet),
        Row(ours_untraced, untraced, unit, "SimPy, usual", usual),
        Row(ours_untraced, untraced, unit, "SimPy, lean", lean),
    ]


def contenders(size: int) -> list:
    """One ring of `size` ranks: virtual with and without trace; SimPy usual, lean, lean with a quiet collector."""
    topology = uniform(size, latency=LATENCY, bandwidth=BANDWIDTH)
    expected = costs.ring_all_reduce(size, 16 * size, LATENCY, BANDWIDTH)  # four numbers of four bytes a chunk

    def tensor(rank: int) -> torch.Tensor:
        return torch.full((4 * size,), float(rank))

    def check(results, seconds):
        if not all((result == size * (size - 1) / 2).all() for result in results):
            raise AssertionError("a rank ended with a wrong sum, so the times mean nothing")
        if abs(seconds / expected - 1) > 1e-9:
            raise AssertionError(f"{seconds} simulated seconds instead of {expected}, so the times mean nothing")

    def virtual(trace: bool):
        def go():
            run = simulate(ring_all_reduce, size, lambda rank: (tensor(rank),), topology=topology, trace=trace)
            check(run.results, run.time)

        return go

    def on_simpy(writing):
        def go():
            check(*simpy_ring.run(writing, [tensor(rank) for rank in range(size)], LATENCY, BANDWIDTH))

        return go

    lean = on_simpy(simpy_ring.Lean)
    return [virtual(True), virtual(False), on_simpy(simpy_ring.Idiomatic), lean, quiet(lean)]


def quiet(work):
    """`work` with a garbage collector that seldom runs and skips what was there before, as during a virtual run."""

    def go():
        thresholds = gc.get_threshold()
        gc.set_threshold(100_000, 50, 100)
        gc.freeze()
        try:
            work()
        finally:
            gc.set_threshold(*thresholds)
            gc.unfreeze()

    return go
