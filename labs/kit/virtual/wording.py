"""How numbers, ranks and tensors read in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def seconds(value: float) -> str:
    """A time with a fitting unit: "0 s", "12.5 µs", "3 ms"."""
    if value == 0:
        return "0 s"
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if abs(value) >= unit:
            return f"{value / unit:.6g} {name}"
    return f"{value / 1e-9:.6g} ns"


def size(nbytes: int) -> str:
    """A number of bytes with a fitting unit (decimal): "40 B", "1.5 MB"."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if nbytes >= unit:
            return f"{nbytes / unit:.4g} {name}"
    return f"{nbytes} B"


def shape(tensor: torch.Tensor) -> str:
    """A tensor as "4 x float32" or "(2, 3) x int64"."""
    dims = tuple(tensor.shape)
    return f"{dims[0] if len(dims) == 1 else dims} x {str(tensor.dtype).removeprefix('torch.')}"


def listed(items: Sequence, most: int = 8) -> str:
    """ "1, 2 and 3"; a long list ends in "... and 90 more"."""
    texts = [str(item) for item in items[:most]]
    if len(items) > most:
        return ", ".join(texts) + f", ... and {len(items) - most} more"
    return " and ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


def ranks(numbers: Sequence[int], most: int = 8) -> str:
    """ "rank 2" or "ranks 0, 1 and 3"."""
    return f"{'rank' if len(numbers) == 1 else 'ranks'} {listed(numbers, most)}"


def head(lines: Sequence[str], most: int = 16) -> list[str]:
    """The first lines, and how many were left out."""
    return [*lines[:most], *([f"... and {len(lines) - most} more"] if len(lines) > most else [])]
