"""On real processes: the learner's step on 1, 2 and 4 of them, and PyTorch's own pipeline stages beside it."""

from __future__ import annotations


class Fewer:
    """`dist` for the first ranks of a world: the same calls, only the world is smaller."""

    def __init__(self, dist, size):
        self.dist, self.size = dist, size

    def get_world_size(self):
        return self.size

    def __getattr__(self, name):
        return getattr(self.dist, name)


def timed(step, sizes, images, labels, repeats, dist):
    """Rank program: time training steps of the lesson's network on the first 1, 2, ... ranks, by turns.

    Parameters
    ----------
    step : callable
    sizes : sequence of int
        Numbers of stages; ranks beyond stand by.
    images, labels : torch.Tensor
    repeats : int
    dist : torch.distributed

    Returns
    -------
    dict of int to list of float
        Seconds of this rank, by number of stages.
    """
    import torch

    from labs.kit.ranks import timing

    torch.set_num_threads(1)  # a core for each process, also where there is only one process
    calls = {size: _call(step, size, images, labels, dist) for size in sizes}
    return timing.by_turns(calls, repeats, dist)


def _call(step, size, images, labels, dist):
    """A function that runs one step on the first `size` ranks."""
    import torch

    from labs.model_parallel import networks, stages
    from labs.model_parallel.sums import equal_counts

    rank = dist.get_rank()
    if rank >= size:
        return lambda: None
    parts = stages.split(networks.vision(), equal_counts(8, size))
    optimiser = torch.optim.SGD(parts[rank].parameters(), lr=0.01)
    given = images if rank == 0 else None, labels if rank == size - 1 else None
    shape, loss = stages.shapes(parts, images)[rank], torch.nn.functional.cross_entropy
    return lambda: step(parts[rank], optimiser, loss, *given, shape, Fewer(dist, size))


def measure(step, images, labels, sizes=(1, 2, 4), repeats=9):
    """Seconds of a training step in some numbers of stages, a process each.

    Parameters
    ----------
    step : callable
        The learner's ``train_step``.
    images, labels : torch.Tensor
    sizes : sequence of int
    repeats : int

    Returns
    -------
    dict of int to list of float, or None
        By number of processes: sorted seconds of the slowest rank. None, with a sentence printed, without an answer.
    """
    from labs.kit.ranks import timing

    arguments = (step, list(sizes), images, labels, repeats)
    run = timing.measure(timed, max(sizes), arguments, solve="train_step", subject="your own step")
    return None if run is None else timing.slowest(run.results)


def table(seconds):
    """Lines of text: medians with their range, and times as fast as one process."""
    import statistics

    from labs.kit.ranks import timing

    if not seconds:
        return "Nothing was measured."
    one = statistics.median(seconds[min(seconds)])
    return "\n".join(
        f"{size} stage{'s' if size > 1 else ' '}: {timing.told(times)}, "
        f"{one / statistics.median(times):.2f} times as fast as one"
        for size, times in seconds.items()
    )


def torchs_step(cut_before, images, labels, rate, dist):
    """Rank program: one training step with torch.distributed.pipelining, which cuts the network at named layers.

    Parameters
    ----------
    cut_before : sequence of str
        A stage begins at each of these layers.
    images, labels : torch.Tensor
    rate : float
    dist : torch.distributed

    Returns
    -------
    dict
        ``weights`` of this rank's stage after the step, in one dimension; ``names`` of its parameters.
    """
    import warnings

    import torch

    warnings.filterwarnings("ignore", category=FutureWarning)  # inside torch.export, about itself
    from torch.distributed.pipelining import ScheduleGPipe, SplitPoint, pipeline

    from labs.model_parallel import networks, stages

    rank, last = dist.get_rank(), dist.get_world_size() - 1
    cuts = dict.fromkeys(cut_before, SplitPoint.BEGINNING)
    stage = pipeline(networks.vision(), mb_args=(images,), split_spec=cuts).build_stage(rank, torch.device("cpu"))
    optimiser = torch.optim.SGD(stage.submod.parameters(), lr=rate)
    schedule = ScheduleGPipe(stage, n_microbatches=1, loss_fn=torch.nn.functional.cross_entropy)
    schedule.step(*([images] if rank == 0 else []), **({"target": labels} if rank == last else {}))
    optimiser.step()
    names = sorted({name.split(".")[0] for name, _ in stage.submod.named_parameters()})
    return {"weights": stages.flat(stage.submod), "names": names}
