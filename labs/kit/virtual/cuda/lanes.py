"""The lanes that run together: ``_R`` in translated code. Calls, and where and who they are."""

from __future__ import annotations

import inspect
import types

import numpy as np

from labs.kit.virtual.cuda import arithmetic
from labs.kit.virtual.cuda.access import Accesses
from labs.kit.virtual.cuda.failures import DividedByZero, Misaligned, WrongType
from labs.kit.virtual.cuda.intrinsics import Intrinsic
from labs.kit.virtual.cuda.memory import OPERATIONS, View
from labs.kit.virtual.cuda.refusals import CALLS, refuse
from labs.kit.virtual.places import Place, place_of


class Lanes(Accesses):
    """A block's threads, or one warp of them, running in lockstep.

    Parameters
    ----------
    block : labs.kit.virtual.cuda.block.BlockRun
        The block in flight.
    ids : numpy.ndarray of int64
        Number of each lane's thread within the block.
    thread : tuple of 3 numpy.ndarray
        threadIdx of each.
    lane : numpy.ndarray
        laneid of each.
    """

    def __init__(self, block, ids, thread, lane):
        super().__init__(block, ids)
        self.thread, self.lane = thread, lane
        self.code, self.lines, self.numbers = None, (), ()
        self.site, self.variable, self.wanted = 0, None, True

    # ---- where and who

    def line(self, site) -> int:
        """Line number of a site of the function that runs now."""
        return self.lines[site]

    def place(self, site=None) -> Place:
        """Place of a site; of the call in flight when left out."""
        return place_of(self.code, self.lines[self.site if site is None else site])

    def thread_in_words(self, lane) -> str:
        """ "thread (3, 0, 0) of block (1, 0, 0)" for a lane."""
        return self.block.recorder_words(int(self.ids[lane]))

    def tick(self, loop, line):
        loop.turns += 1
        launch = self.block.launch
        launch.turns += 1
        if not launch.turns & 255:
            self.block.end_if_cancelled(self)
            launch.check_time(loop.turns, place_of(self.code, line))

    # ---- faults that need words

    def refuse(self, site, what, instead):
        """Raise `Unsupported` at a site."""
        refuse(self.code, self.lines[site], what, instead)

    def divided_by_zero(self, site, lane):
        """Report an integer division by zero."""
        text = (
            f"{self.thread_in_words(lane)} divides a whole number by zero, which a GPU does not report: the result is"
            f" undefined.\n  at {self.place(site)}"
        )
        self.block.fault(DividedByZero, self, site, text, lane=lane)

    def misaligned(self, array, site, kind):
        """Report an access to a wide element at an odd address."""
        size = array.dtype.itemsize
        text = (
            f"{array.memory.name} has elements of {size} bytes, but starts at an address that is no multiple of"
            f" {size}: a"
            f" GPU stops with a misaligned address.\n  at {self.place(site)}"
        )
        facts = {
            "array": array.memory.name,
            "space": array.memory.space,
            "op": OPERATIONS[kind],
            "lane": int(self.lanes()[0]),
        }
        self.block.fault(Misaligned, self, site, text, **facts)

    # ---- loops over arrays and tuples

    def items(self, loop, line, values, site):
        """Yield the elements of a tuple or of a one-dimensional array."""
        if type(values) is tuple:
            yield from self._turns(loop, line, values)
        elif type(values) is View and type(values.shape[0]) is not np.ndarray:
            for i in self._turns(loop, line, range(values.shape[0])):
                yield self.load(values, i, site)
        else:
            self.refuse(site, "a for that runs over this", "for i in range(...), and element i inside")

    # ---- calls

    def call(self, site, function, *values, _name=None, **named):
        """``function(*values)`` for what a kernel may call."""
        self.site, self.variable = site, _name
        if type(function) is Intrinsic:
            try:
                return function.run(self, *values, **named)
            except TypeError:
                _check_arguments(function, self, values, named)
                raise
        if hasattr(function, "translated"):
            return self._device_function(site, function, values, named)
        if named:
            self.refuse(site, "name=value in this call", "the values alone, in order")
        try:
            known = arithmetic.CALLS.get(function)
        except TypeError:
            known = None
        if known is not None:
            return self._counted(self._numbers(known, function, values), arithmetic.COSTS.get(function, 1))
        if function is len and len(values) == 1:
            return values[0].shape[0] if type(values[0]) is View else len(values[0])
        if function is print:
            return self._print(values)
        if (dtype := arithmetic.dtype_of(function)) is not None:
            return self._numbers(lambda value: arithmetic.convert(value, dtype), function, values)
        return self._refuse_call(site, function)

    def call_unused(self, site, function, *values, **named):
        """A call whose result nobody looks at."""
        self.wanted = False
        try:
            return self.call(site, function, *values, **named)
        finally:
            self.wanted = True

    def _numbers(self, known, function, values):
        for value in values:
            if not arithmetic.is_number(value):
                name = getattr(function, "__name__", str(function))
                kind = f"the whole array {value.memory.name}" if type(value) is View else f"a {type(value).__name__}"
                if type(value).__name__ == "Unset":
                    bool(value)
                raise WrongType(f"{name}() takes numbers, not {kind}")
        return known(*values)

    def _device_function(self, site, dispatcher, values, named):
        before = self.code, self.lines, self.numbers, self.wanted
        function, self.lines, self.numbers = self.block.launch.bound(dispatcher)
        self.code, self.wanted = function.__code__, True
        try:
            return function(self, *values, **named)
        finally:
            self.code, self.lines, self.numbers, self.wanted = before
            self.site = site

    def _print(self, values):
        rows = [value if type(value) is np.ndarray else [value] * self.n for value in values]
        for lane in self.lanes():
            print(*(row[lane] for row in rows))

    def _refuse_call(self, site, function):
        name = getattr(function, "__name__", type(function).__name__)
        if arithmetic.is_number(function):
            self.refuse(site, "( ) behind a number", "the number itself")
        if type(function) is View:
            name = function.memory.name
            self.refuse(site, f"( ) behind the array {name}", f"square brackets for an element: {name}[i]")
        if isinstance(function, types.FunctionType):
            self.refuse(site, f"{name}, a plain Python function", f"@cuda.jit(device=True) above `def {name}`")
        if function is range:
            self.refuse(site, "range outside `for`", "a loop over it")
        if isinstance(function, np.ufunc):
            self.refuse(site, f"numpy's {name}", f"math.{name}, or an operator")
        known = CALLS.get(name, "cuda's functions, math, min, max, abs, or a device function")
        self.refuse(site, f"a call of {name}", known)


def _check_arguments(function, lanes, values, named):
    """Raise `WrongType` when a function of the device was called with other arguments than it takes."""
    signature = inspect.signature(function.run)
    try:
        signature.bind(lanes, *values, **named)
    except TypeError:
        takes, got = ", ".join([*signature.parameters][1:]), len(values) + len(named)
        raise WrongType(f"{function.__name__}({takes}) was called with {got} argument{'s' * (got != 1)}") from None
