"""The problem that this lesson trains: scikit-learn's handwritten digits by logistic regression, 650 weights.

Convex, so every run that does not blow up heads for the same loss, and differences come from the training alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

CLASSES = 10


@dataclass(frozen=True)
class Digits:
    """Images and labels of the digits.

    Attributes
    ----------
    images : Tensor (numel, 65)
        Pixels from 0 to 1 and a last column of ones. float64.
    labels : Tensor (numel,)
        0 to 9. int64.
    """

    images: object
    labels: object

    @property
    def start(self):
        """The weights to begin with: zeros, (650,), float64."""
        import torch

        return torch.zeros(self.images.shape[1] * CLASSES, dtype=self.images.dtype)

    def loss(self, weights) -> float:
        """Mean cross-entropy over all images, in nats."""
        import torch

        return float(torch.nn.functional.cross_entropy(self._scores(self.images, weights), self.labels))

    def gradient(self, weights, chosen=slice(None)):
        """Gradient of the mean cross-entropy over the `chosen` images (a slice or indices), like `weights`."""
        import torch

        images, labels = self.images[chosen], self.labels[chosen]
        surplus = torch.softmax(self._scores(images, weights), dim=1)
        surplus[torch.arange(len(labels)), labels] -= 1
        return (images.T @ surplus / len(labels)).flatten()

    def shard(self, index: int, count: int) -> slice:
        """Images of one of `count` workers: equal shards of the first images, the remainder left out."""
        each = len(self.labels) // count
        return slice(index * each, (index + 1) * each)

    def _scores(self, images, weights):
        return images @ weights.view(images.shape[1], CLASSES)


@lru_cache(maxsize=1)
def digits() -> Digits:
    """The 1,797 digits that come with scikit-learn, shuffled with a fixed seed."""
    import torch
    from sklearn.datasets import load_digits

    data = load_digits()
    order = torch.randperm(len(data.target), generator=torch.Generator().manual_seed(0))
    images = torch.cat([torch.tensor(data.data) / 16, torch.ones(len(order), 1, dtype=torch.float64)], dim=1)
    return Digits(images[order].contiguous(), torch.tensor(data.target)[order])
