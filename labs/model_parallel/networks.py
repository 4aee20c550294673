"""The network that the lesson cuts, in float64, with the same weights whenever the seed is the same."""

from __future__ import annotations

from collections import OrderedDict


def vision(seed=0):
    """A network for the digits whose layers differ: convolutions full of activations, then layers full of weights.

    Each layer is a linear or convolutional part followed by GELU, which keeps its *input* for backward. So no two
    layers keep the same tensor, and the bytes of layers may be added.

    Parameters
    ----------
    seed : int
        Of the initial weights. The global random state of torch is left as it was.

    Returns
    -------
    torch.nn.Sequential
        64 pixels in, 10 scores out; its eight children are named.
    """
    from torch import nn

    def make():
        return nn.Sequential(
            OrderedDict(
                conv1=nn.Sequential(nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 16, 3, padding=1), nn.GELU()),
                conv2=nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.GELU()),
                conv3=nn.Sequential(nn.Conv2d(16, 32, 3, padding=1), nn.GELU(), nn.AvgPool2d(2)),
                conv4=nn.Sequential(nn.Conv2d(32, 32, 3, padding=1), nn.GELU(), nn.Flatten()),
                wide1=nn.Sequential(nn.Linear(512, 512), nn.GELU()),
                wide2=nn.Sequential(nn.Linear(512, 512), nn.GELU()),
                wide3=nn.Sequential(nn.Linear(512, 256), nn.GELU()),
                head=nn.Linear(256, 10),
            )
        )

    return seeded(make, seed)


def stack(layers=8, width=16, seed=0):
    """A stack of small equal layers, each Linear and GELU: width numbers in, width numbers out.

    Parameters
    ----------
    layers, width, seed : int

    Returns
    -------
    torch.nn.Sequential
    """
    from torch import nn

    def make():
        return nn.Sequential(*(nn.Sequential(nn.Linear(width, width), nn.GELU()) for _ in range(layers)))

    return seeded(make, seed)


def seeded(make, seed):
    """``make()`` in float64, with torch's random state seeded for it and restored afterwards."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make().double()
