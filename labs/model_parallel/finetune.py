"""A small network trained on one task, and trained on for another one with few labels: all of it, or only its head."""

from __future__ import annotations

import functools
from collections import OrderedDict

LOOPS = (1, 0, 0, 0, 0, 0, 1, 0, 1, 1)  # whether a printed digit has a closed loop: 0, 6, 8 and 9
PRE_TRAINING = 1000  # images; the labelled ones for fine-tuning come after them


def network(outputs, seed=0):
    """Two convolutions, a wide layer and a head, in float64.

    Parameters
    ----------
    outputs, seed : int

    Returns
    -------
    torch.nn.Sequential
        With children conv1, conv2, wide and head.
    """
    from torch import nn

    from labs.model_parallel.networks import seeded

    def make():
        return nn.Sequential(
            OrderedDict(
                conv1=nn.Sequential(nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 16, 3, padding=1), nn.GELU()),
                conv2=nn.Sequential(nn.Conv2d(16, 32, 3, padding=1), nn.GELU(), nn.AvgPool2d(2), nn.Flatten()),
                wide=nn.Sequential(nn.Linear(512, 64), nn.GELU()),
                head=nn.Linear(64, outputs),
            )
        )

    return seeded(make, seed)


def fit(model, images, labels, steps, size):
    """Adam on random batches of `size` images; only parameters that require gradients move."""
    import torch

    generator = torch.Generator().manual_seed(0)
    adam = torch.optim.Adam([parameter for parameter in model.parameters() if parameter.requires_grad], lr=3e-3)
    for _ in range(steps):
        batch = torch.randperm(len(images), generator=generator)[:size]
        adam.zero_grad()
        torch.nn.functional.cross_entropy(model(images[batch]), labels[batch]).backward()
        adam.step()


def score(model, images, labels):
    """Share of images whose label the model gives."""
    import torch

    with torch.no_grad():
        return (model(images).argmax(1) == labels).double().mean().item()


@functools.cache
def pre_trained():
    """The network after pre-training: it names the digit, from 1,000 images; and its score on images never seen.

    Returns
    -------
    state : dict
        Its parameters by name.
    score : float
    """
    from labs.data_parallel import digits

    images, labels = digits.training()
    model = network(10)
    fit(model, images[:PRE_TRAINING], labels[:PRE_TRAINING], 100, 48)
    return model.state_dict(), score(model, *digits.held_back())


def fine_tune(kind, labelled):
    """Learn whether a digit has a closed loop, from a few labelled images.

    Parameters
    ----------
    kind : {"from scratch", "all layers", "only the head"}
    labelled : int
        How many images have a label of the new task.

    Returns
    -------
    score : float
        On 297 images that no training sees.
    kept : int
        Bytes that training keeps: weights, gradients, Adam's averages, and the activations of at most 50 images.
    """
    import torch

    from labs.data_parallel import digits
    from labs.model_parallel.freezing import freeze, whole

    images, labels = digits.training()
    few = slice(PRE_TRAINING, PRE_TRAINING + labelled)
    loops = torch.tensor(LOOPS)
    model = network(2, seed=1)
    if kind != "from scratch":
        known = {name: value for name, value in pre_trained()[0].items() if not name.startswith("head")}
        model.load_state_dict(known, strict=False)
    if kind == "only the head":
        freeze(model, [False, False, False, True])
    size = min(labelled, 50)
    fit(model, images[few], loops[labels[few]], 60, size)
    unseen, answers = digits.held_back()
    return score(model, unseen, loops[answers]), whole(model, images[:size])
