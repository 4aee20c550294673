"""On real processes: the learner's schedule over the number of micro-batches, and one step as it really ran."""

from __future__ import annotations

from time import sleep

from labs.pipeline_parallel import pictures
from labs.pipeline_parallel.boxes import Box, idle_share

WIDTH, LAYERS, BATCH = 512, 6, 512
COUNTS = (1, 2, 4, 8, 16)
SHOWN = 8
PATIENCE = 40e-3  # s: forward of the whole batch through one sleeping stage; backward takes twice that


def sleeping():
    """A stage that takes its time without using a core, as a process does while its GPU computes."""
    import torch

    class Sleep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            sleep(PATIENCE * len(x) / BATCH)
            return x * weight

        @staticmethod
        def backward(ctx, gradient):
            sleep(2 * PATIENCE * len(gradient) / BATCH)
            return gradient, gradient.sum()

    class Sleeping(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(()))

        def forward(self, x):
            return Sleep.apply(x, self.weight)

    return Sleeping()


def busy():
    """A stack of square linear layers with tanh, float32."""
    import torch
    from torch import nn

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(*[part for _ in range(LAYERS) for part in (nn.Linear(WIDTH, WIDTH), nn.Tanh())])


def timed(plans, make, width, repeats, dist):
    """Rank program: steps of one batch in different numbers of micro-batches, by turns.

    Parameters
    ----------
    plans : dict of int to list of RankPlan
        By number of micro-batches.
    make : callable
        Makes this rank's stage.
    width : int
        Numbers in a sample.
    repeats : int
    dist : torch.distributed

    Returns
    -------
    seconds : dict of int to list of float
    spans : list of (float, float)
        Begin and end of each action of the last step with `SHOWN` micro-batches, by this process's clock.
    """
    import torch

    from labs.kit.ranks import timing
    from labs.pipeline_parallel.worker import Worker

    torch.set_num_threads(1)
    rank, size = dist.get_rank(), dist.get_world_size()
    batch = torch.randn(BATCH, width, generator=torch.Generator().manual_seed(0))
    inputs, targets = batch if rank == 0 else None, batch if rank == size - 1 else None
    module, spans = make(), {}

    def step(m):
        done = Worker(plans[m][rank], {rank: module}, dist).step(inputs, targets, torch.nn.functional.mse_loss)
        spans[m] = done["spans"]

    calls = {m: (lambda m=m: step(m)) for m in plans}
    return timing.by_turns(calls, repeats, dist), spans[SHOWN]


def measure(answer, stages=4, computing=False, repeats=4):
    """Time a step with the learner's schedule on real processes, over the number of micro-batches.

    Parameters
    ----------
    answer : callable
        ``answer(rank, stages, micro_batches)``.
    stages : int
        Processes, with a stage each.
    computing : bool
        Whether stages use a core each; else they sleep, so that this machine can have fewer cores than stages.
    repeats : int

    Returns
    -------
    dict or None
        ``seconds``: {micro-batches: sorted seconds of the slowest rank}; ``boxes``: one step, for a picture.
        None, with a sentence printed, without an answer.
    """
    import torch

    from labs.kit.ranks import timing
    from labs.pipeline_parallel.drawings import schedule_of
    from labs.pipeline_parallel.plan import plans_of

    schedules = {}
    for m in COUNTS:
        schedules[m] = schedule_of(answer, stages, m)
        if schedules[m] is None:
            return None
    width = WIDTH if computing else 8
    forms = [((width,), torch.float32)] * stages
    plans = {m: plans_of(schedule, forms, BATCH) for m, schedule in schedules.items()}
    name = answer.__name__
    run = timing.measure(
        timed, stages, (plans, busy if computing else sleeping, width, repeats), solve=name, subject=f"your own {name}"
    )
    if run is None:
        return None
    seconds, spans = zip(*run.results)
    return {"seconds": timing.slowest(seconds), "boxes": _boxes(schedules[SHOWN], spans), "stages": stages}


def _boxes(schedule, spans):
    zero = min(begin for own in spans for begin, _ in own)
    return [
        Box(rank, action.kind, action.micro_batch, 0, (begin - zero) * 1e3, (end - zero) * 1e3)
        for rank, row in enumerate(schedule)
        for action, (begin, end) in zip(row, spans[rank])
    ]


def measured(found):
    """Draw the measured times over the number of micro-batches, with what the bubble alone would make of them.

    Parameters
    ----------
    found : dict or None
        From `measure`.

    Returns
    -------
    labs.kit.draw.Picture or None
    """
    from labs.kit.draw import curves
    from labs.kit.ranks import timing

    if not found:
        return None
    p, seconds = found["stages"], found["seconds"]
    whole = timing.line(seconds)[1][0]
    counts = list(seconds)
    model = [whole / p * (m + p - 1) / m for m in counts]
    return curves(
        {"measured": timing.line(seconds), "bubble alone": (counts, model)},
        xlabel="micro-batches m",
        ylabel="time of a step (s)",
        logx=True,
        name=f"One batch of {BATCH} on {p} processes",
    )


def real_step(found):
    """Draw one measured step: bars where a process really computed.

    Parameters
    ----------
    found : dict or None
        From `measure`.

    Returns
    -------
    labs.kit.draw.Picture or None
    """
    if not found:
        return None
    boxes, p = found["boxes"], found["stages"]
    title = f"Measured: {idle_share(boxes, p):.0%} idle"
    return pictures.schedule(
        {title: boxes}, p, name=f"A real step on {p} processes, {SHOWN} micro-batches", unit="time (ms)"
    )


def table(found):
    """Lines of text: median and range for each number of micro-batches, and the speed against one micro-batch."""
    from labs.kit.ranks import timing

    if not found:
        return "Nothing was measured."
    seconds, p = found["seconds"], found["stages"]
    whole = timing.line(seconds)[1][0]
    return "\n".join(
        f"m = {m:2}: {timing.told(times):28}  {whole / middle:4.2f} times as fast as m = 1; "
        f"the bubble alone would give {p * m / (m + p - 1):4.2f}"
        for (m, times), middle in zip(seconds.items(), timing.line(seconds)[1])
    )
