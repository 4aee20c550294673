"""Bus bandwidth: how fast the wires were, whatever the collective and the number of ranks."""

from __future__ import annotations

from labs.kit.hardware.costs.checks import count, not_negative, positive

_HALVES = {"all_reduce": 2, "reduce_scatter": 1, "all_gather": 1, "all_to_all": 1}
_WHOLE = ("broadcast", "reduce")


def bus_factor(collective: str, world_size: int) -> float:
    """By what to multiply S / time to get the speed of each rank's link, as nccl-tests does.

    Parameters
    ----------
    collective : str
        "all_reduce": 2(n-1)/n. "reduce_scatter", "all_gather", "all_to_all": (n-1)/n. "broadcast", "reduce": 1.
    world_size : int
        n, ranks.

    Returns
    -------
    float
        The factor. 0 for one rank, which uses no wire (broadcast and reduce: 1).

    Raises
    ------
    ValueError
        For another collective.

    Notes
    -----
    Does not hold for reductions inside the switch. In whole numbers ``2 * (n - 1) / n`` is 1 for every n: true for two
    ranks, wrong from three on, and a bandwidth tool has shipped with that. Source: nccl-tests, doc/PERFORMANCE.md.
    """
    n = count("world_size", world_size)
    if collective in _HALVES:
        return _HALVES[collective] * (n - 1) / n
    if collective in _WHOLE:
        return 1.0
    known = ", ".join((*_HALVES, *_WHOLE))
    raise ValueError(f"no bus bandwidth is defined for {collective!r}; known: {known}")


def bus_bandwidth(collective: str, world_size: int, nbytes: float, seconds: float) -> float:
    """B/s of each rank's link in one direction during a collective of `nbytes` that took `seconds`.

    Parameters
    ----------
    collective, world_size
        As in `bus_factor`.
    nbytes : float
        S as nccl-tests counts it: of the whole vector (the gathered one for all_gather).
    seconds : float
        Measured time, > 0.

    Returns
    -------
    float
        B/s, to compare with the link's own bandwidth.
    """
    not_negative("nbytes", nbytes)
    positive("seconds", seconds)
    return bus_factor(collective, world_size) * nbytes / seconds
