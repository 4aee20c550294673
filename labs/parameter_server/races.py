"""Synchronous, bounded, asynchronous: real training, the loss over virtual time."""

from __future__ import annotations

from functools import lru_cache

HOLDS_ANSWERS = True  # it runs labs.parameter_server.training, which holds one
WORKERS, QUICK = 16, 1.0  # workers, and seconds that a gradient takes a quick one
BOUNDS = {"in step": 0, "bound 3": 3, "asynchronous": None}


@lru_cache(maxsize=64)
def trained(slow, rate, bound, rounds=48):
    """`labs.parameter_server.training.train` for 16 workers of which the last takes `slow` seconds a gradient.

    Parameters
    ----------
    slow, rate : float
        Seconds; learning rate.
    bound : int or None
    rounds : int

    Returns
    -------
    Training
    """
    from labs.parameter_server.training import train

    return train([QUICK] * (WORKERS - 1) + [slow], rounds, bound=bound, rate=rate, every=WORKERS)


def race():
    """Explore the loss over time of the three kinds of server, for a slow worker's pace and a learning rate."""
    from labs.kit.draw import explore

    return explore(
        race_picture,
        label="Who is first at the same loss?",
        slow=[1.0, 2.0, 4.0],
        rate=[1.0, 2.0, 4.0, 8.0, 16.0],
        frames=[{"slow": slow, "rate": rate} for slow, rate in ((1.0, 2.0), (1.0, 8.0), (4.0, 2.0), (4.0, 8.0))],
    )


def race_picture(slow, rate):
    """Loss over virtual time of a synchronous, a bounded and an asynchronous server on the same machines.

    Parameters
    ----------
    slow : float
        Seconds that a gradient takes the last of 16 workers; the others take 1 s.
    rate : float
        Learning rate.

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import curves

    runs = {name: trained(slow, rate, bound) for name, bound in BOUNDS.items()}
    end = min(run.loss_times[-1] for run in runs.values())
    lines = {}
    for name, run in runs.items():
        shown = [(time, loss) for time, loss in zip(run.loss_times, run.losses) if time <= max(end, 48 * QUICK) * 1.01]
        lines[name] = tuple(zip(*shown))
    return curves(
        lines, xlabel="virtual time (s)", ylabel="loss over all digits (nats)", logy=True,
        name=f"15 workers take 1 s a gradient, one takes {slow:g} s; learning rate {rate:g}",
    )  # fmt: skip


def staleness():
    """Explore what staleness alone does: loss over gradients, for 1, 4 and 16 equally quick asynchronous workers."""
    from labs.kit.draw import explore

    return explore(
        staleness_picture,
        label="What staleness costs",
        step=[0.0625, 0.125, 0.25, 0.5, 1.0],
        frames=[{"step": step} for step in (0.0625, 0.25, 0.5)],
    )


def staleness_picture(step):
    """Loss over the number of gradients for 1, 4 and 16 asynchronous workers that all take equally long.

    Parameters
    ----------
    step : float
        Learning rate with which each single gradient is applied.

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import curves

    lines = {}
    for workers in (1, 4, 16):
        run = asynchronous(workers, step)
        mean = sum(run.staleness) / len(run.staleness)
        counts = [run.every * (k + 1) for k in range(len(run.losses))]
        lines[f"{workers} worker{'s' * (workers > 1)}: {mean:.1f} stale"] = (counts, run.losses)
    return curves(
        lines, xlabel="gradients applied (number)", ylabel="loss over all digits (nats)", logy=True,
        name=f"The same {counts[-1]} gradients' worth, each applied with rate {step:g}",
    )  # fmt: skip


@lru_cache(maxsize=32)
def asynchronous(workers, step, gradients=512):
    """Asynchronous training with equally quick workers, `gradients` in all, each applied with the rate `step`."""
    from labs.parameter_server.training import train

    return train([QUICK] * workers, gradients // workers, bound=None, rate=step * workers, every=16)
