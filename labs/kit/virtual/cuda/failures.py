"""What a launch on the virtual device can end in, each kind a class that explains itself and carries its facts as data.

On a GPU most of these end in a wrong number, in a hang, or in a bare "illegal memory access" much later. Here the
launch stops at the line where it happens.
"""

from __future__ import annotations

from labs.kit.virtual.places import Place, learner_lines


class KernelHazard(UserWarning):
    """A race, or a value read too early, in a launch that nobody profiles."""


class KernelFailure(RuntimeError):
    """A launch that did not end well. `str()` is the explanation; `as_data()` the same as plain data.

    Attributes
    ----------
    place : Place or None
        The learner's line.
    facts : dict
        What this kind knows besides, as plain data: "array", "index", "thread", "block", ...
    """

    kind = "failure"

    def __init__(self, text: str, place: Place | None = None, **facts):
        super().__init__(text)
        self.place, self.facts = place, facts

    def as_data(self) -> dict:
        """The failure as a plain dictionary: "kind", "text", "exception", "message", "places", and the facts."""
        text = "\n".join([str(self), *getattr(self, "__notes__", ())])
        data = {
            "kind": self.kind,
            "text": text,
            "exception": type(self).__name__,
            "message": str(self).partition("\n")[0],
            "places": [str(self.place)] if self.place else [],
        }
        return data | {name: _plain(value) for name, value in self.facts.items()}

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows in place of a traceback: the explanation and nothing of the machinery."""
        where = [] if self.place else [f"  at {place}" for place in learner_lines(self.__traceback__)[-1:]]
        return [f"{type(self).__name__}: {self}", *where, *getattr(self, "__notes__", ())]


class OutOfBounds(KernelFailure, IndexError):
    """A thread read or wrote outside its array."""

    kind = "out_of_bounds"


class Misaligned(KernelFailure):
    """A thread accessed a wide element at an address that is no multiple of its size."""

    kind = "misaligned"


class DivergentBarrier(KernelFailure):
    """Not all threads of the block (or not all lanes that a mask names) reach one barrier together."""

    kind = "divergent_barrier"


class DividedByZero(KernelFailure, ZeroDivisionError):
    """An integer was divided by zero, whose result no GPU defines."""

    kind = "division_by_zero"


class EndlessLoop(KernelFailure):
    """A loop turned too often, or the launch took too long."""

    kind = "time_limit"


class Race(KernelFailure):
    """Two threads touch one element, one of them writes, and nothing orders them.

    Never raised: a race is a finding, since the launch can go on. `labs.kit.gpu.outcome` hands it to an exercise in
    this form.
    """

    kind = "race"


class Uninitialised(KernelFailure):
    """A thread read an element that nobody had written; a finding, like a race."""

    kind = "uninitialised"


class Unsynchronised(KernelFailure):
    """The host read, or overwrote, an array that the device was still working on; a finding, like a race."""

    kind = "unsynchronised"


class Unsupported(KernelFailure):
    """The kernel uses something that this device (and often Numba, too) does not offer."""

    kind = "unsupported"

    def _render_traceback_(self) -> list[str]:
        return [f"Unsupported: {self}"]


class LaunchFailed(KernelFailure, ValueError):
    """The launch itself is impossible: its sizes, its arguments, its device."""

    kind = "launch"


class WrongType(KernelFailure, TypeError):
    """A value of a type that this operation does not take, here or in Numba."""

    kind = "type"


class KernelError(KernelFailure):
    """Python raised an exception at a line of the kernel.

    Attributes
    ----------
    exception : str
        Name of the exception's type.
    """

    kind = "error"

    def __init__(self, exception: str, message: str, place: Place | None = None, **facts):
        self.exception = exception
        what = f"{exception}: {message}" if message else exception
        super().__init__(f"{what}\n  at {place}" if place else what, place, **facts)

    def as_data(self) -> dict:
        data = super().as_data()
        message = str(self).partition("\n")[0]
        message = message.removeprefix(f"{self.exception}: ")
        return data | {"exception": self.exception, "message": message, "lines": data["places"]}

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Interrupted(KeyboardInterrupt):
    """Somebody pressed Ctrl-C, or the stop button, while a kernel ran."""

    def __init__(self, text: str, place: Place | None = None):
        super().__init__(text)
        self.place = place

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def _plain(value):
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, Place):
        return str(value)
    return value
