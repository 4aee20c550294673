"""Costs of the collectives other than all-reduce. Symbols and common assumptions: `labs.kit.hardware.costs`."""

from __future__ import annotations

from math import floor, inf, sqrt

from labs.kit.hardware.costs.checks import checked, count, log2_ceil


def reduce_scatter(world_size: int, nbytes: float, latency: float, bandwidth: float) -> float:
    """Seconds of a ring reduce-scatter: (n-1) alpha + (n-1)/n S/B.

    Parameters
    ----------
    world_size : int
        n, ranks.
    nbytes : float
        S, bytes of the **whole** vector that each rank brings; each keeps S/n of the sum.
    latency : float
        alpha, seconds a message.
    bandwidth : float
        B, B/s in each direction.

    Returns
    -------
    float
        Seconds.

    Notes
    -----
    n-1 rounds; in each, every rank sends one chunk of S/n to its right while it receives one from its left.
    Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", J. Parallel
    Distrib. Comput. 69 (2009).
    """
    n = checked(world_size, nbytes, latency, bandwidth)
    return (n - 1) * (latency + nbytes / n / bandwidth)


def all_gather(world_size: int, nbytes: float, latency: float, bandwidth: float) -> float:
    """Seconds of a ring all-gather: (n-1) alpha + (n-1)/n S/B.

    Parameters
    ----------
    world_size, latency, bandwidth
        n, alpha (s), B (B/s): as in `reduce_scatter`, of which this is the mirror image.
    nbytes : float
        S, bytes of the **gathered** vector; each rank brings S/n.

    Returns
    -------
    float
        Seconds.

    Notes
    -----
    Source: as `reduce_scatter`.
    """
    return reduce_scatter(world_size, nbytes, latency, bandwidth)


def tree_broadcast(world_size: int, nbytes: float, latency: float, bandwidth: float) -> float:
    """Seconds of a broadcast along a binomial tree: L (alpha + S/B).

    Parameters
    ----------
    world_size, nbytes, latency, bandwidth
        n, S (bytes that every rank ends up with), alpha (s), B (B/s).

    Returns
    -------
    float
        Seconds.

    Notes
    -----
    Each round doubles the ranks that hold the vector, which travels whole. With n not a power of two the last round
    is partly idle. Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in
    MPICH", Int. J. High Perform. Comput. Appl. 19 (2005).
    """
    n = checked(world_size, nbytes, latency, bandwidth)
    return log2_ceil(n) * (latency + nbytes / bandwidth)


def tree_reduce(world_size: int, nbytes: float, latency: float, bandwidth: float) -> float:
    """Seconds of a reduction to one rank along a binomial tree: L (alpha + S/B), the broadcast backwards.

    Parameters
    ----------
    world_size, nbytes, latency, bandwidth
        n, S (bytes that every rank brings), alpha (s), B (B/s).

    Returns
    -------
    float
        Seconds.

    Notes
    -----
    Source: as `tree_broadcast`.
    """
    return tree_broadcast(world_size, nbytes, latency, bandwidth)


def double_tree_broadcast(
    world_size: int, nbytes: float, latency: float, bandwidth: float, blocks: int | None = None
) -> float:
    """Seconds of a broadcast pipelined through two binary trees: (2L + 2k) (alpha + S/(2kB)).

    Parameters
    ----------
    world_size, nbytes, latency, bandwidth
        n, S (bytes that every rank ends up with), alpha (s), B (B/s).
    blocks : int, optional
        k, blocks into which each half of the vector is cut. Default: the number that makes the time smallest.

    Returns
    -------
    float
        Seconds. An upper bound: for some n the schedule ends a few steps earlier.

    Notes
    -----
    Derivation. Each half of the vector goes down its own binary tree, in k blocks of S/(2k). Every rank is an inner
    point of at most one tree. So in each tree's turn it sends a block to at most two children and receives at most
    one block from each of two parents: the transfers, drawn as a graph from senders to receivers, have degree two at
    most, and such a graph can be coloured with two colours. Let steps alternate between the colours; then in each step
    a rank sends at most one block and receives at most one, at full speed, and each transfer is repeated every two
    steps. A block passes L edges, waiting at most two steps at each; k-1 further blocks follow two steps apart each,
    and the second tree may start one step later: at most 2L + 2k steps of alpha + S/(2kB).

    The time is smallest near k = sqrt(L S / (2 alpha B)), where it is 2L alpha + S/B + sqrt(8 L alpha S/B).

    Limits: k is a whole number of at least 1, so the formula with the square root is too low for vectors of less
    than about 2 alpha B / L bytes. Steps are assumed to keep time with each other, and a rank to use one send and one
    receive at a time. Source: Sanders, Speck and Träff, "Two-tree algorithms for full bandwidth broadcast, reduction
    and scan", Parallel Computing 35 (2009); NCCL's "tree" is of this family.
    """
    n = checked(world_size, nbytes, latency, bandwidth)
    if n == 1:
        return 0.0
    depth = log2_ceil(n)

    def seconds(k: int) -> float:
        return (2 * depth + 2 * k) * (latency + nbytes / (2 * k * bandwidth))

    if blocks is not None:
        return seconds(count("blocks", blocks))
    if nbytes == 0:
        return seconds(1)
    ideal = sqrt(depth * nbytes / 2 / bandwidth) / sqrt(latency) if latency > 0 else inf
    if ideal > 2**52:
        return 2 * depth * latency + nbytes / bandwidth  # the limit of infinitely many blocks
    best = max(1, floor(ideal))
    return min(seconds(best), seconds(best + 1))  # the time is convex in k


def scatter(world_size: int, nbytes: float, latency: float, bandwidth: float) -> float:
    """Seconds for one rank to send every other rank its own part: alpha + (n-1)/n S/B.

    Parameters
    ----------
    world_size, nbytes, latency, bandwidth
        n, S (bytes on the root, S/n for each rank), alpha (s), B (B/s).

    Returns
    -------
    float
        Seconds.

    Notes
    -----
    The n-1 messages leave at the same time, so they share one alpha and the root's link. Sent one after the other they
    cost (n-1) alpha. No algorithm moves fewer bytes: the root must send (n-1)/n S.
    """
    n = checked(world_size, nbytes, latency, bandwidth)
    return latency + (n - 1) / n * nbytes / bandwidth if n > 1 else 0.0


def gather(world_size: int, nbytes: float, latency: float, bandwidth: float) -> float:
    """Seconds for one rank to collect a part from every other rank: alpha + (n-1)/n S/B, a `scatter` backwards.

    Parameters
    ----------
    world_size, nbytes, latency, bandwidth
        n, S (bytes on the root in the end, S/n from each rank), alpha (s), B (B/s).

    Returns
    -------
    float
        Seconds.
    """
    return scatter(world_size, nbytes, latency, bandwidth)


def all_to_all(world_size: int, nbytes: float, latency: float, bandwidth: float) -> float:
    """Seconds for every rank to send a different part to every other rank: alpha + (n-1)/n S/B.

    Parameters
    ----------
    world_size, nbytes, latency, bandwidth
        n, S (bytes that each rank holds before and after, S/n for each rank), alpha (s), B (B/s).

    Returns
    -------
    float
        Seconds.

    Notes
    -----
    As `scatter`, from all ranks at once: the up links are as busy as the down links, so it costs no more. On a network
    with a bottleneck in the middle it does.
    """
    return scatter(world_size, nbytes, latency, bandwidth)
