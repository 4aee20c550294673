"""What a layer costs: bytes that training keeps for it, and operations. Counted by running it, also on `meta`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """What training keeps for one layer, and what it computes.

    Attributes
    ----------
    name : str
    weights, gradients, optimiser : int
        Bytes of its parameters, of their gradients, and of what the optimiser keeps beside them.
    activations : int
        Bytes that forward stores for backward, parameters not counted.
    output : int
        Bytes that leave the layer, and cross if the network is cut behind it.
    forward, backward : int
        Floating-point operations (one multiplication and one addition are two).
    """

    name: str
    weights: int
    gradients: int
    optimiser: int
    activations: int
    output: int
    forward: int
    backward: int

    @property
    def nbytes(self):
        """All that training keeps for the layer (B)."""
        return self.weights + self.gradients + self.optimiser + self.activations

    @property
    def flops(self):
        """Forward and backward."""
        return self.forward + self.backward


def saved_bytes(function, *inputs):
    """Bytes that autograd stores during a forward pass, each storage once, parameters of `function` not counted.

    Parameters
    ----------
    function : torch.nn.Module
    *inputs : torch.Tensor

    Returns
    -------
    nbytes : int
    output : torch.Tensor
    """
    import torch

    own = {_storage(parameter) for parameter in function.parameters()}
    found = {}

    def note(tensor):
        if _storage(tensor) not in own:
            found[_storage(tensor)] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        output = function(*inputs)
    return sum(tensor.numel() * tensor.element_size() for tensor in found.values()), output


def _storage(tensor):
    """What identifies a tensor's memory, on `meta` as well, where there is none."""
    return tensor.untyped_storage()._cdata


def costs(network, batch, states=2):
    """What each layer of a stack costs in training.

    Parameters
    ----------
    network : torch.nn.Sequential
        Its children are the layers.
    batch : torch.Tensor
        What goes in; one on the device `meta` costs no memory, however large the network.
    states : int
        Tensors that the optimiser keeps for each parameter: 0 for SGD, 1 with momentum, 2 for Adam.

    Returns
    -------
    tuple of Cost
    """
    from torch.utils.flop_counter import FlopCounterMode

    found, x, needed = [], batch, False  # backward stops at the first trained parameter, so nothing before it is stored
    for name, layer in network.named_children():
        x = x.detach().requires_grad_(needed)
        with FlopCounterMode(display=False) as forward:
            kept, y = saved_bytes(layer, x)
        backward = 0
        if y.requires_grad:
            with FlopCounterMode(display=False) as counter:
                y.sum().backward()
            backward = counter.get_total_flops()
            layer.zero_grad()
        weights = sum(parameter.nbytes for parameter in layer.parameters())
        trained = sum(parameter.nbytes for parameter in layer.parameters() if parameter.requires_grad)
        found.append(
            Cost(name, weights, trained, states * trained, kept, y.nbytes, forward.get_total_flops(), backward)
        )
        x, needed = y, y.requires_grad
    return tuple(found)


def table(found):
    """Lines of text: a row for each layer, in MB and million operations, and their sums.

    Parameters
    ----------
    found : sequence of Cost
    """
    head = f"{'MB':8}{'weights':>9}{'gradients':>11}{'optimiser':>11}{'activations':>13}{'all':>8}{'Mflop':>9}"
    rows = [
        f"{each.name:8}{each.weights / 1e6:9.2f}{each.gradients / 1e6:11.2f}{each.optimiser / 1e6:11.2f}"
        f"{each.activations / 1e6:13.2f}{each.nbytes / 1e6:8.2f}{each.flops / 1e6:9.1f}"
        for each in (*found, total(found))
    ]
    return "\n".join([head, *rows])


def total(found, name="together"):
    """One Cost with the sums of many; its output is that of the last."""
    sums = {
        field: sum(getattr(each, field) for each in found)
        for field in ("weights", "gradients", "optimiser", "activations", "forward", "backward")
    }
    return Cost(name, output=found[-1].output if found else 0, **sums)
