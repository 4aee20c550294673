"""A backward pass with a declared cost, as a rank program, and what its run shows."""

from __future__ import annotations


def chain(elements, seconds):
    """Layers with a gradient of known size, each of which computes for a known time in backward.

    Parameters
    ----------
    elements : sequence of int
        Elements of the (float32) parameter of each layer, in the order of forward.
    seconds : float
        Declared for backward, a layer each; the forward pass is free. On real ranks nothing is declared.

    Returns
    -------
    torch.nn.Module
        ``module(x)`` for a scalar tensor gives a scalar.
    """
    import torch

    from labs.kit import ranks

    class Costly(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.shape = weight.shape
            return x + weight.sum()

        @staticmethod
        def backward(ctx, gradient):
            ranks.work(seconds=seconds, label="backward")
            return gradient, gradient.expand(ctx.shape).contiguous()

    class Chain(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weights = torch.nn.ParameterList(torch.zeros(count) for count in elements)

        def forward(self, x):
            for weight in self.weights:
                x = Costly.apply(x, weight)
            return x

    return Chain()


def one_backward(make, module, dist):
    """Rank program: one backward pass through a chain, with whatever `make` wraps around it.

    Parameters
    ----------
    make : callable
        ``make(module, dist)`` returns the learner's DDP, or anything with ``backward(loss)``.
    module : torch.nn.Module
        From `chain`.
    dist : torch.distributed or its virtual twin
    """
    import torch

    wrapped = make(module, dist)
    wrapped.backward(wrapped(torch.zeros(())))


def spans(run):
    """What rank 0 did in a run of `one_backward`, from the beginning of backward.

    Parameters
    ----------
    run : labs.kit.ranks.Run
        On virtual ranks.

    Returns
    -------
    computing, talking : list of (float, float)
        Begin and end in s, counted from the first declared work.
    """
    mine = [event for event in run.trace if event.rank == 0]
    start = min(event.start for event in mine if event.kind == "work")
    computing = [(event.start - start, event.end - start) for event in mine if event.kind == "work"]
    talking = [
        (event.start - start, event.end - start)
        for event in mine
        if event.kind == "collective" and event.label == "all_reduce" and event.start >= start
    ]
    return computing, talking
