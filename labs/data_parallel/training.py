"""Rank programs that train: every rank takes its part of each batch, and whoever calls says how gradients meet."""

from __future__ import annotations


def steps(model, images, labels, batches, optimiser, average, dist):
    """Train a copy of one model on every rank, one step for each batch.

    Parameters
    ----------
    model : torch.nn.Module
        Each rank has a copy.
    images, labels : torch.Tensor
        All of them, on every rank.
    batches : sequence of sequences of int
        The samples of each step. Rank r takes every n-th of them from the r-th on, so parts may differ by one sample,
        and a rank may get none.
    optimiser : callable
        ``optimiser(parameters)``, such as ``lambda parameters: torch.optim.SGD(parameters, lr=0.1)``.
    average : callable
        ``average(gradients, samples, dist)``: makes of each rank's gradients, in place, those of the whole batch.
    dist : torch.distributed or its virtual twin

    Returns
    -------
    dict
        ``weights``: all parameters in one tensor; ``losses``: this rank's mean loss in each step (nan without samples).
    """
    import torch

    rank, size = dist.get_rank(), dist.get_world_size()
    parameters = list(model.parameters())
    optimiser = optimiser(parameters)
    losses = []
    for batch in batches:
        mine = list(batch)[rank::size]
        loss = backward(model, images[mine], labels[mine])
        average([parameter.grad for parameter in parameters], len(mine), dist)
        optimiser.step()
        losses.append(loss)
    return {"weights": flat(model), "losses": torch.tensor(losses)}


def backward(model, images, labels):
    """Fill the gradients of `model` with those of the mean loss over some images; return that loss.

    Without images the gradients are nan, as the mean of nothing is.
    """
    import torch

    model.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    return loss.item()


def flat(model):
    """A copy of all parameters of `model` in one tensor of one dimension."""
    import torch

    return torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()])


def alone(model, images, labels, batches, rate):
    """What `steps` should do, by one process that knows nothing of ranks: plain SGD on whole batches.

    Parameters
    ----------
    rate : float or callable
        Learning rate, or a function from the number of the step to it.

    Returns
    -------
    dict
        As `steps`.
    """
    import torch

    losses = []
    for step, batch in enumerate(batches):
        losses.append(backward(model, images[list(batch)], labels[list(batch)]))
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= (rate(step) if callable(rate) else rate) * parameter.grad
    return {"weights": flat(model), "losses": torch.tensor(losses)}


def batches_of(count, size, number, seed=0):
    """`number` batches of `size` samples each, drawn from `count` without repeating one before all were used.

    Returns
    -------
    list of list of int
    """
    import torch

    generator = torch.Generator().manual_seed(seed)
    order = []
    while len(order) < size * number:
        order += torch.randperm(count, generator=generator).tolist()
    return [order[k * size : (k + 1) * size] for k in range(number)]
