"""Measure on real processes: things compared take turns, a step takes as long as its slowest rank, spread is kept."""

from __future__ import annotations

import statistics
from time import perf_counter

from labs.kit.ranks.run import run
from labs.kit.virtual.failures import RunFailure


def by_turns(calls, repeats, dist, *, prepare=None, warm_up=1):
    """Inside a rank program: time several calls, by turns, so that a busy moment hits all of them.

    Parameters
    ----------
    calls : dict of str to callable
        ``call()``, or ``call(prepare())``.
    repeats : int
        Timed calls of each.
    dist : torch.distributed
        A barrier stands before each call.
    prepare : callable, optional
        Makes a fresh argument for each call, outside the measured time.
    warm_up : int
        Calls of each before the timed ones.

    Returns
    -------
    dict of str to list of float
        Seconds of this rank, in the order in which they were measured.
    """
    seconds = {name: [] for name in calls}
    for turn in range(warm_up + repeats):
        for name, call in calls.items():
            arguments = () if prepare is None else (prepare(),)
            dist.barrier()
            begin = perf_counter()
            call(*arguments)
            if turn >= warm_up:
                seconds[name].append(perf_counter() - begin)
    return seconds


def slowest(results):
    """What the ranks measured, as one: each turn takes as long as its slowest rank.

    Parameters
    ----------
    results : sequence
        By rank: a list of seconds, or (nested) dicts of such lists.

    Returns
    -------
    list of float or dict
        Of the same form; the lists are sorted.
    """
    if isinstance(results[0], dict):
        return {name: slowest([result[name] for result in results]) for name in results[0]}
    return sorted(map(max, zip(*results)))


def measure(program, world_size, args=(), *, solve, subject, on="gloo", timeout=60.0, **options):
    """Run a measuring program; an answer that is missing or broken is told in a sentence, since nothing is graded here.

    Parameters
    ----------
    program, world_size, args, on, timeout, **options
        As for `labs.kit.ranks.run`; checks are off, since they cost time.
    solve : str
        Names of the exercises whose answers are measured: "reduce_scatter and all_gather".
    subject : str
        What is measured: "your own ring".

    Returns
    -------
    labs.kit.ranks.Run or None
        None, after a sentence, when the answer does not run.
    """
    try:
        return run(program, world_size, args=args, on=on, check=False, timeout=timeout, **options)
    except RunFailure as failure:
        if getattr(failure, "exception", "") == "NotImplementedError":
            print(f"Solve {solve} first: then this cell measures {subject}.")
        else:
            what = subject.replace("own ", "")
            print(
                f"{what[:1].upper()}{what[1:]} did not get to its end on real ranks, "
                f"so there is nothing to measure.\n{failure}"
            )
        return None


def line(seconds):
    """A line for `labs.kit.draw.curves`: medians, and the range from the fastest to the slowest.

    Parameters
    ----------
    seconds : dict of float to list of float
        Measured times by x (bytes, ranks, ...).

    Returns
    -------
    xs, medians, lows, highs : list of float
    """
    times = list(seconds.values())
    return list(seconds), [statistics.median(t) for t in times], [min(t) for t in times], [max(t) for t in times]


def told(seconds):
    """In words: "12.3 ms (11.9 to 14.0)", the median and the range.

    Parameters
    ----------
    seconds : sequence of float

    Returns
    -------
    str
    """
    return f"{statistics.median(seconds) * 1e3:.1f} ms ({min(seconds) * 1e3:.1f} to {max(seconds) * 1e3:.1f})"
