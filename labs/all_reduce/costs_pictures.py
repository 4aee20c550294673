"""Ring or tree, few ranks or many: what the formulas say, with sliders."""

from __future__ import annotations


def ring_or_tree():
    """Explore the time of ring, binomial tree and pipelined double tree over the message size."""
    from labs.kit.draw import explore

    return explore(
        ring_or_tree_picture,
        label="Ring or tree?",
        world_size=[4, 8, 16, 64, 256, 1024],
        latency_us=(1, 50, 1, 5),
        bandwidth_GBps=(1, 400, 1, 50),
        frames=[{"world_size": n} for n in (4, 8, 64, 1024)] + [{"world_size": 64, "latency_us": 20}],
    )


def ring_or_tree_picture(world_size, latency_us, bandwidth_GBps):
    """Times over 1 kB to 10 GB, with a mark where the ring begins to win against the binomial tree.

    Parameters
    ----------
    world_size : int
        Ranks.
    latency_us : float
        Microseconds a message.
    bandwidth_GBps : float
        GB/s of each rank in each direction.

    Returns
    -------
    labs.kit.draw.Picture
    """
    import numpy as np

    from labs.kit.draw import curves
    from labs.kit.hardware import costs

    sizes = np.logspace(3, 10, 43)
    network = (latency_us * 1e-6, bandwidth_GBps * 1e9)
    algorithms = {
        "ring": costs.ring_all_reduce,
        "binomial tree": costs.tree_all_reduce,
        "double tree": costs.double_tree_all_reduce,
    }
    lines = {name: (sizes, [time(world_size, size, *network) for size in sizes]) for name, time in algorithms.items()}
    cross = costs.ring_tree_crossover(world_size, *network)
    marks = [(cross, "ring beats binomial tree from here")] if cross >= sizes[0] else []
    return curves(
        lines, xlabel="message size (B)", ylabel="time (s)", logx=True, logy=True, marks=marks,
        name=f"All-reduce on {world_size} ranks",
    )  # fmt: skip


def grows_with_ranks():
    """Explore how the time of an all-reduce grows with the number of ranks, for a message size."""
    from labs.kit.draw import explore

    return explore(
        grows_with_ranks_picture,
        label="Does it take longer on more ranks?",
        megabytes=[0.001, 0.1, 1, 10, 100, 1000],
        frames=[{"megabytes": size} for size in (0.001, 1, 100, 1000)],
    )


def grows_with_ranks_picture(megabytes):
    """Time of collector, ring and binomial tree over 2 to 1,024 ranks, at 5 µs and 50 GB/s.

    The collector is the lesson's own program: one message after another, 2(n-1) (alpha + S/B).

    Parameters
    ----------
    megabytes : float
        Size of each rank's tensor in MB.

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import curves
    from labs.kit.hardware import costs

    ranks = [2**k for k in range(1, 11)]
    algorithms = {
        "collector": lambda n, nbytes, latency, bandwidth: 2 * (n - 1) * (latency + nbytes / bandwidth),
        "ring": costs.ring_all_reduce,
        "binomial tree": costs.tree_all_reduce,
    }
    lines = {name: (ranks, [time(n, megabytes * 1e6, 5e-6, 50e9) for n in ranks]) for name, time in algorithms.items()}
    return curves(
        lines, xlabel="ranks (number)", ylabel="time (s)", logx=True, logy=True, name=f"All-reduce of {megabytes:g} MB"
    )
