"""Replicas that answer requests: batches against latency, with the learner's own queue."""

from __future__ import annotations

FIXED, EACH = 4e-3, 0.5e-3  # s: what a batch costs whatever is in it, and what each request adds
REQUESTS = 400


def serving(serve):
    """Explore latency over the rate of requests, for a few sizes of batches.

    Parameters
    ----------
    serve : callable
        The learner's ``serve(arrivals, replicas, max_batch, seconds)``.

    Returns
    -------
    labs.kit.draw.Explorer or None
        None, with a sentence printed, when there is no answer yet.
    """
    from labs.kit.draw import explore

    try:
        if serve([0.0], 1, 1, lambda count: 1.0) is None:
            raise NotImplementedError
    except NotImplementedError:
        print("Solve serve first: then this cell shows how your replicas answer.")
        return None

    def picture(replicas):
        return serving_picture(serve, replicas)

    return explore(
        picture,
        label="Batches against latency",
        replicas=[2, 1, 4],
        frames=[{"replicas": 1}, {"replicas": 2}, {"replicas": 4}],
    )


def arrivals(rate, count=REQUESTS, seed=0):
    """Times of a Poisson stream.

    Parameters
    ----------
    rate : float
        Requests a second.
    count, seed : int

    Returns
    -------
    list of float
        Seconds, rising.
    """
    import numpy as np

    return np.cumsum(np.random.default_rng(seed).exponential(1 / rate, count)).tolist()


def latencies(serve, rate, replicas, max_batch):
    """Seconds from arrival to answer, for each of 400 requests."""
    came = arrivals(rate)
    return [end - at for end, at in zip(serve(came, replicas, max_batch, lambda count: FIXED + EACH * count), came)]


def serving_picture(serve, replicas):
    """Draw the latency that 95 of 100 requests stay under, over the rate of requests, for batches of 1, 4 and 16.

    Parameters
    ----------
    serve : callable
    replicas : int

    Returns
    -------
    labs.kit.draw.Picture
    """
    import numpy as np

    from labs.kit.draw import curves

    rates = [25.0 * replicas * 2**k for k in (0, 1, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6)]
    lines = {
        f"up to {most}" if most > 1 else "one by one": (
            rates,
            [float(np.quantile(latencies(serve, rate, replicas, most), 0.95)) for rate in rates],
        )
        for most in (1, 4, 16)
    }
    return curves(
        lines,
        xlabel="requests a second (1/s)",
        ylabel="latency (s)",
        logx=True,
        logy=True,
        name=f"Latency that 95 % stay under, {replicas} replica{'s' if replicas > 1 else ''}",
    )
