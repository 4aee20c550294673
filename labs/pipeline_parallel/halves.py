"""Backward through one stage: at once, or the input's gradient first and the weights' later."""

from __future__ import annotations

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def whole(root, x, gradient):
    """Full backward: accumulate the weights' gradients, return the input's.

    Parameters
    ----------
    root : torch.Tensor
        Output of the stage, or the loss.
    x : torch.Tensor
        Its input, a leaf.
    gradient : torch.Tensor or None
        With respect to `root`; None for the loss.

    Returns
    -------
    torch.Tensor or None
        None where the input needs none.
    """
    import torch

    if root.requires_grad:
        torch.autograd.backward(root, gradient)
    return x.grad if x.requires_grad else None


def of_input(root, x, gradient):
    """The gradient of the input alone; the graph stays, for the weights."""
    import torch

    if not x.requires_grad or not root.requires_grad:
        return None
    return torch.autograd.grad(root, x, gradient, retain_graph=True, allow_unused=True)[0]


def of_weights(root, weights, gradient):
    """Accumulate the gradients of the weights, after `of_input`.

    Autograd walks from the output to each weight once more, which costs a stage of several layers some of the time
    that `of_input` has spent already. (PyTorch's pipelining keeps the gradients in between instead.)
    """
    import torch

    weights = [weight for weight in weights if weight.requires_grad]
    if weights and root.requires_grad:
        torch.autograd.backward(root, gradient, inputs=weights)
