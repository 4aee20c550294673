"""Costs of a parameter server: every worker pushes its gradients, the servers add, every worker pulls the result.

Always say two things: whether pull begins only after push has ended, and which machines serve. Common assumptions:
`labs.kit.hardware.costs`; in addition, servers hold equal shares, and all messages of a phase share one alpha.
Source of the placement question: Jiang, Zhu, Lan, Yi, Cui and Guo, "A unified architecture for accelerating distributed
DNN training in heterogeneous GPU/CPU clusters" (BytePS), OSDI 2020, section 4.
"""

from __future__ import annotations

from labs.kit.hardware.costs.checks import checked, count, not_negative


def parameter_server(
    workers: int, nbytes: float, latency: float, bandwidth: float, servers: int = 1, overlapped: bool = False
) -> float:
    """Seconds of one push and pull with dedicated servers: 2 alpha + max(2S/B, 2nS/(kB)).

    Parameters
    ----------
    workers : int
        n.
    nbytes : float
        S, bytes of gradients on each worker and of weights that come back.
    latency, bandwidth
        alpha (s), B (B/s in each direction of every machine).
    servers : int
        k, machines that only serve; each holds S/k.
    overlapped : bool
        False: push, then pull. True: weights flow out while gradients flow in, which full-duplex links allow; the
        limit of fine pieces, 2 alpha + max(S/B, nS/(kB)).

    Returns
    -------
    float
        Seconds.

    Notes
    -----
    Derivation. In each direction a worker moves S and a server n S/k; the busier link decides. From k = n on, workers
    are the bottleneck and further servers do not help.
    """
    n, k = checked(workers, nbytes, latency, bandwidth), count("servers", servers)
    phase = max(nbytes / bandwidth, n * nbytes / (k * bandwidth))
    return 2 * latency + (phase if overlapped else 2 * phase)


def parameter_server_colocated(workers: int, nbytes: float, latency: float, bandwidth: float) -> float:
    """Seconds of one push and pull when every worker also serves S/n: 2 alpha + 2(n-1)/n S/B.

    Parameters
    ----------
    workers, nbytes, latency, bandwidth
        n, S (bytes on each worker), alpha (s), B (B/s).

    Returns
    -------
    float
        Seconds: exactly `mesh_all_reduce`, because it is the same exchange.

    Notes
    -----
    A worker's own share needs no network. Overlapping push and pull gains nothing: each phase already fills both
    directions of every link.
    """
    n = checked(workers, nbytes, latency, bandwidth)
    return 2 * (latency + (n - 1) / n * nbytes / bandwidth) if n > 1 else 0.0


def spare_machines_worker_share(workers: int, spare: int) -> float:
    """Share y of the vector that each worker should serve when `spare` machines help: (n-k) / (n^2 + kn - 2k).

    Parameters
    ----------
    workers, spare : int
        n >= 2 and k >= 0.

    Returns
    -------
    float
        y in [0, 1/n]; each spare machine serves (1 - n y)/k. 0 from k = n on.

    Notes
    -----
    Derivation. Overlapped, full duplex, y and z the shares of a worker and of a spare machine, n y + k z = 1. A worker
    receives the gradients of n-1 others for its share and the results for all but its share, (n-1)y + (1-y) =
    1 + (n-2)y; a spare machine receives n z. The best y makes both equal: y grows the first and shrinks the second.
    """
    n, k = count("workers", workers), spare
    not_negative("spare", k)
    if n < 2:
        raise ValueError("with one worker there is nothing to add up; workers must be at least 2")
    return max(0.0, (n - k) / (n * n + k * n - 2 * k))


def parameter_server_spare_machines(workers: int, nbytes: float, latency: float, bandwidth: float, spare: int) -> float:
    """Seconds of one overlapped push and pull when workers serve and `spare` machines help: 2 alpha + (1+(n-2)y) S/B.

    Parameters
    ----------
    workers, nbytes, latency, bandwidth
        n >= 2, S (bytes on each worker), alpha (s), B (B/s).
    spare : int
        k >= 0, machines without GPUs that only serve.

    Returns
    -------
    float
        Seconds. For n = 8 and k = 0, 2, 4, 8 without latency: 1.75, 1.47, 1.27, 1.00 S/B.

    Notes
    -----
    y is `spare_machines_worker_share`. k = 0 is all-reduce; every spare machine up to k = n helps, none beyond.
    """
    n = checked(workers, nbytes, latency, bandwidth)
    y = spare_machines_worker_share(n, spare)
    return 2 * latency + (1 + (n - 2) * y) * nbytes / bandwidth
