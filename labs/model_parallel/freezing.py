"""Freezing layers: what training keeps and computes then, counted by running the network."""

from __future__ import annotations

HOLDS_ANSWERS = True  # it runs labs.model_parallel.step, which holds one


def freeze(network, trained):
    """Train some layers of a stack and freeze the others.

    Parameters
    ----------
    network : torch.nn.Sequential
    trained : sequence of bool
        By layer.

    Returns
    -------
    torch.nn.Sequential
        The same one.
    """
    for layer, learns in zip(network.children(), trained):
        layer.requires_grad_(bool(learns))
    return network


def counted(network, images, labels):
    """Run one step and count: bytes stored for backward, operations, and gradients that were made.

    Parameters
    ----------
    network : torch.nn.Module
    images, labels : torch.Tensor

    Returns
    -------
    dict
        ``stored`` (B), ``forward``, ``backward`` (operations), ``gradients`` (B).
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from labs.model_parallel.memory import saved_bytes

    network.zero_grad()
    with FlopCounterMode(display=False) as forward:
        stored, output = saved_bytes(network, images)
    backward = 0
    if output.requires_grad:
        loss = torch.nn.functional.cross_entropy(output, labels)
        with FlopCounterMode(display=False) as counter:
            loss.backward()
        backward = counter.get_total_flops()
    gradients = sum(parameter.grad.nbytes for parameter in network.parameters() if parameter.grad is not None)
    network.zero_grad()
    found = {"stored": stored, "forward": forward.get_total_flops(), "backward": backward}
    return found | {"gradients": gradients}


def early_and_late(bytes_needed=None, layers=12, width=64, samples=256):
    """Draw what training keeps when the first, or the last, k of some equal layers are frozen: counted and predicted.

    Parameters
    ----------
    bytes_needed : callable, optional
        The learner's; its line is left out when there is none.
    layers, width, samples : int

    Returns
    -------
    labs.kit.draw.Picture
    """
    import torch

    from labs.kit.draw import curves
    from labs.model_parallel import networks

    batch = torch.ones(samples, width, dtype=torch.float64)
    frozen = list(range(layers + 1))
    lines = {"the last k frozen": (frozen, []), "the first k frozen": (frozen, [])}
    mine = []
    for k in frozen:
        for title, trained in zip(lines, ([True] * (layers - k) + [False] * k, [False] * k + [True] * (layers - k))):
            network = freeze(networks.stack(layers, width), trained)
            lines[title][1].append(float(whole(network, batch)))
        mine.append(_predicted(bytes_needed, layers, width, samples, trained))
    if None not in mine:
        lines["your prediction (first k)"] = (frozen, mine)
    return curves(
        lines,
        xlabel="frozen layers",
        ylabel="kept in training (B)",
        points=("your prediction (first k)",),
        name=f"Memory of {layers} equal layers",
    )


def whole(network, batch):
    """Bytes that training with Adam keeps for a network: weights, gradients, averages, activations."""
    from labs.model_parallel.memory import saved_bytes

    weights = sum(parameter.nbytes for parameter in network.parameters())
    trained = sum(parameter.nbytes for parameter in network.parameters() if parameter.requires_grad)
    return weights + 3 * trained + saved_bytes(network, batch)[0]


def _predicted(bytes_needed, layers, width, samples, trained):
    if bytes_needed is None:
        return None
    activation = 8 * samples * width
    try:
        value = bytes_needed(
            [8 * (width * width + width)] * layers, [activation] * layers, [activation] * layers, trained
        )
    except NotImplementedError:
        return None
    return None if value is None else float(value)


def measured(images, labels, repeats=9):
    """Seconds of a step with the whole network trained, its first layers frozen, its last layers frozen; by turns.

    Parameters
    ----------
    images, labels : torch.Tensor
    repeats : int

    Returns
    -------
    dict of str to list of float
        Sorted.
    """
    from time import perf_counter

    import torch

    from labs.model_parallel import networks

    kinds = {
        "all 8 trained": [True] * 8,
        "first 4 frozen": [False] * 4 + [True] * 4,
        "last 4 frozen": [True] * 4 + [False] * 4,
    }
    made = {name: freeze(networks.vision(), trained) for name, trained in kinds.items()}
    seconds = {name: [] for name in made}
    for turn in range(repeats + 1):
        for name, network in made.items():
            begin = perf_counter()
            torch.nn.functional.cross_entropy(network(images), labels).backward()
            if turn:
                seconds[name].append(perf_counter() - begin)
    return {name: sorted(times) for name, times in seconds.items()}


def on_ranks(devices=4):
    """Lines of text: a step on some equal devices, the layers before a device frozen: when, and with how many messages.

    Parameters
    ----------
    devices : int

    Returns
    -------
    str
    """
    import functools

    from labs.model_parallel.step import frozen_step
    from labs.model_parallel.timelines import step_run

    lines = ["devices frozen   step        messages   bytes"]
    for first in range(devices):
        step = functools.partial(_frozen, frozen_step, first)
        run = step_run(step, [1e-3] * devices, [2e-3] * devices)
        sent = sum(map(run.messages_sent, range(devices))), sum(map(run.bytes_sent, range(devices)))
        lines.append(f"{first:14}   {run.time * 1e3:5.2f} ms   {sent[0]:8}   {sent[1]:6,}")
    return "\n".join(lines)


def _frozen(step, first_trained, stage, optimiser, loss, images, labels, shape, dist):
    return step(stage, optimiser, loss, images, labels, shape, first_trained, dist)
