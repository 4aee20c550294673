"""``cuda.fp16``: arithmetic in half precision, each operation rounded to float16."""

from __future__ import annotations

import operator
from types import SimpleNamespace

import numpy as np

from labs.kit.virtual.cuda import arithmetic
from labs.kit.virtual.cuda.failures import WrongType
from labs.kit.virtual.cuda.intrinsics import Intrinsic

_HALF = np.dtype(np.float16)


def _halves(name, values):
    values = [arithmetic.typed(value) for value in values]
    for value in values:
        if value.dtype != _HALF:
            raise WrongType(f"cuda.fp16.{name} takes float16, not {value.dtype.name}: np.float16(...) converts")
    return values


def _in_single(name, function, operations=1):
    """A function computed in float32 and rounded once."""

    def run(lanes, *values):
        values = [value.astype(np.float32) for value in _halves(name, values)]
        return lanes._counted(function(*values).astype(_HALF), operations)

    return run


def _fma(lanes, a, b, c):
    a, b, c = (value.astype(np.float64) for value in _halves("hfma", (a, b, c)))
    return lanes._counted((a * b + c).astype(_HALF), 2)  # exact in float64, so rounded once


def _compared(name, function):
    return lambda lanes, a, b: function(*_halves(name, (a, b)))


_FUNCTIONS = {
    "hadd": operator.add,
    "hsub": operator.sub,
    "hmul": operator.mul,
    "hdiv": operator.truediv,
    "hneg": operator.neg,
    "habs": np.abs,
    "hmax": np.fmax,
    "hmin": np.fmin,
    "hsqrt": np.sqrt,
    "hrsqrt": lambda value: np.float32(1) / np.sqrt(value),
    "hrcp": lambda value: np.float32(1) / value,
    "hexp": np.exp,
    "hexp2": np.exp2,
    "hexp10": lambda value: np.power(np.float32(10), value),
    "hlog": np.log,
    "hlog2": np.log2,
    "hlog10": np.log10,
    "hsin": np.sin,
    "hcos": np.cos,
    "htanh": np.tanh,
    "hfloor": np.floor,
    "hceil": np.ceil,
    "htrunc": np.trunc,
    "hrint": np.rint,
}
_COMPARED = {"heq": "eq", "hne": "ne", "hgt": "gt", "hge": "ge", "hlt": "lt", "hle": "le"}


def namespace() -> SimpleNamespace:
    """The functions as attributes, as ``numba.cuda.fp16`` has them."""
    table = {name: _in_single(name, function) for name, function in _FUNCTIONS.items()}
    table |= {name: _compared(name, getattr(operator, how)) for name, how in _COMPARED.items()}
    table["hfma"] = _fma
    return SimpleNamespace(**{name: Intrinsic(f"cuda.fp16.{name}", run) for name, run in table.items()})
