"""Measure an all-reduce of the learner's beside the library's, on real processes, and draw both with their spread."""

from __future__ import annotations

import statistics


def program(ring, sizes, repeats, dist):
    """Rank program: time both all-reduces at every size, taking turns, so that a busy moment hits both.

    Parameters
    ----------
    ring : callable
        ``ring(tensor, dist)``.
    sizes : sequence of int
        Bytes.
    repeats : int
        Timed calls of each; one more before them warms up.
    dist : torch.distributed

    Returns
    -------
    dict
        {"yours" or "library": {size: list of seconds}}.
    """
    from time import perf_counter

    import torch

    calls = {"yours": lambda tensor: ring(tensor, dist), "library": lambda tensor: dist.all_reduce(tensor)}
    seconds = {name: {size: [] for size in sizes} for name in calls}
    for size in sizes:
        for turn in range(repeats + 1):
            for name, call in calls.items():
                tensor = torch.ones(size // 4)
                dist.barrier()
                begin = perf_counter()
                call(tensor)
                if turn:
                    seconds[name][size].append(perf_counter() - begin)
    return seconds


def measure(ring, sizes=(4_000, 64_000, 1_000_000, 4_000_000, 16_000_000), world_size=4, repeats=9, on="gloo"):
    """Time `ring` and the library's all_reduce on real ranks; a call takes as long as its slowest rank.

    Parameters
    ----------
    ring : callable
        The learner's ``ring_all_reduce(tensor, dist)``.
    sizes : sequence of int
        Bytes on each rank.
    world_size, repeats : int
        Processes, and timed calls at each size.
    on : {"gloo", "nccl"}
        Backend.

    Returns
    -------
    dict or None
        {"yours" or "library": {size: sorted list of seconds}}; None, with a sentence printed, when the ring does not
        run yet.
    """
    from labs.kit import ranks

    try:
        run = ranks.run(program, world_size, args=(ring, list(sizes), repeats), on=on, check=False, timeout=120)
    except ranks.RunFailure as failure:
        if getattr(failure, "exception", "") == "NotImplementedError":
            print("Solve reduce_scatter and all_gather first: then this cell measures your own ring.")
        else:
            print(f"Your ring did not get to its end on real ranks, so there is nothing to measure.\n{failure}")
        return None

    def slowest(name, size):
        return sorted(max(times) for times in zip(*(result[name][size] for result in run.results)))

    return {name: {size: slowest(name, size) for size in sizes} for name in ("yours", "library")}


def model_line(seconds, world_size=4):
    """Latency and bandwidth with which the ring's formula meets its fastest calls at the smallest and largest size.

    The fastest, because whatever else runs on the machine can only slow a call down.

    Parameters
    ----------
    seconds : dict
        From `measure`.
    world_size : int
        n.

    Returns
    -------
    latency, bandwidth : float
        Seconds and B/s in 2(n-1) alpha + 2(n-1)/n S/B. Two numbers through two points always fit: only the sizes in
        between test the formula.
    """
    fastest = {size: min(times) for size, times in seconds["yours"].items()}
    small, large = min(fastest), max(fastest)
    slope = max((fastest[large] - fastest[small]) / (large - small), 1e-15)
    messages = 2 * (world_size - 1)
    latency = max(fastest[small] - slope * small, 0.0) / messages
    return latency, messages / world_size / slope


def measured(seconds, world_size=4):
    """Draw what `measure` found: medians, the range from fastest to slowest call, and the fitted formula.

    Parameters
    ----------
    seconds : dict or None
        From `measure`.
    world_size : int
        n.

    Returns
    -------
    labs.kit.draw.Picture or None
    """
    if seconds is None:
        return None
    from labs.kit.draw import curves
    from labs.kit.hardware import costs

    lines = {}
    for name, label in (("yours", "your ring"), ("library", "dist.all_reduce")):
        sizes = list(seconds[name])
        times = [seconds[name][size] for size in sizes]
        lines[label] = (sizes, [statistics.median(t) for t in times], [t[0] for t in times], [t[-1] for t in times])
    latency, bandwidth = model_line(seconds, world_size)
    formula = [costs.ring_all_reduce(world_size, size, latency, bandwidth) for size in sizes]
    lines["formula"] = (sizes, formula)
    return curves(
        lines, xlabel="message size (B)", ylabel="time (s)", logx=True, logy=True,
        name=f"All-reduce on {world_size} processes of this machine",
    )  # fmt: skip
