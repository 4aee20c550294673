"""Costs of the all-reduce algorithms. Symbols and common assumptions: `labs.kit.hardware.costs`."""

from __future__ import annotations

from typing import Literal

from labs.kit.hardware.costs.checks import checked, count, log2_ceil
from labs.kit.hardware.costs.collectives import (
    all_gather,
    double_tree_broadcast,
    gather,
    reduce_scatter,
    scatter,
    tree_broadcast,
    tree_reduce,
)


def lower_bound_all_reduce(world_size: int, nbytes: float, latency: float, bandwidth: float) -> float:
    """Seconds that no all-reduce can beat: alpha + 2(n-1)/n S/B.

    Parameters
    ----------
    world_size : int
        n, ranks.
    nbytes : float
        S, bytes that each rank brings and that each ends up with.
    latency : float
        alpha, seconds a message.
    bandwidth : float
        B, B/s in each direction.

    Returns
    -------
    float
        Seconds. 0 for one rank or no bytes.

    Notes
    -----
    Derivation. Take one position of the vector. Its n numbers can be combined into one sum only by n-1 transmissions
    (each joins two partial sums), and n-1 ranks must then receive the sum. That is 2(n-1) transmissions a position,
    2(n-1)S bytes in all; n senders of B bytes per second need 2(n-1)S/(nB). The last byte arrives alpha after it was
    sent. Assumes that only ranks add (a switch that adds can halve this) and that numbers are not compressed.
    Source: Patarasuk and Yuan (2009), as in `reduce_scatter`.
    """
    n = checked(world_size, nbytes, latency, bandwidth)
    return latency + 2 * (n - 1) / n * nbytes / bandwidth if n > 1 and nbytes > 0 else 0.0


def ring_all_reduce(world_size: int, nbytes: float, latency: float, bandwidth: float) -> float:
    """Seconds of the ring all-reduce: 2(n-1) alpha + 2(n-1)/n S/B.

    Parameters
    ----------
    world_size, nbytes, latency, bandwidth
        n, S (bytes on each rank), alpha (s), B (B/s).

    Returns
    -------
    float
        Seconds.

    Notes
    -----
    A reduce-scatter, then an all-gather, n-1 rounds each; all traffic is between neighbours. Moves as few bytes as any
    algorithm; the price is a latency that grows with n. Source: Patarasuk and Yuan (2009), as in `reduce_scatter`.

    Examples
    --------
    >>> ring_all_reduce(4, 100e6, latency=0.0, bandwidth=50e9)
    0.003
    """
    rounds = reduce_scatter(world_size, nbytes, latency, bandwidth)
    return rounds + all_gather(world_size, nbytes, latency, bandwidth)


def tree_all_reduce(world_size: int, nbytes: float, latency: float, bandwidth: float) -> float:
    """Seconds of a binomial-tree all-reduce as one writes it first, reduce then broadcast: 2L (alpha + S/B).

    Parameters
    ----------
    world_size, nbytes, latency, bandwidth
        n, S (bytes on each rank), alpha (s), B (B/s).

    Returns
    -------
    float
        Seconds.

    Notes
    -----
    Few rounds, but the whole vector travels in each. Not the tree of NCCL: see `double_tree_all_reduce`.
    Source: Thakur, Rabenseifner and Gropp (2005), as in `tree_broadcast`.
    """
    up = tree_reduce(world_size, nbytes, latency, bandwidth)
    return up + tree_broadcast(world_size, nbytes, latency, bandwidth)


def halving_doubling_all_reduce(world_size: int, nbytes: float, latency: float, bandwidth: float) -> float:
    """Seconds of recursive halving and doubling: 2L alpha + 2(n-1)/n S/B.

    Parameters
    ----------
    world_size : int
        n, ranks: a power of two.
    nbytes, latency, bandwidth
        S (bytes on each rank), alpha (s), B (B/s).

    Returns
    -------
    float
        Seconds. Never more than the ring's, on an ideal network.

    Raises
    ------
    ValueError
        When `world_size` is not a power of two: the surplus ranks would have to hand their vectors to others first.

    Notes
    -----
    Reduce-scatter: partners at distance n/2, n/4, ..., 1 exchange halves of what they still care for, S/2, S/4, ...;
    then the same backwards. Distant partners make it sensitive to bottlenecks between nodes.
    Source: Rabenseifner, "Optimization of collective reduction operations", ICCS 2004; Thakur et al. (2005).
    """
    n = checked(world_size, nbytes, latency, bandwidth)
    if n & (n - 1):
        raise ValueError(
            f"halving and doubling pairs up ranks, so their number must be a power of two, not {n}; "
            "others first let some ranks hand their vector to a neighbour"
        )
    return 2 * log2_ceil(n) * latency + 2 * (n - 1) / n * nbytes / bandwidth


def mesh_all_reduce(world_size: int, nbytes: float, latency: float, bandwidth: float) -> float:
    """Seconds of the direct all-reduce, each rank with all others at once: 2 alpha + 2(n-1)/n S/B.

    Parameters
    ----------
    world_size, nbytes, latency, bandwidth
        n, S (bytes on each rank), alpha (s), B (B/s).

    Returns
    -------
    float
        Seconds.

    Notes
    -----
    Rank i receives chunk i from everyone, adds, and sends the sum to everyone. Assumes that a rank's n-1 messages
    overlap, so that they share one alpha (and the link's bandwidth): true on the virtual machine when all are posted
    before any is waited for, only nearly true of hardware, where posting n-1 messages takes time as well.
    Source: a reduce-scatter and an all-gather, each an all-to-all exchange of chunks.
    """
    n = checked(world_size, nbytes, latency, bandwidth)
    return 2 * (latency + (n - 1) / n * nbytes / bandwidth) if n > 1 else 0.0


