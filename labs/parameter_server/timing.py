"""Measure one push and pull through a server beside an all-reduce among the same workers, on real processes."""

from __future__ import annotations


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
        {size: {"server" or "all-reduce": list of seconds}}.
    """
    import torch

    from labs.kit.ranks import timing

    rank = dist.get_rank()
    workers = dist.new_group(list(range(1, dist.get_world_size())))

    def through_the_server(weights):
        if rank == 0:
            server(weights, 1, 0.1, dist)
        else:
            worker(weights, lambda weights: weights, 1, dist)

    def among_the_workers(gradient):
        if rank:
            dist.all_reduce(gradient, group=workers)

    calls = {"server": through_the_server, "all-reduce": among_the_workers}
    return {size: timing.by_turns(calls, repeats, dist, prepare=lambda: torch.ones(size // 4)) for size in sizes}  # noqa: B023


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
    from labs.kit.ranks import timing

    run = timing.measure(
        program, workers + 1, args=(server, worker, list(sizes), repeats),
        solve="synchronous", subject="your own server",
    )  # fmt: skip
    if run is None:
        return None
    seconds = timing.slowest(run.results)
    return {name: {size: seconds[size][name] for size in sizes} for name in ("server", "all-reduce")}


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
    from labs.kit.ranks import timing

    lines = {"your server": timing.line(seconds["server"]), "all-reduce": timing.line(seconds["all-reduce"])}
    return curves(
        lines, xlabel="gradient (B)", ylabel="time (s)", logx=True, logy=True,
        name=f"{workers} workers, {workers + 1} processes of this machine",
    )  # fmt: skip
