"""Several servers, each with some of the parameters: push_gradients, pull_weights, and what the servers do.

Ranks from 0 to servers - 1 serve, the others work. ``owner[i]`` says which server keeps parameter i.
"""

from __future__ import annotations

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def push_gradients(gradients, owner, dist):
    """Worker: send each parameter's gradient to its server, all at once.

    Parameters
    ----------
    gradients : list of Tensor
        One for each parameter.
    owner : list of int
    dist : virtual or real torch.distributed

    Returns
    -------
    list of Work
        To wait for before the gradients are changed.
    """
    return [dist.isend(gradient, dst=server) for gradient, server in zip(gradients, owner)]


def pull_weights(weights, owner, dist):
    """Worker: receive each parameter from its server, in place, and wait for all."""
    for work in [dist.irecv(weight, src=server) for weight, server in zip(weights, owner)]:
        work.wait()


def serve(weights, owner, rounds, rate, workers, dist):
    """Server: in each round take everybody's gradients of its own parameters, step with their mean, hand them out.

    Parameters
    ----------
    weights : list of Tensor
        All parameters; only the server's own are used, and changed in place.
    owner : list of int
    rounds : int
    rate : float
    workers : sequence of int
        Ranks of the workers.
    dist : virtual or real torch.distributed
    """
    import torch

    mine = [weight for weight, server in zip(weights, owner) if server == dist.get_rank()]
    for _ in range(rounds):
        gradients = [[torch.empty_like(weight) for weight in mine] for _ in workers]
        works = [dist.irecv(g, src=worker) for worker, own in zip(workers, gradients) for g in own]
        for work in works:
            work.wait()
        for weight, *own in zip(mine, *gradients):
            weight -= rate * sum(own) / len(workers)
        for work in [dist.isend(weight, dst=worker) for worker in workers for weight in mine]:
            work.wait()


def program(weights, gradients_at, owner, servers, rounds, rate, dist):
    """Rank program: train `weights` with sharded servers; returns each rank's weights.

    Parameters
    ----------
    weights : list of Tensor
    gradients_at : callable
        ``gradients_at(weights, worker) -> list of Tensor``, worker from 0.
    owner : list of int
    servers, rounds : int
    rate : float
    dist : virtual or real torch.distributed
    """
    rank, workers = dist.get_rank(), range(servers, dist.get_world_size())
    if rank < servers:
        serve(weights, owner, rounds, rate, workers, dist)
        return weights
    for _ in range(rounds):
        works = push_gradients(gradients_at(weights, rank - servers), owner, dist)
        pull_weights(weights, owner, dist)
        for work in works:
            work.wait()
    return weights


def exchange_seconds(sizes, owner, servers, workers, bandwidth=12.5e9, latency=5e-6):
    """Virtual time of one push and pull of parameters of these sizes (B, multiples of 4) on an ideal network, in s."""
    import torch

    from labs.kit import ranks
    from labs.kit.hardware import uniform

    weights = [torch.zeros(size // 4) for size in sizes]
    network = uniform(servers + workers, latency, bandwidth)
    return ranks.run(
        program, servers + workers, args=(weights, _as_they_are, list(owner), servers, 1, 0.1),
        topology=network, trace=False,
    ).time  # fmt: skip


def _as_they_are(weights, worker):
    """Gradients for a run of which only the time is of interest."""
    import torch

    return [torch.zeros_like(weight) for weight in weights]
