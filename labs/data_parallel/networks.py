"""Small networks for the digits, in float64, with the same weights whenever the seed is the same."""

from __future__ import annotations


def mlp(seed=0, hidden=128, batch_norm=False):
    """Three linear layers: 64 pixels in, 10 scores out (26,122 parameters with 128 hidden units).

    Parameters
    ----------
    seed : int
        Of the initial weights. The global random state of torch is left as it was.
    hidden : int
        Units of each hidden layer.
    batch_norm : bool
        Whether the first layer is followed by BatchNorm.

    Returns
    -------
    torch.nn.Sequential
    """
    import torch
    from torch import nn

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        norm = [nn.BatchNorm1d(hidden)] if batch_norm else []
        layers = [nn.Linear(64, hidden), *norm, nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 10)]
        return nn.Sequential(*layers).double()


def cnn(seed=0):
    """A convolution of 8 filters, a maximum over 2 x 2, and a linear layer: 64 pixels in, 10 scores out.

    Parameters
    ----------
    seed : int
        As in `mlp`.

    Returns
    -------
    torch.nn.Sequential
    """
    import torch
    from torch import nn

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = [nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
        return nn.Sequential(*layers, nn.Linear(72, 10)).double()
