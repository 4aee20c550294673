"""How long the actions of each stage take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

Seconds = float | Sequence[float]


@dataclass(frozen=True)
class Durations:
    """Seconds (or any other unit) for one micro-batch, the same for all stages or one number a stage.

    A full backward (B) computes both halves, so it takes ``input + weight``.

    Parameters
    ----------
    forward, input, weight : float or sequence of float
        F, I and W. By default one unit each: backward takes twice forward.
    """

    forward: Seconds = 1.0
    input: Seconds = 1.0
    weight: Seconds = 1.0

    def __post_init__(self):
        for name in ("forward", "input", "weight"):
            value = getattr(self, name)
            numbers = value if isinstance(value, Sequence) else [value]
            if not numbers or not all(isfinite(number) and number >= 0 for number in numbers):
                raise ValueError(f"{name} must be a number from 0 up, or one for each stage, not {value!r}")
            if isinstance(value, Sequence):
                object.__setattr__(self, name, tuple(map(float, value)))

    @classmethod
    def of(cls, forward: Seconds = 1.0, backward: Seconds = 2.0) -> Durations:
        """Durations with a backward whose halves take equally long."""
        half = tuple(b / 2 for b in backward) if isinstance(backward, Sequence) else backward / 2
        return cls(forward, half, half)

    def seconds(self, kind: str, stage: int) -> float:
        """Duration of one action."""
        if kind == "B":
            return self.seconds("I", stage) + self.seconds("W", stage)
        value = {"F": self.forward, "I": self.input, "W": self.weight}[kind]
        if not isinstance(value, tuple):
            return value
        if stage >= len(value):
            raise ValueError(f"there is a stage {stage}, but durations for {len(value)} stages only")
        return value[stage]

    def scaled(self, factor: float) -> Durations:
        """All durations times a factor."""

        def times(value):
            return tuple(factor * v for v in value) if isinstance(value, tuple) else factor * value

        return Durations(times(self.forward), times(self.input), times(self.weight))
