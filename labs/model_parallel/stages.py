"""A network in stages, one on each rank: cutting it, declaring what stages cost, training it, and the yardstick."""

from __future__ import annotations


def split(network, counts):
    """Cut a stack of layers into stages.

    Parameters
    ----------
    network : torch.nn.Sequential
    counts : sequence of int
        Layers of each stage. A stage of none hands on what it gets.

    Returns
    -------
    list of torch.nn.Sequential
        They share the network's parameters.
    """
    from torch import nn

    layers, found, first = list(network.children()), [], 0
    if sum(counts) != len(layers):
        raise ValueError(f"{list(counts)} places {sum(counts)} layers, but the network has {len(layers)}.")
    for count in counts:
        found.append(nn.Sequential(*layers[first : first + count]))
        first += count
    return found


def shapes(stages, batch):
    """Shape of what enters each stage (None for the first, which has the data itself).

    Parameters
    ----------
    stages : sequence of torch.nn.Module
    batch : torch.Tensor

    Returns
    -------
    list of torch.Size or None
    """
    import torch

    found, x = [None], batch
    with torch.no_grad():
        for stage in stages[:-1]:
            x = stage(x)
            found.append(x.shape)
    return found


def clocked(stage, forward, backward):
    """A stage that declares what it costs on the virtual clock; on real ranks it declares nothing.

    Parameters
    ----------
    stage : torch.nn.Module
    forward, backward : float
        Seconds.

    Returns
    -------
    torch.nn.Module
    """
    import torch

    from labs.kit import ranks

    class Declared(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ranks.work(seconds=forward, label="forward")
            return x.view_as(x)

        @staticmethod
        def backward(ctx, gradient):
            ranks.work(seconds=backward, label="backward")
            return gradient

    class Clocked(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.stage = stage

        def forward(self, x):
            return Declared.apply(self.stage(x))

    return Clocked()


def train(step, stage, images, labels, batches, loss, shape, dist, optimiser=None):
    """Rank program: train the stage of this rank, one step for each batch.

    Parameters
    ----------
    step : callable
        ``step(stage, optimiser, loss, images, labels, shape, dist)`` returns the loss on the last rank.
    stage : torch.nn.Module
        Of this rank.
    images, labels : torch.Tensor
        All of them; the first rank takes the images of a batch, the last its labels.
    batches : sequence of sequences of int
    loss : callable
        ``loss(output, labels)``.
    shape : sequence of int or None
        Of what comes in for *one* sample; the batch's size is put before it.
    dist : torch.distributed or its virtual twin
    optimiser : callable, optional
        ``optimiser(parameters)``; plain SGD with rate 0.1 if left out.

    Returns
    -------
    dict
        ``weights`` of this stage in one dimension; ``losses`` (empty but on the last rank); ``norms``: the norm of the
        whole network's gradient after each step, on every rank.
    """
    import torch

    rank, size = dist.get_rank(), dist.get_world_size()
    parameters = [parameter for parameter in stage.parameters() if parameter.requires_grad]
    if not parameters:
        parameters = [torch.zeros(1, dtype=torch.float64, requires_grad=True)]  # an optimiser wants at least one
    optimiser = torch.optim.SGD(parameters, lr=0.1) if optimiser is None else optimiser(parameters)
    losses, norms = [], []
    for batch in batches:
        incoming = None if rank == 0 else (len(batch), *shape)
        mine = images[list(batch)] if rank == 0 else None
        wanted = labels[list(batch)] if rank == size - 1 else None
        value = step(stage, optimiser, loss, mine, wanted, incoming, dist)
        if value is not None:
            losses.append(float(value))
        norms.append(gradient_norm(stage, dist))
    return {"weights": flat(stage), "losses": losses, "norms": norms}


def gradient_norm(stage, dist):
    """Norm of the gradient of the whole network: each rank adds up its squares, and one number travels."""
    import torch

    squares = torch.zeros((), dtype=torch.float64)
    for parameter in stage.parameters():
        if parameter.grad is not None:
            squares += parameter.grad.square().sum()
    dist.all_reduce(squares)
    return squares.sqrt().item()


def alone(network, images, labels, batches, loss):
    """The yardstick: one process trains the whole network with plain SGD, and knows nothing of stages.

    Returns
    -------
    dict
        As `train`, for all parameters.
    """
    import torch

    losses, norms = [], []
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    for batch in batches:
        value = loss(network(images[list(batch)]), labels[list(batch)])
        gradients = torch.autograd.grad(value, trained)
        losses.append(value.item())
        norms.append(torch.cat([gradient.reshape(-1) for gradient in gradients]).norm().item())
        with torch.no_grad():
            for parameter, gradient in zip(trained, gradients):
                parameter -= 0.1 * gradient
    return {"weights": flat(network), "losses": losses, "norms": norms}


def flat(module):
    """A copy of all parameters in one dimension (float64); empty where there are none."""
    import torch

    parts = [parameter.detach().reshape(-1) for parameter in module.parameters()]
    return torch.cat(parts) if parts else torch.zeros(0, dtype=torch.float64)
