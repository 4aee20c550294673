"""Control flow of many threads at once: which lanes take part in what runs now.

Translated code calls these methods for ``if``, loops, ``return``, ``break`` and ``continue``. A lane that has left (a
loop by ``break``, the kernel by ``return``) is remembered in `left` until the construct that it left ends.
"""

from __future__ import annotations

import operator

import numpy as np

from labs.kit.virtual.cuda import arithmetic
from labs.kit.virtual.cuda.failures import WrongType


class Loop:
    """One loop in flight."""

    __slots__ = ("alive", "broken", "continued", "saved", "turns")

    def __init__(self, saved):
        self.saved, self.alive, self.broken, self.continued, self.turns = saved, None, None, None, 0


def truth(value):
    """A condition as ``bool`` (the same for all lanes) or a vector of Booleans."""
    if type(value) is np.ndarray:
        return value if value.dtype == bool else value != 0
    if not isinstance(value, (int, float, np.generic)):
        kind = "None" if value is None else "an array" if hasattr(value, "memory") else f"a {type(value).__name__}"
        if type(value).__name__ == "Unset":
            bool(value)
        raise WrongType(f"a condition in a kernel is a number, not {kind}: compare an element or a length")
    return bool(value)


class Masks:
    """The lanes that run together, and which of them take part.

    Parameters
    ----------
    n : int
        How many lanes.

    Attributes
    ----------
    mask : numpy.ndarray of bool, or None
        Lanes that take part; None when all do.
    chosen : numpy.ndarray of int64, or None
        Their numbers; None when all do.
    live : bool
        Whether any does.
    left : numpy.ndarray of bool, or None
        Lanes that left an enclosing construct.
    """

    def __init__(self, n: int):
        self.n = n
        self.mask, self.chosen, self.live, self.left = None, None, True, None

    @property
    def count(self) -> int:
        """How many lanes take part."""
        return self.n if self.chosen is None else len(self.chosen)

    def full(self, mask) -> np.ndarray:
        """A mask as a vector."""
        return np.ones(self.n, bool) if mask is None else mask

    def vector(self, value) -> np.ndarray:
        """A number as one element per lane."""
        return value if type(value) is np.ndarray else np.broadcast_to(arithmetic.typed(value), self.n)

    def lanes(self) -> np.ndarray:
        """Numbers of the lanes that take part."""
        return np.arange(self.n) if self.chosen is None else self.chosen

    def _state(self):
        return self.mask, self.chosen, self.live, self.left

    def _take(self, mask):
        chosen = np.flatnonzero(mask)
        if len(chosen) == self.n:
            self.mask = self.chosen = None
            self.live = True
        else:
            self.mask, self.chosen, self.live = mask, chosen, len(chosen) > 0

    def _nobody(self):
        self.mask, self.chosen, self.live = np.zeros(self.n, bool), np.empty(0, np.int64), False

    def _restore(self, saved, narrowed_by=None):
        if narrowed_by is None and saved[3] is self.left:
            self.mask, self.chosen, self.live, _ = saved
            return
        mask = self.full(saved[0])
        if self.left is not None:
            mask = mask & ~self.left
        self._take(mask if narrowed_by is None else mask & narrowed_by)

    def _leave_now(self, bag):
        gone = self.full(self.mask)
        self.left = gone if self.left is None else self.left | gone
        self._nobody()
        return gone if bag is None else bag | gone

    # ---- if

    def if_(self, test):
        """Narrow the mask to the lanes for which `test` holds; returns what `else_` and `endif` need."""
        test, saved = truth(test), self._state()
        if test is False:
            self._nobody()
        elif test is not True:
            self._take(test if self.mask is None else self.mask & test)
        return saved, test

    def else_(self, state):
        """The other lanes."""
        saved, test = state
        if test is True:
            self._nobody()
        else:
            self._restore(saved, None if test is False else ~test)

    def endif(self, state):
        """All lanes that came to the ``if`` and have not left since."""
        self._restore(state[0])

    # ---- loops

    def loop(self) -> Loop:
        """Enter a loop."""
        return Loop(self._state())

    def tick(self, loop: Loop, line: int):
        """Count one turn of a loop; subclasses end what never ends."""
        loop.turns += 1

    def _next_turn(self, loop):
        if loop.continued is not None:
            self.left = self.left & ~loop.continued
            loop.continued = None
        self._restore(loop.saved, loop.alive)

    def range_(self, loop, line, start, stop=None, step=1):
        """Yield the loop variable: an int where all lanes agree, else a vector."""
        if stop is None:
            start, stop = 0, start
        bounds = (start, stop, step)
        if any(arithmetic.typed(bound).dtype.kind == "f" for bound in bounds):
            raise WrongType("range() takes whole numbers: use // for a division, or int(...)")
        if not any(type(bound) is np.ndarray for bound in bounds):
            yield from self._turns(loop, line, range(int(start), int(stop), int(step)))
            return
        value = self.vector(start).astype(np.int64)
        while True:
            inside = np.where(np.asarray(step) > 0, value < stop, value > stop)
            loop.alive = inside if loop.alive is None else loop.alive & inside
            self._next_turn(loop)
            if not self.live:
                return
            self.tick(loop, line)
            yield value
            value = value + step

    def _turns(self, loop, line, values):
        for value in values:
            self.tick(loop, line)
            yield value
            if loop.continued is not None or self.left is not loop.saved[3] or self.mask is not loop.saved[0]:
                self._next_turn(loop)
            if not self.live:
                return

    def while_(self, loop, test, line) -> bool:
        """Whether a lane goes on; narrows the mask to those that do."""
        self._next_turn(loop)
        if not self.live:
            return False
        self.tick(loop, line)
        going = truth(test())
        if type(going) is bool:
            return going
        loop.alive = going if loop.alive is None else loop.alive & going
        self._restore(loop.saved, loop.alive)
        return self.live

    def endloop(self, loop):
        """All lanes that came to the loop and have not left the kernel."""
        if loop.continued is not None:
            self.left = self.left & ~loop.continued
        if loop.broken is not None:
            self.left = self.left & ~loop.broken
            if not self.left.any():
                self.left = loop.saved[3]
        self._restore(loop.saved)

    def break_(self, loop):
        """The lanes that take part leave the loop."""
        loop.broken = self._leave_now(loop.broken)

    def continue_(self, loop):
        """The lanes that take part leave this turn."""
        loop.continued = self._leave_now(loop.continued)

    # ---- functions

    def enter(self):
        """Enter a function."""
        return [self._state(), None]

    def return_(self, frame, value):
        """The lanes that take part leave the function with `value`."""
        frame[1] = value if frame[1] is None else self.set(value, frame[1])
        self._leave_now(None)

    def leave(self, frame):
        """Go on in the caller, with the lanes that made the call."""
        if frame[0][3] is not self.left:
            self.left = frame[0][3]
        self._restore(frame[0])
        return frame[1]

    # ---- conditions

    def _narrowed(self, test, later):
        saved = self._state()
        self._restore(saved, test)
        try:
            return later() if self.live else None
        finally:
            self.mask, self.chosen, self.live, _ = saved

    def not_(self, value):
        """``not value``."""
        value = truth(value)
        return not value if type(value) is bool else ~value

    def and_(self, first, later):
        """``first and second``: the second is evaluated by the lanes for which the first holds."""
        first = truth(first)
        if type(first) is bool:
            return truth(later()) if first else False
        second = self._narrowed(first, later)
        return first & False if second is None else first & truth(second)

    def or_(self, first, later):
        """``first or second``."""
        first = truth(first)
        if type(first) is bool:
            return True if first else truth(later())
        second = self._narrowed(~first, later)
        return first if second is None else first | truth(second)

    def both(self, first, second):
        """``first and second``, both evaluated already."""
        first, second = truth(first), truth(second)
        return operator.and_(first, second)
