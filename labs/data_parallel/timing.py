"""Measure steps of data-parallel training on real processes: how long, and how much of it goes into averaging."""

from __future__ import annotations

import statistics


def program(model, images, labels, average, repeats, dist):
    """Rank program: time forward and backward, then the averaging, again and again.

    Parameters
    ----------
    model, images, labels
        As in `labs.data_parallel.training.steps`; each rank takes every n-th image.
    average : callable
        ``average(gradients, samples, dist)``.
    repeats : int
        Timed steps; one more before them warms up.
    dist : torch.distributed

    Returns
    -------
    list of (float, float)
        Seconds of computing and of averaging, a step each.
    """
    from time import perf_counter

    from labs.data_parallel import training

    rank, size = dist.get_rank(), dist.get_world_size()
    mine, truth = images[rank::size], labels[rank::size]
    gradients, seconds = None, []
    for _ in range(repeats + 1):
        dist.barrier()
        begin = perf_counter()
        training.backward(model, mine, truth)
        middle = perf_counter()
        gradients = [parameter.grad for parameter in model.parameters()]
        average(gradients, len(mine), dist)
        seconds.append((middle - begin, perf_counter() - middle))
    return seconds[1:]


def measure(average, sizes=(1, 2, 4), images=1500, hidden=512, repeats=7, on="gloo"):
    """Time steps of the same batch on different numbers of real ranks.

    Parameters
    ----------
    average : callable
        The learner's ``average_gradients(gradients, samples, dist)``.
    sizes : sequence of int
        Numbers of ranks.
    images, hidden : int
        Size of the whole batch, and of the network.
    repeats : int
        Timed steps.
    on : {"gloo", "nccl", "virtual"}

    Returns
    -------
    dict or None
        {ranks: list of (computing, averaging)}, in seconds, a step each, of the slowest rank; None, with a sentence
        printed, when the answer does not run yet.
    """
    from labs.data_parallel import digits, networks
    from labs.kit.ranks import timing

    data, labels = digits.training()
    given = (networks.mlp(hidden=hidden), data[:images], labels[:images], average, repeats)
    found = {}
    for size in sizes:
        run = timing.measure(program, size, args=given, on=on, solve="average_gradients", subject="your own averaging")
        if run is None:
            return None
        found[size] = [max(step, key=sum) for step in zip(*run.results)]
    return found


def table(seconds):
    """Lines of text: medians of a step, of its two parts, and the speed-up.

    Parameters
    ----------
    seconds : dict or None
        From `measure`.

    Returns
    -------
    str
    """
    if not seconds:
        return "Nothing was measured."
    lines, first = [], None
    for size, steps in seconds.items():
        whole = statistics.median(map(sum, steps))
        compute, average = (statistics.median(part) for part in zip(*steps))
        first = first or whole
        low, high = min(map(sum, steps)), max(map(sum, steps))
        name = f"{size} rank{'s' if size > 1 else ' '}"
        lines.append(
            f"{name}: {whole * 1e3:6.1f} ms a step ({low * 1e3:.1f} to {high * 1e3:.1f}), "
            f"computing {compute * 1e3:6.1f} ms, averaging {average * 1e3:5.1f} ms, {first / whole:.2f} times as fast"
        )
    return "\n".join(lines)
