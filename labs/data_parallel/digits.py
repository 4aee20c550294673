"""The data of this lesson: 1,797 handwritten digits of 8 x 8 pixels, which scikit-learn brings along."""

from __future__ import annotations

import functools

TRAINING = 1500  # the others are kept for scoring


@functools.cache
def _loaded():
    import torch
    from sklearn.datasets import load_digits

    found = load_digits()
    order = torch.randperm(len(found.target), generator=torch.Generator().manual_seed(0))
    images = torch.tensor(found.data / 16)[order]
    return images, torch.tensor(found.target)[order]


def training():
    """Images and labels to train with.

    Returns
    -------
    images : torch.Tensor (1500, 64)
        float64, pixels from 0 to 1, shuffled once.
    labels : torch.Tensor (1500,)
        int64, 0 to 9.

    Notes
    -----
    From E. Alpaydin, C. Kaynak: Optical recognition of handwritten digits, UCI machine learning repository, 1998
    (its test part), as `sklearn.datasets.load_digits` ships it; nothing is downloaded.
    """
    images, labels = _loaded()
    return images[:TRAINING].clone(), labels[:TRAINING].clone()


def held_back():
    """Images (297, 64) and labels (297,) that no training sees; as `training`."""
    images, labels = _loaded()
    return images[TRAINING:].clone(), labels[TRAINING:].clone()
