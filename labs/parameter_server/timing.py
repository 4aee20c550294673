"""Measure one push and pull through a server beside an all-reduce among the same workers, on real processes."""

from __future__ import annotations

import statistics


def program(server, worker, sizes, repeats, dist):
    """Rank program: time both exchanges at every size, taking turns, so that a busy moment hits both.

    Parameters
    ----------
    server, worker : callable
        The learner's, called for a single round.
    sizes : sequence of int
        Bytes (float32).
    repeats : int
        Timed calls of each; one more before them warms up.
    dist : torch.distributed

    Returns
    -------
    dict
        {"server" or "all-reduce": {size: list of seconds}}.
    """
    from time import perf_counter

    import torch

    rank, size = dist.get_rank(), dist.get_world_size()
    workers = dist.new_group(list(range(1, size)))

    def through_the_server(weights):
        if rank == 0:
            server(weights, 1, 0.1, dist)
        else:
            worker(weights, lambda weights: weights, 1, dist)

    def among_the_workers(gradient):
        if rank:
            dist.all_reduce(gradient, group=workers)

    calls = {"server": through_the_server, "all-reduce": among_the_workers}
    seconds = {name: {nbytes: [] for nbytes in sizes} for name in calls}
    for nbytes in sizes:
        for turn in range(repeats + 1):
            for name, call in calls.items():
                tensor = torch.ones(nbytes // 4)
                dist.barrier()
                begin = perf_counter()
                call(tensor)
                if turn:
                    seconds[name][nbytes].append(perf_counter() - begin)
    return seconds


def measure(server, worker, sizes=(4_000, 250_000, 1_000_000, 4_000_000), workers=3, repeats=5):
    """Time the learner's server and all_reduce on real ranks; a call takes as long as its slowest rank.

    Parameters
    ----------
    server, worker : callable
        The learner's answers.
    sizes : sequence of int
        Bytes on each worker.
    workers, repeats : int

    Returns
    -------
    dict or None
        {"server" or "all-reduce": {size: sorted list of seconds}}; None, with a sentence printed, when the answers do
        not run yet.
    """
    from labs.kit import ranks

    try:
        run = ranks.run(
            program, workers + 1, args=(server, worker, list(sizes), repeats), on="gloo", check=False, timeout=60
        )
    except ranks.RunFailure as failure:
        if getattr(failure, "exception", "") == "NotImplementedError":
            print("Solve synchronous first: then this cell measures your own server.")
        else:
            print(f"Your server did not get to its end on real ranks, so there is nothing to measure.\n{failure}")
        return None

    def slowest(name, size):
        return sorted(max(times) for times in zip(*(result[name][size] for result in run.results)))

    return {name: {size: slowest(name, size) for size in sizes} for name in ("server", "all-reduce")}


def measured(seconds, workers=3):
    """Draw what `measure` found: medians, and the range from the fastest to the slowest call.

    Parameters
    ----------
    seconds : dict or None
        From `measure`.
    workers : int

    Returns
    -------
    labs.kit.draw.Picture or None
    """
    if seconds is None:
        return None
    from labs.kit.draw import curves

    lines = {}
    for name, label in (("server", "your server"), ("all-reduce", "all-reduce")):
        times = list(seconds[name].values())
        lows, highs = [t[0] for t in times], [t[-1] for t in times]
        lines[label] = (list(seconds[name]), [statistics.median(t) for t in times], lows, highs)
    return curves(
        lines, xlabel="gradient (B)", ylabel="time (s)", logx=True, logy=True,
        name=f"{workers} workers, {workers + 1} processes of this machine",
    )  # fmt: skip
