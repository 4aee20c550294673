"""What a slider of an explorer may be set to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Knob:
    """One parameter: a range of numbers, or a list of values.

    Attributes
    ----------
    name : str
        The parameter's name in the function.
    start : object
        Its value at first.
    low, high, step : number or None
        Of a range.
    choices : tuple
        Of a list; empty for a range.
    """

    name: str
    start: Any
    low: Any = None
    high: Any = None
    step: Any = None
    choices: tuple = ()

    @property
    def label(self) -> str:
        """What a reader sees: "world size" for world_size."""
        return self.name.replace("_", " ")

    @property
    def whole(self) -> bool:
        """Whether all its values are whole numbers."""
        return not self.choices and all(
            isinstance(value, int) for value in (self.low, self.high, self.step, self.start)
        )

    def check(self, value):
        """`value` as it may be used: a choice of the list, or a number inside the range.

        Raises
        ------
        ValueError
            Naming what is allowed.
        """
        if self.choices:
            if value not in self.choices:
                raise ValueError(f"{self.name} can be one of {', '.join(map(str, self.choices))}, not {value!r}.")
            return value
        if not self.low <= value <= self.high:
            raise ValueError(f"{self.name} goes from {self.low} to {self.high}, so it cannot be {value!r}.")
        return value

    def spread(self, most: int) -> list:
        """At most `most` values from one end to the other, evenly, each one that the slider can take."""
        if self.choices:
            count = len(self.choices)
            return (
                [self.choices[i * (count - 1) // max(most - 1, 1)] for i in range(most)]
                if count > most
                else list(self.choices)
            )
        steps = int((self.high - self.low) / self.step + 1e-9)
        count = min(most, steps + 1)
        picked = [round(i * steps / max(count - 1, 1)) for i in range(count)]
        values = [self.low + i * self.step for i in picked]
        return values if self.whole else [float(f"{value:.12g}") for value in values]


def knob(name: str, spec: Sequence) -> Knob:
    """A knob from what a caller writes: (low, high, step, start), (low, high, step) or a list of values.

    Raises
    ------
    ValueError
        If the range is empty, the step is not positive, the start lies outside, or the list has fewer than two values.
    """
    if isinstance(spec, list):
        if len(spec) < 2:
            raise ValueError(f"{name}: a list needs at least two values to choose from; got {spec!r}.")
        return Knob(name, spec[0], choices=tuple(spec))
    if not isinstance(spec, tuple) or len(spec) not in (3, 4):
        raise ValueError(f"{name}: pass (low, high, step, start) or a list of values, not {spec!r}.")
    low, high, step, *start = spec
    start = start[0] if start else low
    if not (low < high and step > 0 and low <= start <= high):
        raise ValueError(f"{name}: needs low < high, a positive step and a start between them; got {spec!r}.")
    return Knob(name, start, low, high, step)
