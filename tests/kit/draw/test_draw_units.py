"""Numbers with units read back as what they were, at any size."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labs.kit.draw.units import count, number, quantity, scale

PREFIX = {"n": 1e-9, "µ": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}


@given(st.floats(1e-9, 1e15), st.sampled_from(["s", "B", "B/s", "FLOP/s"]))
def test_a_quantity_reads_back_as_its_value(value, unit):
    text = quantity(value, unit)
    digits, prefixed = text.split(" ")
    assert re.fullmatch(r"\d+(\.\d+)?", digits), text
    prefix = prefixed.removesuffix(unit)
    assert float(digits) * PREFIX[prefix] == pytest.approx(value, rel=0.00501)
    if (prefix not in ("", "P", "E") and unit == "s") or prefix in ("k", "M", "G", "T"):
        assert 1 <= float(digits) < 1000


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 9))
def test_a_number_never_has_an_exponent_and_keeps_its_digits(value, digits):
    text = number(value, digits)
    assert "e" not in text.lower() and text not in ("-0", "")
    if abs(value) > 1e-15:
        assert float(text) == pytest.approx(value, rel=10.0 ** (1 - digits) / 2 * 1.0001)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "s", "0 s"),
        (16e6, "B", "16 MB"),
        (999.9e3, "B", "1 MB"),
        (40, "B", "40 B"),
        (12.5e-6, "s", "12.5 µs"),
        (50e9, "B/s", "50 GB/s"),
        (-3e-3, "s", "-3 ms"),
        (math.inf, "s", "∞ s"),
        (1234, "ranks", "1234 ranks"),
        (7, "", "7"),
    ],
)
def test_quantities_as_a_person_writes_them(value, unit, text):
    assert quantity(value, unit) == text


def test_scale_gives_factor_and_unit():
    factor, unit = scale(2e-3, "s")
    assert (round(2e-3 * factor, 9), unit) == (2.0, "ms")
    assert scale(0, "s") == (1.0, "s")


def test_counting_words():
    assert count(1, "switch", "switches") == "1 switch"
    assert count(1200, "message") == "1,200 messages"
