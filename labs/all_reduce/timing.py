"""Measure an all-reduce of the learner's beside the library's, on real processes, and draw both with their spread."""

from __future__ import annotations


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
        {size: {"yours" or "library": list of seconds}}.
    """
    import torch

    from labs.kit.ranks import timing

    calls = {"yours": lambda tensor: ring(tensor, dist), "library": lambda tensor: dist.all_reduce(tensor)}
    return {size: timing.by_turns(calls, repeats, dist, prepare=lambda: torch.ones(size // 4)) for size in sizes}  # noqa: B023


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
    from labs.kit.ranks import timing

    run = timing.measure(
        program, world_size, args=(ring, list(sizes), repeats), on=on, timeout=120,
        solve="reduce_scatter and all_gather", subject="your own ring",
    )  # fmt: skip
    if run is None:
        return None
    seconds = timing.slowest(run.results)
    return {name: {size: seconds[size][name] for size in sizes} for name in ("yours", "library")}


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
    from labs.kit.ranks import timing

    labels = {"yours": "your ring", "library": "dist.all_reduce"}
    lines = {label: timing.line(seconds[name]) for name, label in labels.items()}
    sizes = list(seconds["yours"])
    latency, bandwidth = model_line(seconds, world_size)
    formula = [costs.ring_all_reduce(world_size, size, latency, bandwidth) for size in sizes]
    lines["formula"] = (sizes, formula)
    return curves(
        lines, xlabel="message size (B)", ylabel="time (s)", logx=True, logy=True,
        name=f"All-reduce on {world_size} processes of this machine",
    )  # fmt: skip
