"""Numba's typing rules on NumPy vectors: what type a sum has on the device, and how its bits wrap.

Integers widen to 64 bits before they are combined; float32 with float32 stays float32, but float32 with an integer of
32 or 64 bits, or with a literal such as 1.5, becomes float64. Mixed signs give int64. Source: Numba's documentation
("Numba architecture", type unification) and, value by value, the compiler itself: the tests ask it.
"""

from __future__ import annotations

import math
import operator

import numpy as np

_INT64, _UINT64 = np.dtype(np.int64), np.dtype(np.uint64)
_FLOAT16, _FLOAT32 = np.dtype(np.float16), np.dtype(np.float32)
_SETTLED = {np.dtype(t) for t in (np.int64, np.uint64, np.float32, np.float64)}
_SHORT = {  # integers that a narrow float can hold: the result keeps the float's type, or takes the one named
    _FLOAT32: {np.dtype(t): _FLOAT32 for t in (np.bool_, np.int8, np.uint8, np.int16)},
    _FLOAT16: {np.dtype(np.bool_): _FLOAT16, np.dtype(np.int8): _FLOAT16, np.dtype(np.uint8): _FLOAT32},
}
_LOGICAL = (operator.and_, operator.or_, operator.xor)
_LOW, _HIGH, _MASK = -(1 << 63), 1 << 63, (1 << 64) - 1


def wrapped(value: int) -> int:
    """The int64 that keeps the low 64 bits of a Python int."""
    if _LOW <= value < _HIGH:
        return value
    value &= _MASK
    return value - (1 << 64) if value >= _HIGH else value


def widen(value):
    """A number as Numba types it: integers get 64 bits, Python numbers become int64 or float64, the rest stays."""
    kind = type(value)
    if kind is np.ndarray:
        if value.dtype.kind in "iu" and value.dtype.itemsize != 8:
            return value.astype(_INT64 if value.dtype.kind == "i" else _UINT64)
        return value
    if kind is int:
        return np.int64(value) if _LOW <= value < _HIGH else np.uint64(value & _MASK)
    if kind is float:
        return np.float64(value)
    if kind is bool:
        return np.bool_(value)
    if isinstance(value, np.integer) and value.dtype.itemsize != 8:
        return np.int64(value) if isinstance(value, np.signedinteger) else np.uint64(value)
    return value


def typed(value):
    """A number as a NumPy value of its own type; a Python int is int64, a Python float float64."""
    return widen(value) if type(value) in (int, float, bool) else value


def is_number(value) -> bool:
    """Whether arithmetic can use the value: a Python or NumPy number, or a vector of them."""
    return isinstance(value, (np.ndarray, np.generic, int, float))


def binary(op, a, b):
    """``op(a, b)`` with Numba's types; the operands are numbers or vectors with one element per lane."""
    kind_a, kind_b = type(a), type(b)
    if kind_a is int and kind_b is int:
        return _python(op, a, b)
    a, b = typed(a), typed(b)
    da, db = a.dtype, b.dtype
    if da is db and da in _SETTLED:
        return op(a, b)
    if (result := _SHORT.get(da, {}).get(db) or _SHORT.get(db, {}).get(da)) is not None:
        return op(a.astype(result), b.astype(result))
    if da == db == _FLOAT16 and op in (operator.floordiv, operator.mod):
        return op(a.astype(_FLOAT32), b.astype(_FLOAT32))
    a, b = widen(a), widen(b)
    ka, kb = a.dtype.kind, b.dtype.kind
    if ka == "b" and kb == "b" and op in _LOGICAL:
        return op(a, b)
    if op in (operator.lshift, operator.rshift):
        result = _UINT64 if ka == "u" else _INT64
        return op(a.astype(result), b.astype(result))
    if ka in "bi" and kb in "bu" and op is not operator.truediv:  # mixed signs: int64, where NumPy says float64
        a, b = a.astype(_INT64), b.astype(_INT64)
    elif ka in "bu" and kb in "bi" and op is not operator.truediv:
        a, b = a.astype(_INT64), b.astype(_INT64)
    return op(a, b)


def _python(op, a: int, b: int):
    """Two uniform ints stay a Python int, which is faster, but wraps as int64 does."""
    if op is operator.truediv:
        return np.float64(a) / np.float64(b)
    if op is operator.pow and b < 0:
        return np.float64(a) ** b
    if op is operator.lshift:
        return wrapped(a << (b & 63))
    if op is operator.rshift:
        return a >> (b & 63)
    return wrapped(op(a, b))


def power(a, exponent: int):
    """``a ** exponent`` for a literal exponent: keeps a float's type, by squaring, as Numba compiles it."""
    a = a if type(a) is int else widen(a)
    if type(a) is not int and a.dtype == _FLOAT16:
        a = a.astype(_FLOAT32)
    if exponent < 0:
        base = typed(a) if typed(a).dtype.kind == "f" else np.float64(1) * a
        return base.dtype.type(1) / power(base, -exponent)
    result, square = None, a
    while exponent:
        if exponent & 1:
            result = square if result is None else binary(operator.mul, result, square)
        exponent >>= 1
        if exponent:
            square = binary(operator.mul, square, square)
    return (1 if type(a) is int else a.dtype.type(1)) if result is None else result


