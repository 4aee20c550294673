"""On real processes: the learner's DDP beside PyTorch's, a profile of one backward, threads beside processes."""

from __future__ import annotations

import statistics
from time import perf_counter


def network(width, layers):
    """A stack of square linear layers with ReLU, float32."""
    import torch
    from torch import nn

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(*[part for _ in range(layers) for part in (nn.Linear(width, width), nn.ReLU())])


def timed(makers, width, layers, repeats, dist):
    """Rank program: steps with each of several wrappers, in turns.

    Parameters
    ----------
    makers : dict of str to callable
        ``make(module, dist)`` gives something with ``backward(loss)``.
    width, layers, repeats : int
    dist : torch.distributed

    Returns
    -------
    dict of str to list of float
        Seconds a step.
    """
    import torch

    from labs.kit.ranks import timing

    wrapped = {name: make(network(width, layers), dist) for name, make in makers.items()}
    batch = torch.randn(64, width, generator=torch.Generator().manual_seed(dist.get_rank()))
    steps = {name: lambda ddp=ddp: ddp.backward(ddp(batch).square().mean()) for name, ddp in wrapped.items()}
    # the first two warm up: PyTorch arranges its buckets anew after the first
    return timing.by_turns(steps, repeats, dist, warm_up=2)


def measure(ddp, sizes=(2, 4), width=256, layers=8, repeats=15):
    """Time steps of the learner's DDP and of PyTorch's, both with buckets of 1 MB, on real processes.

    Parameters
    ----------
    ddp : callable
        ``ddp(module, dist, bucket_bytes)``.
    sizes : sequence of int
        Numbers of processes.
    width, layers, repeats : int

    Returns
    -------
    dict or None
        {processes: {name: sorted seconds of the slowest rank}}; None, with a sentence printed, without a DDP.
    """
    from labs.distributed_data_parallel.overlap import unsolved
    from labs.kit import ranks
    from labs.kit.ranks import timing

    if unsolved(ddp):
        return None
    makers = {"yours": lambda module, dist: ddp(module, dist, 1e6), "PyTorch's": _torch_ddp}
    found = {}
    for size in sizes:
        run = ranks.run(timed, size, args=(makers, width, layers, repeats), on="gloo", check=False, timeout=60)
        found[size] = timing.slowest(run.results)
    return found


def _torch_ddp(module, dist):
    import torch

    class WithBackward(torch.nn.parallel.DistributedDataParallel):
        def backward(self, loss):
            loss.backward()

    return WithBackward(module, bucket_cap_mb=1)


def table(seconds):
    """Lines of text: medians and ranges of `measure`, and the ratio of the medians."""
    from labs.kit.ranks import timing

    if not seconds:
        return "Nothing was measured."
    lines = []
    for size, times in seconds.items():
        told = [f"{name} {timing.told(t)}" for name, t in times.items()]
        mine, theirs = (statistics.median(t) for t in times.values())
        lines.append(f"{size} processes: {', '.join(told)}, ratio {mine / theirs:.2f}")
    return "\n".join(lines)


def profiled(makers, width, layers, dist):
    """Rank program: PyTorch's profiler around the third backward pass with each wrapper.

    Returns
    -------
    dict of str to (list, list)
        Spans of computing and of talking in s from the beginning of backward: the layers as they are differentiated,
        and gloo's collectives.
    """
    return {name: _one_profile(make(network(width, layers), dist), width, dist) for name, make in makers.items()}


def _one_profile(ddp, width, dist):
    import torch
    from torch.profiler import ProfilerActivity, profile, record_function

    batch = torch.randn(256, width, generator=torch.Generator().manual_seed(dist.get_rank()))
    for _ in range(2):
        ddp.backward(ddp(batch).square().mean())
    loss = ddp(batch).square().mean()
    dist.barrier()
    with profile(activities=[ProfilerActivity.CPU]) as seen, record_function("whole"):
        ddp.backward(loss)
    spans = [(event.name, event.time_range.start / 1e6, event.time_range.end / 1e6) for event in seen.events()]
    start = min(begin for name, begin, _ in spans if name == "whole")
    computing = [(a - start, b - start) for name, a, b in spans if "AddmmBackward" in name and "evaluate" in name]
    return computing, [(a - start, b - start) for name, a, b in spans if name.startswith("gloo:")]


def profile(ddp, width=512, layers=8):
    """Draw a real backward pass on 2 processes, as PyTorch's profiler saw it on rank 0.

    Parameters
    ----------
    ddp : callable
        ``ddp(module, dist, bucket_bytes)``.
    width, layers : int

    Returns
    -------
    labs.kit.draw.Picture or None
    """
    from labs.distributed_data_parallel.lanes import lanes
    from labs.distributed_data_parallel.overlap import unsolved
    from labs.kit import ranks

    if unsolved(ddp):
        return None
    makers = {"PyTorch's DDP": _torch_ddp, "Your DDP": lambda module, dist: ddp(module, dist, 1e6)}
    run = ranks.run(profiled, 2, args=(makers, width, layers), on="gloo", check=False, timeout=60, stream=False)
    return lanes(run.results[0], "A real backward pass on rank 0 of 2 processes")


def workers(seconds=0.4):
    """Steps a second of a small network: one worker, two threads in one process, two processes.

    Parameters
    ----------
    seconds : float
        How long each is watched.

    Returns
    -------
    dict of str to float
        Steps a second, all workers together.
    """
    from concurrent.futures import ThreadPoolExecutor

    from labs.kit import ranks

    one = small_steps(seconds)
    with ThreadPoolExecutor(2) as pool:
        threads = sum(pool.map(small_steps, [seconds, seconds]))
    run = ranks.run(_watched, 2, args=(seconds,), on="gloo", check=False, timeout=60)
    return {"one worker": one, "two threads": threads, "two processes": sum(run.results)}


def _watched(seconds, dist):
    dist.barrier()
    return small_steps(seconds)


def small_steps(seconds):
    """Train a small network for a while in this thread; returns steps a second."""
    import torch

    model = network(16, 12)
    batch, steps = torch.ones(4, 16), 0
    begin = perf_counter()
    while (passed := perf_counter() - begin) < seconds:
        model(batch).square().mean().backward()
        model.zero_grad()
        steps += 1
    return steps / passed
