"""What accumulation does to a product of halves: sums in float32, in float16, in bfloat16, and truncated.

The inputs are rounded once; each product of two halves is exact in float32. What differs is the running sum, and it
differs more the deeper the product. A loop over the depth works on all elements at once.

Sources
-------
M. Fasi, N. Higham, M. Mikaitis, S. Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science (2021):
products are exact, and a few of them and the accumulator are added and truncated, not rounded. The model here (an exact
sum of a group, truncated once) is simpler than the hardware and has not been compared with one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

INPUTS = ("float16", "bfloat16", "float32")
SUMS = ("float32", "float16", "bfloat16", "truncated")
GROUP = 8
"""Products that are added at once in the truncated model (A100: 8; V100: 4)."""


def rounded(values: np.ndarray, dtype: str) -> np.ndarray:
    """`values` rounded to nearest even in "float16", "bfloat16" or "float32", as float32.

    NumPy has no bfloat16; its numbers are the float32 numbers whose lower 16 bits are 0.
    """
    if dtype not in INPUTS:
        raise ValueError(f"Unknown number type {dtype!r}; there are {', '.join(INPUTS)}.")
    if dtype != "bfloat16":
        with np.errstate(over="ignore"):
            return np.asarray(values).astype(dtype).astype(np.float32)
    values = np.asarray(values, np.float32)
    bits = values.view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16
    result = bits.astype(np.uint32).view(np.float32)
    return np.where(np.isfinite(values), result, values)


def truncated(values: np.ndarray) -> np.ndarray:
    """float64 `values` cut to float32: towards zero, where a conversion would round to nearest."""
    near = values.astype(np.float32)
    return np.where(np.abs(near.astype(np.float64)) > np.abs(values), np.nextafter(near, np.float32(0)), near)


def product(a: np.ndarray, b: np.ndarray, *, inputs: str = "float16", sums: str = "float32") -> np.ndarray:
    """The product of `a` (M x K) and `b` (K x N) with inputs and sums of limited precision.

    Parameters
    ----------
    a, b : array
        Rounded to `inputs` first.
    inputs : {"float16", "bfloat16", "float32"}
    sums : {"float32", "float16", "bfloat16", "truncated"}
        The type of the running sum, one product after the other. "truncated" adds `GROUP` products at once and cuts the
        sum to float32, which is how tensor cores are thought to work.

    Returns
    -------
    array of float32, M x N

    Raises
    ------
    ValueError
        For matrices that do not fit, or an unknown type.
    """
    return next(sums_by_depth(a, b, [np.shape(a)[1]], inputs=inputs, sums=sums))


def sums_by_depth(
    a: np.ndarray, b: np.ndarray, depths: Iterable[int], *, inputs: str = "float16", sums: str = "float32"
) -> Iterator[np.ndarray]:
    """The running sum of `product` after each of the ascending `depths`: what the product would be were K smaller."""
    a, b = np.asarray(a), np.asarray(b)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise ValueError(f"An M x K and a K x N matrix are needed, not {a.shape} and {b.shape}.")
    if sums not in SUMS:
        raise ValueError(f"Unknown kind of sum {sums!r}; there are {', '.join(SUMS)}.")
    # float64 holds each sum of a half and a product almost always exactly, so that it is rounded once.
    left, right = rounded(a, inputs).astype(np.float64), rounded(b, inputs).astype(np.float64)
    total, done = np.zeros((a.shape[0], b.shape[1])), 0
    group = GROUP if sums == "truncated" else 1
    cut = truncated if sums == "truncated" else lambda values: rounded(values, sums)
    last = 0
    for depth in depths:
        if not last <= depth <= a.shape[1]:
            raise ValueError(f"Depths ascend from 0 to {a.shape[1]}; got {depth} after {last}.")
        last = depth
        for k in range(done, depth - group + 1, group):
            total = cut(total + left[:, k : k + group] @ right[k : k + group]).astype(np.float64)
            done = k + group
        yield cut(total + left[:, done:depth] @ right[done:depth]).astype(np.float32)  # a group that ends here


def errors(result: np.ndarray, a: np.ndarray, b: np.ndarray, *, inputs: str = "float16") -> dict[str, float]:
    """How far `result` is from the product of the rounded inputs in float64.

    Returns
    -------
    dict
        "largest": the largest relative error of an element; "frobenius": the norm of the error over that of the
        product. Say which you mean: they differ by a factor of two or more.
    """
    exact = rounded(a, inputs).astype(np.float64) @ rounded(b, inputs).astype(np.float64)
    difference = np.asarray(result, np.float64) - exact
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(difference == 0, 0.0, np.abs(difference) / np.abs(exact))
    size = np.linalg.norm(exact)
    return {
        "largest": float(relative.max(initial=0.0)),
        "frobenius": float(np.linalg.norm(difference) / size) if size else 0.0,
    }
