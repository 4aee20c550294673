"""Arguments that every cost function takes: checked once, in words."""

from __future__ import annotations

from math import isfinite
from operator import index


def count(name: str, value: int) -> int:
    """`value` as an int of at least 1, or an error that names the argument."""
    try:
        whole = index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, not {value!r}") from None
    if whole < 1:
        raise ValueError(f"{name} must be at least 1, not {value}")
    return whole


def checked(world_size: int, nbytes: float, latency: float, bandwidth: float) -> int:
    """Check the four arguments of a cost function and return `world_size` as an int."""
    not_negative("nbytes", nbytes)
    not_negative("latency", latency)
    positive("bandwidth", bandwidth)
    return count("world_size", world_size)


def not_negative(name: str, value: float) -> None:
    """An error that names the argument unless `value` is a finite number >= 0."""
    if not (value >= 0 and isfinite(value)):
        raise ValueError(f"{name} must be a finite number, 0 or more, not {value}")


def positive(name: str, value: float) -> None:
    """An error that names the argument unless `value` is a finite number > 0."""
    if not (value > 0 and isfinite(value)):
        raise ValueError(f"{name} must be a finite number above 0, not {value}")


def log2_ceil(n: int) -> int:
    """ceil(log2 n), exactly: the rounds in which one rank can reach n by doubling."""
    return (n - 1).bit_length()
