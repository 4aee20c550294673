"""One batch through all stages on the virtual clock: the timeline, and how idle that leaves everybody."""

from __future__ import annotations

HOLDS_ANSWERS = True  # it runs labs.model_parallel.step, which holds one
WIDTH, SAMPLES = 16, 32


def step_run(step, forward, backward, topology=None, samples=SAMPLES):
    """One training step of a stack of small layers, one on each rank, whose costs are declared.

    Parameters
    ----------
    step : callable or None
        ``step(stage, optimiser, loss, images, labels, shape, dist)``; the lesson's own if None.
    forward, backward : sequence of float
        Seconds of each stage.
    topology : labs.kit.hardware.Topology, optional
    samples : int
        Size of the batch.

    Returns
    -------
    labs.kit.ranks.Run
    """
    import torch

    from labs.kit import ranks
    from labs.model_parallel import networks, stages
    from labs.model_parallel.step import train_step

    size = len(forward)
    layers = stages.split(networks.stack(size, WIDTH), [1] * size)
    held = [stages.clocked(*parts) for parts in zip(layers, forward, backward)]
    data = torch.ones(samples, WIDTH, dtype=torch.float64)
    batch = [list(range(samples))]
    chosen = step or train_step

    def args(rank):
        return chosen, held[rank], data, data, batch

    return ranks.run(_one_step, size, args=args, topology=topology)


def _one_step(step, stage, images, labels, batches, dist):
    import torch

    rank, last = dist.get_rank(), dist.get_world_size() - 1
    optimiser = torch.optim.SGD(stage.parameters(), lr=0.1)
    given = images if rank == 0 else None, labels if rank == last else None
    step(stage, optimiser, torch.nn.functional.mse_loss, *given, None if rank == 0 else images.shape, dist)


def busy(run):
    """Share of the run in which each rank computes, from its trace.

    Parameters
    ----------
    run : labs.kit.ranks.Run
        On virtual ranks.

    Returns
    -------
    list of float
    """
    spent = [0.0] * run.world_size
    for event in run.trace:
        if event.kind == "work":
            spent[event.rank] += event.end - event.start
    return [own / run.time for own in spent]


def one_batch(step=None, devices=4):
    """Draw one step on some equal devices: 1 ms forward and 2 ms backward each.

    Parameters
    ----------
    step : callable, optional
        The learner's; the lesson's own if left out.
    devices : int

    Returns
    -------
    labs.kit.draw.Picture or None
        None, with a sentence printed, when there is no answer yet.
    """
    from labs.kit.draw import timeline

    run = attempt(step, lambda: step_run(step, [1e-3] * devices, [2e-3] * devices))
    return None if run is None else timeline(run, name=f"One batch on {devices} devices")


def attempt(step, call):
    """``call()``, or None after a sentence when `step` is not written, or does not get to its end."""
    from labs.kit.ranks import RunFailure

    try:
        return call()
    except NotImplementedError:
        pass
    except RunFailure as failure:
        if getattr(failure, "exception", "") != "NotImplementedError":
            print(f"Your step did not get to its end, so there is nothing to draw.\n{failure}")
            return None
    print("Solve train_step first: then this cell shows your own step.")
    return None


def depth(step):
    """Explore step time and idle share over the number of devices, with the learner's own step.

    Parameters
    ----------
    step : callable

    Returns
    -------
    labs.kit.draw.Explorer or None
    """
    from labs.kit.draw import explore

    if attempt(step, lambda: step_run(step, [1e-3] * 2, [2e-3] * 2)) is None:
        return None

    def picture(latency_us):
        return depth_picture(step, latency_us * 1e-6)

    return explore(
        picture,
        label="One batch on more and more devices",
        latency_us=[5, 50, 500],
        frames=[{"latency_us": 5}, {"latency_us": 500}],
    )


def depth_picture(step, latency, whole=48e-3, most=10):
    """Draw how long a step of the same network takes on 1 to 1,024 devices, simulated, beside what one could hope for.

    Parameters
    ----------
    step : callable
    latency : float
        In s.
    whole : float
        Forward and backward on one device, in s.
    most : int
        Up to 2**most devices.

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import curves
    from labs.kit.hardware import uniform

    sizes = [2**k for k in range(0, most + 1, 2)]
    times = []
    for size in sizes:
        run = step_run(
            step, [whole / 3 / size] * size, [whole * 2 / 3 / size] * size, uniform(size, latency=latency), 4
        )
        times.append(run.time)
    return curves(
        {"your step": (sizes, times), "p times as fast": (sizes, [whole / size for size in sizes])},
        xlabel="devices",
        ylabel="time of a step (s)",
        logx=True,
        logy=True,
        name="The same network on more devices",
    )


def idle_table(step, idle, sizes=(1, 2, 4, 16, 256, 1024)):
    """Lines of text: idle share in the trace of the learner's step, by the learner's formula, and (p-1)/p.

    Parameters
    ----------
    step, idle : callable
        The learner's two answers.
    sizes : sequence of int

    Returns
    -------
    str
    """
    from labs.kit.hardware import uniform

    lines = ["devices   idle in the trace   by your formula   (p-1)/p"]
    for size in sizes:
        parts = [1e-3] * size, [2e-3] * size
        machine = uniform(size)
        run = step_run(step, *parts, machine)
        shares = [1 - share for share in busy(run)]
        nbytes = SAMPLES * WIDTH * 8
        transfer = machine.route(0, 1).latency + nbytes / machine.route(0, 1).bandwidth if size > 1 else 0.0
        mine = idle(*parts, transfer)
        row = sum(shares) / size, sum(mine) / size, (size - 1) / size
        lines.append(f"{size:7}   {row[0]:17.4%}   {row[1]:15.4%}   {row[2]:.2%}")
    return "\n".join(lines)
