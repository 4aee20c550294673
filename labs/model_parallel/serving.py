"""A trained network that answers a stream of requests: cut in stages, or as whole copies."""

from __future__ import annotations

REQUESTS = 400


def answer_times(arrivals, stages, transfer=5e-6):
    """When each request is answered by a chain of stages, each of which serves one at a time, first come first served.

    Parameters
    ----------
    arrivals : sequence of float
        In s, rising.
    stages : sequence of float
        Seconds of each stage.
    transfer : float
        Seconds between two stages.

    Returns
    -------
    list of float
    """
    now = list(arrivals)
    for number, seconds in enumerate(stages):
        free, after = 0.0, []
        for at in now:
            free = max(free, at + (transfer if number else 0.0)) + seconds
            after.append(free)
        now = after
    return now


def copies(arrivals, count, seconds):
    """When each request is answered by some whole copies: the one that is free first takes the next."""
    free, done = [0.0] * count, []
    for at in arrivals:
        which = free.index(min(free))
        free[which] = max(free[which], at) + seconds
        done.append(free[which])
    return done


def arrivals(rate, count=REQUESTS, seed=0):
    """Times of a Poisson stream of `rate` requests a second, in s."""
    import numpy as np

    return np.cumsum(np.random.default_rng(seed).exponential(1 / rate, count)).tolist()


def latency_picture(plans, whole, transfer=5e-6):
    """Draw the latency that 95 of 100 requests stay under, over the rate of requests.

    Parameters
    ----------
    plans : dict of str to list of float
        By title: seconds of each stage.
    whole : float
        Seconds of the whole network on one device.
    transfer : float

    Returns
    -------
    labs.kit.draw.Picture
    """
    import numpy as np

    from labs.kit.draw import curves

    rates = [share / whole for share in (0.1, 0.3, 0.5, 0.7, 0.85, 1, 1.3, 1.7, 2.1, 2.5, 3, 3.5, 4)]

    def under(times, came):
        return float(np.quantile(np.asarray(times) - came, 0.95))

    lines = {}
    for title, seconds in plans.items():
        lines[title] = [under(answer_times(came, seconds, transfer), came) for came in map(arrivals, rates)]
    devices = max(map(len, plans.values()))
    lines[f"{devices} copies"] = [under(copies(came, devices, whole), came) for came in map(arrivals, rates)]
    return curves(
        {title: (rates, times) for title, times in lines.items()},
        xlabel="requests a second (1/s)",
        ylabel="latency (s)",
        logy=True,
        name="Latency that 95 % stay under",
    )


def stream_run(serve, seconds, count, width=16):
    """Run the learner's stream on virtual ranks, a small layer with declared costs on each.

    Parameters
    ----------
    serve : callable
        ``serve(stage, requests, count, shape, dist)``.
    seconds : sequence of float
        Of each stage.
    count, width : int

    Returns
    -------
    labs.kit.ranks.Run
    """
    import torch

    from labs.kit import ranks
    from labs.model_parallel import networks, stages

    size = len(seconds)
    layers = stages.split(networks.stack(size, width), [1] * size)
    held = [stages.clocked(layer, own, 0.0) for layer, own in zip(layers, seconds)]
    given = [torch.ones(1, width, dtype=torch.float64) for _ in range(count)]

    def args(rank):
        return serve, held[rank], given if rank == 0 else None, count, (1, width)

    return ranks.run(_serve, size, args=args)


def _serve(serve, stage, requests, count, shape, dist):
    return serve(stage, requests, count, shape, dist)


def stream_table(serve, whole=8e-3, count=40, sizes=(1, 2, 4, 8)):
    """Lines of text: the learner's stream on more and more devices, as rate and as latency of a lone request.

    Parameters
    ----------
    serve : callable
    whole : float
        Seconds of the whole network on one device.
    count : int
        Requests.
    sizes : sequence of int

    Returns
    -------
    str
    """
    from labs.kit.ranks import RunFailure

    lines = [f"stages   a lone request   {count} requests   requests a second"]
    try:
        for size in sizes:
            lone, many = (stream_run(serve, [whole / size] * size, k).time for k in (1, count))
            lines.append(f"{size:6}   {lone * 1e3:11.2f} ms   {many * 1e3:8.1f} ms   {count / many:17.0f}")
    except (NotImplementedError, RunFailure):
        return "Solve serve_stream first: then this cell shows your own stream."
    return "\n".join(lines)
