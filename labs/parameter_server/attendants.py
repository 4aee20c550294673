"""An asynchronous server on real processes that survives the death of a worker: a thread for each worker.

A receive from anyone cannot notice a death: it does not know whose. A receive from one worker can, and gloo ends it
at once when that worker's connection closes. So each worker gets an attendant, a thread that receives from it by name;
a lock lets one of them change the weights at a time. Virtual ranks have no threads: there `dist.recv` without a source
does the same for workers that live (`labs.parameter_server.training`).
"""

from __future__ import annotations


def serve(weights, rounds, rate, dist):
    """Rank 0: apply each worker's gradients as they come, `rounds` of each; whoever dies is left out from then on.

    Parameters
    ----------
    weights : Tensor
        Changed in place.
    rounds : int
        Gradients of each worker.
    rate : float
        Learning rate of a single gradient.
    dist : torch.distributed
        With gloo.

    Returns
    -------
    list of int
        Gradients that were applied, by worker.
    """
    import threading

    import torch

    workers = range(1, dist.get_world_size())
    lock, applied = threading.Lock(), [0 for _ in workers]

    def attend(worker):
        buffer = torch.empty_like(weights)
        try:
            for _ in range(rounds):
                dist.recv(buffer, src=worker)
                with lock:
                    weights.sub_(buffer, alpha=rate)
                    applied[worker - 1] += 1
                    now = weights.clone()
                dist.send(now, dst=worker)
        except RuntimeError:
            return  # gloo: the connection to this worker is closed

    attendants = [threading.Thread(target=attend, args=(worker,), daemon=True) for worker in workers]
    for attendant in attendants:
        attendant.start()
    for attendant in attendants:
        attendant.join()
    return applied


def program(rounds, dead, dist):
    """Rank program: worker r pushes the gradient r in every round, and worker `dead` is killed before its third push.

    Parameters
    ----------
    rounds : int
    dead : int or None
    dist : torch.distributed

    Returns
    -------
    (weights, applied) on rank 0, None elsewhere
    """
    import os
    import signal

    import torch

    rank, weights = dist.get_rank(), torch.zeros(4, dtype=torch.float64)
    if rank == 0:
        applied = serve(weights, rounds, 1.0, dist)
        return weights, applied
    for step in range(rounds):
        if rank == dead and step == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        dist.send(torch.full_like(weights, rank), dst=0)
        dist.recv(weights, src=0)
    return None
