"""Measure the learner's sorts of two processes beside the library's sort in one."""

from __future__ import annotations


def program(sorts, n, repeats, dist):
    """Rank program: time every sort, and the library's sort of all keys on rank 0 alone, by turns.

    Parameters
    ----------
    sorts : dict of str to callable
        ``sort(keys, dist)``.
    n : int
        Keys of all ranks together.
    repeats : int
    dist : torch.distributed

    Returns
    -------
    dict of str to list of float
        Seconds.
    """
    import torch

    from labs.kit.ranks import timing

    whole = torch.randint(0, 2**31, (n,), generator=torch.Generator().manual_seed(0))
    rank, size = dist.get_rank(), dist.get_world_size()
    mine = whole[n * rank // size : n * (rank + 1) // size].clone()
    calls = {name: lambda sort=sort: sort(mine, dist) for name, sort in sorts.items()}
    calls["torch.sort, one process"] = lambda: whole.sort() if rank == 0 else None
    return timing.by_turns(calls, repeats, dist)


def measure(sort_pair, radix_partition, n=2_000_000, repeats=5):
    """Time both sorts on two real ranks; a sort takes as long as its slowest rank.

    Parameters
    ----------
    sort_pair, radix_partition : callable
        The learner's answers.
    n : int
        int64 keys of both ranks together.
    repeats : int

    Returns
    -------
    dict of str to list of float, or None
        Seconds; None, with a sentence printed, when an answer does not run yet.
    """
    from labs.kit.ranks import timing

    sorts = {"your sort_pair": sort_pair, "your radix_partition": radix_partition}
    run = timing.measure(
        program, 2, args=(sorts, n, repeats), solve="sort_pair and radix_partition", subject="your own sorts"
    )
    return None if run is None else timing.slowest(run.results)