def compare(op, a, b):
    """``op(a, b)`` of two numbers, as Booleans."""
    return op(widen(a), widen(b))


def unary(op, value):
    """``op(value)`` with Numba's types: an integer has 64 bits afterwards."""
    if type(value) is int:
        return wrapped(op(value))
    value = widen(value)
    return op(value.astype(_INT64) if value.dtype.kind == "b" else value)


def convert(value, dtype):
    """A number or vector as `dtype`, as C casts: integers keep their low bits, floats lose their fraction."""
    dtype = np.dtype(dtype)
    if type(value) is not np.ndarray:
        if isinstance(value, (int, np.integer)) and dtype.kind in "iu":
            bits = np.array(int(value) & _MASK, np.uint64)
            return bits.astype(f"u{dtype.itemsize}").view(dtype)[()]
        value = np.asarray(typed(value))
        return convert(value, dtype)[()] if value.ndim == 0 and value.dtype != dtype else dtype.type(value)
    if value.dtype == dtype:
        return value
    if dtype.kind in "iu" and value.dtype.kind == "f":
        value = value.astype(np.int64)
    return value.astype(dtype)


def dtype_of(thing):
    """The dtype that a kernel names: ``np.float32``, a dtype, a string, or one of Numba's types; None for others."""
    if isinstance(thing, np.dtype):
        return thing
    if isinstance(thing, type):
        if issubclass(thing, np.generic):
            return np.dtype(thing)
        return {int: np.dtype(np.int64), float: np.dtype(np.float64), bool: np.dtype(np.bool_)}.get(thing)
    if isinstance(thing, str) or type(thing).__module__.split(".")[0] in ("numba", "numba_cuda"):
        try:
            return np.dtype({"boolean": "bool"}.get(str(thing), str(thing)))
        except TypeError:
            return None
    return None


def _floating(value):
    value = typed(value)
    return value if value.dtype.kind == "f" else convert(value, np.float64)


def _by_float(function):
    """`function` on floats of their own type; float16 is computed in float32 and rounded, integers become float64."""

    def call(*values):
        values = [_floating(value) for value in values]
        widest = max((value.dtype for value in values), key=lambda dtype: dtype.itemsize)
        if widest == _FLOAT16:
            return function(*(value.astype(np.float32) for value in values)).astype(np.float16)
        return function(*(value.astype(widest) for value in values))

    return call


def _keeps_integers(function):
    by_float = _by_float(function)
    return lambda value: by_float(value) if typed(value).dtype.kind == "f" else widen(value)


def _extreme(function):
    def call(a, b, *more):
        result = function(typed(a), typed(b))  # NumPy's common type is Numba's
        return call(result, *more) if more else result

    return call


def _rounded(value, digits=None):
    if digits is not None:
        raise TypeError("round with a number of digits is not offered in a kernel: multiply, round, and divide")
    return convert(np.rint(_floating(value)), np.int64)


def _truth(value):
    return convert(value, np.bool_)


def _pow(a, b, modulus=None):
    return power(a, b) if type(b) is int else binary(operator.pow, a, b)


CALLS = {
    min: _extreme(np.fmin),
    max: _extreme(np.fmax),
    abs: lambda value: np.abs(typed(value)),
    int: lambda value: convert(value, np.int64),
    float: lambda value: value if typed(value).dtype.kind == "f" else convert(value, np.float64),
    bool: _truth,
    round: _rounded,
    pow: _pow,
    divmod: lambda a, b: (binary(operator.floordiv, a, b), binary(operator.mod, a, b)),
    math.pow: _by_float(np.power),
    math.floor: _keeps_integers(np.floor),
    math.ceil: _keeps_integers(np.ceil),
    math.trunc: _keeps_integers(np.trunc),
    math.isnan: lambda value: np.isnan(_floating(value)),
    math.isinf: lambda value: np.isinf(_floating(value)),
    math.isfinite: lambda value: np.isfinite(_floating(value)),
}
"""Built-in functions and those of ``math`` that a kernel may call."""

_MATH = {
    name: name for name in "sqrt exp expm1 exp2 log log1p log2 log10 sin cos tan sinh cosh tanh fabs fmod hypot".split()
}
_MATH |= {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "copysign": "copysign"}
_MATH |= {"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "radians": "radians", "degrees": "degrees"}
CALLS |= {getattr(math, ours): _by_float(getattr(np, numpys)) for ours, numpys in _MATH.items() if hasattr(math, ours)}
_ERF = np.vectorize(math.erf, otypes=[np.float64])
CALLS[math.erf] = _by_float(lambda value: _ERF(value).astype(value.dtype))
COSTS = {abs: 0, int: 0, float: 0, bool: 0, round: 0, math.isnan: 0, math.isinf: 0, math.isfinite: 0, math.fabs: 0}
"""Floating-point operations that a call counts, where it is not one."""
