"""Reductions: which pairs of dtype and operation exist (as in gloo of torch 2.13), and how they are computed."""

from __future__ import annotations

import torch

_INTEGERS = {torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool}
_FLOATS = {torch.float32, torch.float64, torch.float16, torch.bfloat16}
_COMPLEX = {torch.complex64, torch.complex128}

_COMBINE = {
    "SUM": torch.Tensor.add_,
    "AVG": torch.Tensor.add_,
    "PRODUCT": torch.Tensor.mul_,
    "MAX": lambda a, b: torch.maximum(a, b, out=a),
    "MIN": lambda a, b: torch.minimum(a, b, out=a),
    "BAND": torch.Tensor.bitwise_and_,
    "BOR": torch.Tensor.bitwise_or_,
    "BXOR": torch.Tensor.bitwise_xor_,
}


def refusal(name: str, dtype: torch.dtype, op: str | None) -> str | None:
    """Why a collective does not work on a dtype, as a sentence; None if it does.

    Real ranks on gloo refuse the same pairs.
    """
    kind = str(dtype).removeprefix("torch.")
    if dtype not in _INTEGERS | _FLOATS | _COMPLEX:
        return f"{name} does not work on {kind} tensors; convert them first, for instance with .float() or .long()"
    if op is None:
        return None
    if op not in _COMBINE:
        return f"{name} does not know ReduceOp.{op}; it knows {', '.join(_COMBINE)}"
    if dtype in _COMPLEX and op not in ("SUM", "AVG"):
        return f"{name} cannot combine complex numbers with {op}; SUM and AVG work"
    if op == "AVG" and dtype in _INTEGERS:
        return f"{name} cannot average {kind} numbers, because the average need not be one; use SUM, or floats"
    if op in ("BAND", "BOR", "BXOR") and dtype not in _INTEGERS:
        return f"{name} cannot combine {kind} numbers bit by bit ({op}); that works on integers"
    return None


def combine(total: torch.Tensor, other: torch.Tensor, op: str) -> None:
    """total = total op other, in place (for AVG a sum; `divide` does the rest)."""
    _COMBINE[op](total, other)


def fold(tensors: list[torch.Tensor], op: str) -> torch.Tensor:
    """All tensors combined, from the first to the last, as a new tensor."""
    total = tensors[0].detach().clone()
    for tensor in tensors[1:]:
        combine(total, tensor, op)
    return total


def divide(total: torch.Tensor, op: str, n: int) -> torch.Tensor:
    """The last step of an average, in place; nothing for other operations."""
    return total.div_(n) if op == "AVG" else total