def double_tree_all_reduce(
    world_size: int, nbytes: float, latency: float, bandwidth: float, blocks: int | None = None
) -> float:
    """Seconds of a reduction, then a broadcast, pipelined through two binary trees: 2 (2L + 2k) (alpha + S/(2kB)).

    Parameters
    ----------
    world_size, nbytes, latency, bandwidth
        n, S (bytes on each rank), alpha (s), B (B/s).
    blocks : int, optional
        k, blocks into which each half is cut. Default: the best number.

    Returns
    -------
    float
        Seconds. At the best k about 4L alpha + 2S/B + 2 sqrt(8 L alpha S/B).

    Notes
    -----
    The reduction is the broadcast backwards. Derivation, limits and source: `double_tree_broadcast`. Letting the
    broadcast of the first blocks begin while later blocks are still being reduced would save part of the 4L alpha;
    on full-duplex links it cannot save bandwidth, because both phases use both directions.
    """
    return 2 * double_tree_broadcast(world_size, nbytes, latency, bandwidth, blocks)


def collector_all_reduce(
    world_size: int, nbytes: float, latency: float, bandwidth: float, overlapped: bool = False
) -> float:
    """Seconds when one rank collects everything, adds it up and sends it back: 2 alpha + 2(n-1) S/B.

    Parameters
    ----------
    world_size, nbytes, latency, bandwidth
        n, S (bytes on each rank), alpha (s), B (B/s).
    overlapped : bool
        True: the vector is cut so finely that results flow out while gradients still flow in, which a full-duplex
        link allows: 2 alpha + (n-1) S/B.

    Returns
    -------
    float
        Seconds.

    Notes
    -----
    The collector's own link is the bottleneck: (n-1)S come in and (n-1)S go out. The n-1 messages of a phase are
    posted together and share one alpha; one at a time, a phase costs (n-1)(alpha + S/B).
    """
    n = checked(world_size, nbytes, latency, bandwidth)
    if n == 1:
        return 0.0
    phases = 1 if overlapped else 2
    return 2 * latency + phases * (n - 1) * nbytes / bandwidth


def hierarchical_all_reduce(
    nodes: int,
    gpus_per_node: int,
    nbytes: float,
    latency_in: float,
    bandwidth_in: float,
    latency_out: float,
    bandwidth_out: float,
    uplink: Literal["device", "shared", "leader"] = "device",
) -> float:
    """Seconds of an all-reduce in two levels, inside the nodes and between them.

    With N nodes of g devices, by `uplink`:

    * "device", every device has its own uplink of B_out:
      2(g-1) alpha_in + 2(N-1) alpha_out + 2(g-1)/g S/B_in + 2(N-1)/N S/(g B_out)
    * "shared", the devices of a node do the same over one uplink of B_out: S/B_out in place of S/(g B_out)
    * "leader", one device speaks for its node, and must first get the whole sum and later hand it on:
      2g alpha_in + 2(N-1) alpha_out + 4(g-1)/g S/B_in + 2(N-1)/N S/B_out

    Parameters
    ----------
    nodes, gpus_per_node : int
        N and g.
    nbytes : float
        S, bytes on each device.
    latency_in, latency_out : float
        Seconds a message inside a node, and between nodes.
    bandwidth_in, bandwidth_out : float
        B/s in each direction: of each device inside its node, and of one uplink.
    uplink : {"device", "shared", "leader"}
        Who talks to the other nodes.

    Returns
    -------
    float
        Seconds.

    Notes
    -----
    Derivation. Inside: ring reduce-scatter, after which each device holds S/g; between: a ring all-reduce of S/g among
    the N devices of equal place; inside: ring all-gather. Phases follow one another. The leader adds a gather before
    the middle phase and a scatter after it, which double the bytes inside; a leader fed by a finely pipelined chain
    would get by with 2 S/B_in. The bytes that leave a node are the same for "shared" and "leader".
    """
    checked(nodes, nbytes, latency_out, bandwidth_out)
    g, n = count("gpus_per_node", gpus_per_node), count("nodes", nodes)
    shard = nbytes / g
    inside = reduce_scatter(g, nbytes, latency_in, bandwidth_in) + all_gather(g, nbytes, latency_in, bandwidth_in)
    if uplink == "device":
        return inside + ring_all_reduce(n, shard, latency_out, bandwidth_out)
    if uplink == "shared":
        return inside + ring_all_reduce(n, shard, latency_out, bandwidth_out / g)
    if uplink == "leader":
        handing_over = gather(g, nbytes, latency_in, bandwidth_in) + scatter(g, nbytes, latency_in, bandwidth_in)
        return inside + handing_over + ring_all_reduce(n, nbytes, latency_out, bandwidth_out)
    raise ValueError(f"uplink must be 'device', 'shared' or 'leader', not {uplink!r}")
