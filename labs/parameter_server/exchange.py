"""One push and pull on the virtual clock: any machines may serve, in one piece or in a pipeline of pieces.

Who serves how much is a list of shares, so one program covers all placements: servers of their own (workers' shares
are 0), workers that serve each other (equal shares), and workers helped by spare machines (both). In one piece all
gradients are pushed before the first weight comes back. In many pieces the results of one piece flow out while the
gradients of the next flow in.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm

from labs.kit.hardware.costs import spare_machines_worker_share


def shares_dedicated(workers: int, servers: int) -> list[float]:
    """Shares of the vector by rank: nothing on the workers, equal parts on the servers after them."""
    return [0.0] * workers + [1 / servers] * servers


def shares_colocated(workers: int) -> list[float]:
    """Equal shares on the workers, and no other machine."""
    return [1 / workers] * workers


def shares_with_spares(workers: int, spare: int) -> list[float]:
    """The best shares when workers serve and `spare` machines help: y on each worker, the rest on the spare ones."""
    y = spare_machines_worker_share(workers, spare)
    return [y] * workers + [(1 - workers * y) / spare] * spare if spare else [y] * workers


def push_and_pull(workers, shares, nbytes, pieces, dist):
    """Rank program: every worker pushes `nbytes` of gradients and pulls as many bytes of weights.

    Ranks from 0 to workers - 1 are workers; rank m serves ``shares[m]`` of every piece. In step t piece t is pushed
    while piece t - 1 is pulled, so pieces = 1 means push, then pull.

    Parameters
    ----------
    workers : int
        n.
    shares : sequence of float
        By rank, adding up to 1.
    nbytes, pieces : int
        S, and the number of pieces that it is cut into.
    dist : virtual or real torch.distributed
    """
    import torch

    rank, streams = dist.get_rank(), equal_streams(shares)
    part = [round(share * nbytes / pieces / max(count, 1)) for share, count in zip(shares, streams)]

    def buffers(machine):
        return [torch.zeros(part[machine], dtype=torch.uint8) for _ in range(streams[machine])]

    out, into = ([buffers(machine) for machine in range(len(shares))] for _ in range(2))
    gradients, results = [buffers(rank) for _ in range(workers)], buffers(rank)
    workers_but_me = [worker for worker in range(workers) if worker != rank]
    servers = [machine for machine, count in enumerate(streams) if count and machine != rank and rank < workers]
    for step in range(pieces + 1):
        works = []
        if step < pieces:
            works += [dist.isend(x, dst=server, tag=1) for server in servers for x in out[server]]
            works += [dist.irecv(x, src=worker, tag=1) for worker in workers_but_me for x in gradients[worker]]
        if step > 0:
            works += [dist.irecv(x, src=server, tag=2) for server in servers for x in into[server]]
            works += [dist.isend(x, dst=worker, tag=2) for worker in workers_but_me for x in results]
        for work in works:
            work.wait()


def equal_streams(shares) -> list[int]:
    """In how many messages each machine's share travels, so that all messages are about equally long.

    A link divides itself evenly among the messages on it. Where a spare machine serves more than a worker, its share
    has to come in more messages, or it would get the same part of every link and be served last.
    """
    smallest = min((share for share in shares if share), default=1.0)
    ratios = [Fraction(share / smallest).limit_denominator(4) for share in shares]
    whole = lcm(*(ratio.denominator for ratio in ratios))
    return [int(ratio * whole) for ratio in ratios]


def exchange_time(workers: int, shares, pieces: int = 1, nbytes: int = 1_680_000) -> float:
    """Virtual time of `push_and_pull` on an ideal network without latency, in units of S/B.

    Parameters
    ----------
    workers, shares, pieces, nbytes
        As for `push_and_pull`. The result hardly depends on `nbytes`: shares are rounded to whole bytes.

    Returns
    -------
    float
    """
    from labs.kit import ranks
    from labs.kit.hardware import uniform

    network = uniform(len(shares), latency=0.0, bandwidth=float(nbytes))
    run = ranks.run(
        push_and_pull, len(shares), args=(workers, tuple(shares), nbytes, pieces), topology=network, trace=False
    )
    return run.time
