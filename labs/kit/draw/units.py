"""Numbers with units, as a person would write them: 16 MB, 12.5 µs, 50 GB/s."""

from __future__ import annotations

import math

_LARGE = ((1, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T"), (1e15, "P"), (1e18, "E"))
_SMALL = ((1e-9, "n"), (1e-6, "µ"), (1e-3, "m"))
# Parts of a second are common; parts of a byte are not a thing.
PREFIXED = {
    "s": (*_SMALL, (1, "")),
    "B": _LARGE,
    "B/s": _LARGE,
    "FLOP": _LARGE,
    "FLOP/s": _LARGE,
    "bit/s": _LARGE,
    "Hz": _LARGE,
}


def scale(largest: float, unit: str) -> tuple[float, str]:
    """Factor and unit that show numbers up to `largest` with few digits.

    Parameters
    ----------
    largest : float
        The number of greatest magnitude that is to be shown, in `unit`.
    unit : str
        A base unit: "s", "B", "B/s", "FLOP", "FLOP/s", "bit/s", "Hz"; another unit is kept as it is.

    Returns
    -------
    factor, unit : float, str
        A number in the base unit times `factor` is the number in the returned unit: `scale(2e-3, "s")` is
        `(1000.0, "ms")`.
    """
    steps = PREFIXED.get(unit)
    if steps is None or largest == 0 or not math.isfinite(largest):
        return 1.0, unit
    largest = abs(float(f"{largest:.3g}"))  # 999.9 kB is written as 1 MB
    size, prefix = steps[0]
    for candidate, name in steps:
        if largest >= candidate * (1 - 1e-12):
            size, prefix = candidate, name
    return 1 / size, prefix + unit


def number(value: float, digits: int = 3) -> str:
    """`value` with `digits` significant digits and without an exponent; infinity is ∞.

    Whole numbers below a million are exact: "1024 ranks" must not become 1020.
    """
    value = float(value)
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0:
        return "0"
    if value.is_integer() and abs(value) < 1e6:
        return str(int(value))
    rounded = float(f"{value:.{digits}g}")
    if math.isinf(rounded):  # rounding the very largest numbers up leaves what a float can hold
        rounded = value
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    text = f"{rounded:.{min(decimals, 20)}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def quantity(value: float, unit: str, digits: int = 3) -> str:
    """A number with its unit and a fitting prefix: `quantity(16e6, "B")` is "16 MB".

    Parameters
    ----------
    value : float
        In `unit`, without a prefix: bytes, seconds, bytes per second.
    unit : str
        See `scale`. An empty unit gives the number alone.
    digits : int
        Significant digits.
    """
    factor, unit = scale(value, unit)
    return f"{number(value * factor, digits)} {unit}".rstrip()


def count(how_many: int, noun: str, plural: str | None = None) -> str:
    """ "1 message", "2 messages"."""
    return f"{how_many:,} {noun if how_many == 1 else plural or noun + 's'}"
