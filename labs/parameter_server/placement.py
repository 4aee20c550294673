"""How many servers for n workers, and where: the formulas as lines, the virtual clock as points."""

from __future__ import annotations

PIECES = 16  # of the overlapped runs on the virtual clock: the first piece only goes out, the last only comes back


def how_many_servers():
    """Explore the time of one push and pull over the number of servers, for some numbers of workers."""
    from labs.kit.draw import explore

    return explore(
        how_many_servers_picture,
        label="How many servers?",
        workers=[8, 4, 2],
        frames=[{"workers": n} for n in (8, 4, 2)],
    )


def how_many_servers_picture(workers):
    """Time of one exchange in units of S/B over the number of servers: dedicated, and spare beside serving workers.

    Lines are the formulas of `labs.kit.hardware.costs`, points are runs of `labs.parameter_server.exchange` on the
    virtual clock, cut into 16 pieces where push and pull overlap.

    Parameters
    ----------
    workers : int
        n, at least 2.

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import curves
    from labs.kit.hardware import costs
    from labs.parameter_server.exchange import exchange_time, shares_dedicated, shares_with_spares

    most = workers + max(2, workers // 2)
    counts, unit = range(1, most + 1), {"nbytes": 1.0, "latency": 0.0, "bandwidth": 1.0}
    few = sorted({1, 2, max(2, workers // 2), workers, most})
    clock = [(k, exchange_time(workers, shares_dedicated(workers, k), pieces)) for k in few for pieces in (1, PIECES)]
    clock += [(k, exchange_time(workers, shares_with_spares(workers, k), PIECES)) for k in [0, *few] if k <= workers]
    lines = {
        "push, then pull": (counts, [costs.parameter_server(workers, servers=k, **unit) for k in counts]),
        "overlapped": (counts, [costs.parameter_server(workers, servers=k, overlapped=True, **unit) for k in counts]),
        "workers serve, spares help": (
            range(most + 1),
            [costs.parameter_server_spare_machines(workers, spare=k, **unit) for k in range(most + 1)],
        ),
        "all-reduce": (range(most + 1), [costs.ring_all_reduce(workers, **unit)] * (most + 1)),
        "on the virtual clock": tuple(zip(*clock)),
    }
    return curves(
        lines, xlabel="servers besides the workers (number)", ylabel="time (S/B)", logy=True,
        points=["on the virtual clock"],
        name=f"One push and pull for {workers} workers", height=360,
    )  # fmt: skip
