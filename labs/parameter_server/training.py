"""Real training through a parameter server on virtual ranks: the gradients are computed, the clock decides the order.

What an asynchronous server does depends on who comes first. On real machines that differs from run to run; here the
virtual clock decides, so the same machine gives the same training, to the last digit.
"""

from __future__ import annotations

from dataclasses import dataclass

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


@dataclass(frozen=True)
class Training:
    """What a training through a server gave.

    Attributes
    ----------
    times : tuple of float
        Virtual time of each update of the weights, in s.
    losses : tuple of float
        Loss over all images after each update; `every` updates apart.
    every : int
    staleness : tuple of int
        For each update: how many others had changed the weights since its gradient was computed from them.
    """

    times: tuple
    losses: tuple
    every: int
    staleness: tuple

    @property
    def loss_times(self) -> list:
        """The virtual times that belong to `losses`, in s."""
        return list(self.times[self.every - 1 :: self.every])[: len(self.losses)]

    def reaches(self, loss: float):
        """Time (s) and number of updates until the loss is at most `loss`; (None, None) where it never is."""
        for index, value in enumerate(self.losses):
            if value <= loss:
                return self.loss_times[index], (index + 1) * self.every
        return None, None


def train(seconds, rounds, *, bound=None, batch=16, rate=0.5, every=4, network=None) -> Training:
    """Train the digits through one server.

    Parameters
    ----------
    seconds : sequence of float
        For each worker how long one gradient takes it, in s of virtual time.
    rounds : int
        Gradients that each worker computes.
    bound : int or None
        How many rounds a worker may be ahead of the slowest one. 0: synchronous. None: asynchronous, no bound.
    batch : int
        Images for each gradient, drawn with a seed of the worker's own.
    rate : float
        Learning rate of a step with the mean of the workers' gradients; a single gradient counts 1/workers of it.
    every : int
        Updates between two evaluations of the loss (which cost no virtual time).
    network : Topology, optional

    Returns
    -------
    Training
    """
    from labs.kit import ranks
    from labs.parameter_server.problem import digits

    workers = len(seconds)
    run = ranks.run(
        program, workers + 1, args=lambda rank: (tuple(seconds), rounds, bound, batch, rate),
        topology=network,
    )  # fmt: skip
    arrivals = sorted((event.end, event.peer) for event in run.trace if event.kind == "recv" and event.rank == 0)
    kept, staleness = run.results[0]
    data = digits()
    losses = tuple(data.loss(weights) for weights in kept[every - 1 :: every])
    return Training(tuple(time for time, _ in arrivals), losses, every, tuple(staleness))


def program(seconds, rounds, bound, batch, rate, dist):
    """Rank program: rank 0 serves, the others compute gradients of the digits."""
    import torch

    from labs.kit.ranks import work
    from labs.parameter_server.problem import digits

    data, rank = digits(), dist.get_rank()
    weights = data.start
    if rank == 0:
        return serve(weights, rounds, bound, rate, dist)
    random = torch.Generator().manual_seed(rank)
    for _ in range(rounds):
        chosen = torch.randint(len(data.labels), (batch,), generator=random)
        gradient = data.gradient(weights, chosen)
        work(seconds=seconds[rank - 1], label="gradient")
        dist.send(gradient, dst=0)
        dist.recv(weights, src=0)
    return None


def serve(weights, rounds, bound, rate, dist):
    """Rank 0: apply each gradient when it comes; hold back whoever is more than `bound` rounds ahead (None: nobody).

    Returns
    -------
    kept : list of Tensor
        The weights after each update.
    staleness : list of int
        By update: how many updates came between the weights that the gradient was computed from and itself.
    """
    import torch

    workers = dist.get_world_size() - 1
    buffer, kept, staleness = torch.empty_like(weights), [], []
    done, seen, held = [0] * (workers + 1), [0] * (workers + 1), []
    for update in range(workers * rounds):
        worker = dist.recv(buffer)
        weights -= rate / workers * buffer
        kept.append(weights.clone())
        staleness.append(update - seen[worker])
        done[worker] += 1
        held.append(worker)
        slowest = min(done[1:])
        for other in [w for w in held if bound is None or done[w] - slowest <= bound]:
            held.remove(other)
            seen[other] = update + 1
            dist.send(weights, dst=other)
    return kept, staleness
