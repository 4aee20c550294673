"""The eight kinds of input with which sorting papers measure."""

from __future__ import annotations

import numpy as np

NAMES = ("uniform", "normal", "all equal", "sorted", "reverse", "nearly sorted", "staggered", "zipf")


def draw(name, n, dtype="float32", seed=0, world_size=4):
    """Keys of one distribution.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    n : int
        Number of keys.
    dtype : str
        One of `labs.multi_gpu_sort.codes.DTYPES`.
    seed : int
    world_size : int
        For "staggered": each of so many blocks holds keys that belong to another block.

    Returns
    -------
    numpy.ndarray, shape (n,)

    Raises
    ------
    ValueError
        For an unknown name.
    """
    random, dtype = np.random.default_rng(seed), np.dtype(dtype)
    top = 2**30 if dtype.kind in "iu" else 1.0
    if name == "uniform":
        keys = random.random(n) * top
    elif name == "normal":
        keys = np.clip(0.5 + random.standard_normal(n) / 8, 0, 1) * top
    elif name == "all equal":
        keys = np.full(n, top / 2)
    elif name == "sorted":
        keys = np.sort(random.random(n)) * top
    elif name == "reverse":
        keys = np.arange(n, 0, -1) * (top / (n + 1))  # all different, so that every pair is in the wrong order
    elif name == "nearly sorted":
        keys = np.sort(random.random(n)) * top
        swapped = random.permutation(n)[: 2 * (n // 100)]
        keys[swapped] = keys[swapped[::-1]]
    elif name == "staggered":
        block = np.minimum(np.arange(n) * world_size // max(n, 1), world_size - 1)
        lower = world_size // 2  # the lower half of the blocks gets the odd parts, the upper half the even ones
        part = np.where(block < lower, 2 * block + 1, 2 * (block - lower))
        keys = (part + random.random(n)) / world_size * top
    elif name == "zipf":
        keys = np.minimum(random.zipf(1.2, n), 2**20) * (top / 2**20)
    else:
        raise ValueError(f"no distribution {name!r}; there are {', '.join(NAMES)}")
    return keys.astype(dtype)
