"""On real processes: the learner's step on 1, 2 and 4 of them, and PyTorch's own pipeline stages beside it."""

from __future__ import annotations


def timed(step, counts, images, labels, repeats, dist):
    """Rank program: time training steps of the lesson's network, cut as `counts` says.

    Parameters
    ----------
    step : callable
    counts : sequence of int
        Layers of each rank.
    images, labels : torch.Tensor
    repeats : int
    dist : torch.distributed

    Returns
    -------
    dict of str to list of float
        Seconds of this rank.
    """
    import torch

    from labs.kit.ranks import timing
    from labs.model_parallel import networks, stages

    torch.set_num_threads(1)  # a core for each process, also where there is only one process
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    parts = stages.split(networks.vision(), counts)
    shape = stages.shapes(parts, images)[rank]
    optimiser = torch.optim.SGD(parts[rank].parameters(), lr=0.01)
    loss = torch.nn.functional.cross_entropy
    given = images if rank == 0 else None, labels if rank == last else None
    return timing.by_turns({"step": lambda: step(parts[rank], optimiser, loss, *given, shape, dist)}, repeats, dist)


def measure(step, images, labels, sizes=(1, 2, 4), repeats=7):
    """Seconds of a training step on some numbers of processes.

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
    from labs.model_parallel.sums import equal_counts

    found = {}
    for size in sizes:
        arguments = (step, equal_counts(8, size), images, labels, repeats)
        run = timing.measure(timed, size, arguments, solve="train_step", subject="your own step")
        if run is None:
            return None
        found[size] = timing.slowest(run.results)["step"]
    return found


def table(seconds):
    """Lines of text: medians with their range, and times as fast as one process."""
    import statistics

    from labs.kit.ranks import timing

    if not seconds:
        return "Nothing was measured."
    one = statistics.median(seconds[min(seconds)])
    return "\n".join(
        f"{size} process{'es' if size > 1 else '  '}: {timing.told(times)}, "
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
