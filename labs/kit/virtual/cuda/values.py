"""Values of many lanes: a number that all share, or a vector with one element per lane."""

from __future__ import annotations

import operator

import numpy as np

from labs.kit.virtual.cuda import arithmetic
from labs.kit.virtual.cuda.failures import WrongType
from labs.kit.virtual.cuda.masks import Masks, truth
from labs.kit.virtual.cuda.memory import View
from labs.kit.virtual.cuda.unset import Unset

_FAST = {np.dtype(t) for t in (np.int64, np.float32, np.float64)}


class Values(Masks):
    """Arithmetic and assignment under a mask. Subclasses know the `block` in flight and the `code` that runs.

    Parameters
    ----------
    n : int
        How many lanes.
    flops : dict
        Counts floating-point operations by dtype.
    """

    def __init__(self, n: int, flops: dict):
        super().__init__(n)
        self.flops = flops

    def _counted(self, result, operations=1):
        if isinstance(result, (np.ndarray, np.floating)) and result.dtype.kind == "f":
            dtype = result.dtype
            self.flops[dtype] = self.flops.get(dtype, 0) + operations * self.count
        return result

    def set(self, new, old):
        """What a variable holds after the lanes that take part have assigned `new`."""
        if self.mask is None or type(old) is Unset:
            return new
        if not self.live:
            return old
        return self.merge(self.mask, new, old)

    def merge(self, test, new, old):
        """`new` where `test` holds, else `old`."""
        if new is old:
            return new
        if type(new) is tuple and type(old) is tuple and len(new) == len(old):
            return tuple(self.merge(test, a, b) for a, b in zip(new, old))
        if isinstance(new, View) or isinstance(old, View):
            return _merged_views(self, test, new, old)
        if new is None or old is None:  # a function that returns a value on one path only
            return new if old is None else old
        if not (arithmetic.is_number(new) and arithmetic.is_number(old)):
            raise WrongType("a variable must hold the same kind of value in every thread; here the threads differ")
        return np.where(test, arithmetic.typed(new), arithmetic.typed(old))  # NumPy's common type is Numba's

    def select(self, test, yes, no, site):
        """``yes if test else no``: each evaluated by its lanes; the result has a type that holds both."""
        test = truth(test)
        if type(test) is bool:
            chosen, other = (yes, no) if test else (no, yes)
            return self._unified(chosen(), other, site)
        a, b = self._narrowed(test, yes), self._narrowed(~test, no)
        if a is None or b is None:
            return self._unified(b, yes, site) if a is None else self._unified(a, no, site)
        return self.merge(test, a, b)

    def _unified(self, value, other, site):
        """`value` in the type that it shares with `other`, which is evaluated once, by no lane, to learn its type."""
        if not arithmetic.is_number(value):
            return value
        own = arithmetic.typed(value).dtype
        key, known = (self.code, site, own), self.block.launch.unified
        if key not in known:
            state = self._state()
            self._nobody()
            try:
                other = other()
            except Exception:  # what no lane evaluates cannot fail
                other = value
            finally:
                self.mask, self.chosen, self.live, self.left = state
            known[key] = np.result_type(own, arithmetic.typed(other)) if arithmetic.is_number(other) else own
        return value if known[key] == own else arithmetic.convert(value, known[key])

    def unpack(self, value, count):
        """The right side of ``a, b = value``."""
        if isinstance(value, Unset):
            value[0]
        if type(value) is not tuple:
            raise WrongType(f"this value cannot be unpacked into {count} variables: it is one number or one array")
        if len(value) != count:
            raise WrongType(f"{len(value)} values cannot be unpacked into {count} variables")
        return value

    def binary(self, op, a, b):
        """``op(a, b)`` with Numba's types."""
        kind_a, kind_b = type(a), type(b)
        if kind_a is np.ndarray and kind_b is np.ndarray and a.dtype is b.dtype and a.dtype in _FAST:
            result = op(a, b)
        elif kind_a is int and kind_b is int:
            return arithmetic.binary(op, a, b)
        else:
            if not (arithmetic.is_number(a) and arithmetic.is_number(b)):
                _refuse_operands(a, b)
            result = arithmetic.binary(op, a, b)
        if type(result) is np.ndarray:
            if result.dtype.kind != "f":
                return result
        elif not isinstance(result, np.floating):
            return result
        dtype = result.dtype
        self.flops[dtype] = self.flops.get(dtype, 0) + (self.n if self.chosen is None else len(self.chosen))
        return result

    def divide(self, op, a, b, site):
        """``a // b`` or ``a % b``: an integer divisor must not be zero."""
        if arithmetic.is_number(b) and (type(b) is int or arithmetic.typed(b).dtype.kind in "iub"):
            numerator = type(a) is int or (arithmetic.is_number(a) and arithmetic.typed(a).dtype.kind in "iub")
            if numerator:
                zero = np.asarray(b) == 0
                if zero.any():
                    zero = np.broadcast_to(zero, self.n) & self.full(self.mask)
                    if zero.any():
                        self.divided_by_zero(site, int(np.flatnonzero(zero)[0]))
                    b = np.where(np.asarray(b) == 0, 1, b)  # lanes that do not take part
        return self.binary(op, a, b)

    def power(self, a, exponent):
        """``a ** exponent`` with a literal exponent."""
        if not arithmetic.is_number(a):
            _refuse_operands(a, exponent)
        return self._counted(arithmetic.power(a, exponent), max(1, abs(exponent).bit_length()))

    def compare(self, op, a, b):
        """``op(a, b)`` as Booleans."""
        if not (arithmetic.is_number(a) and arithmetic.is_number(b)):
            if isinstance(a, (np.dtype, type, str)) and isinstance(b, (np.dtype, type, str)):
                return op(a, b)
            _refuse_operands(a, b)
        return arithmetic.compare(op, a, b)

    def unary(self, op, value):
        """``-value`` and friends."""
        if not arithmetic.is_number(value):
            _refuse_operands(value, 0)
        return self._counted(arithmetic.unary(op, value)) if op is operator.neg else arithmetic.unary(op, value)


def _refuse_operands(a, b):
    for value in (a, b):
        if isinstance(value, Unset):
            bool(value)
    names = [_kind(value) for value in (a, b) if not arithmetic.is_number(value)]
    raise WrongType(f"a kernel calculates with numbers, one per thread, not with {names[0]}")


def _kind(value) -> str:
    if isinstance(value, View):
        return f"the whole array {value.memory.name}: name an element, {value.memory.name}[i]"
    if isinstance(value, tuple):
        return "a tuple: name one of its parts (threadIdx.x, not threadIdx)"
    if value is None:
        return "None: does a device function end without a return?"
    return f"a {type(value).__name__}"


def _merged_views(lanes, test, new, old):
    same = isinstance(new, View) and isinstance(old, View)
    if not same or new.memory is not old.memory or new.strides != old.strides:
        raise WrongType(
            "a variable cannot be one array in some threads and another array in others: use an index instead"
        )
    shape = tuple(
        a if type(a) is type(b) is int and a == b else np.where(test, a, b) for a, b in zip(new.shape, old.shape)
    )
    return View(new.memory, shape, new.strides, np.where(test, new.offset, old.offset))
