"""What a ``%%cpp`` cell puts into the notebook: a callable for each of its functions."""

from __future__ import annotations

import atexit
import builtins
import functools
import os
import re
import time
from dataclasses import dataclass, replace

import numpy as np

from labs.kit.native import wire
from labs.kit.native.binding import Cell, demangle
from labs.kit.native.crash import Argument, explain
from labs.kit.native.failures import CompileError
from labs.kit.native.memory import Segment, end_at_page, order_of, pages, segment_of, write_all
from labs.kit.native.process import Children, Ended
from labs.kit.native.source import Source

SECONDS = 10.0
"""Time limit of a call."""
LOAD_SECONDS = 60.0
KEPT_SCRATCH = 256 << 20
"""B of shared memory for arguments that are kept for the next call."""


@dataclass(frozen=True, slots=True)
class Stats:
    """Figures about a function and its latest call.

    Parameters
    ----------
    compile_seconds : float
    compiled : bool
        False when the cell was found in the cache.
    seconds : float or None
        Time inside C++ of the latest call; None before it.
    call_seconds : float or None
        Time of that call as the notebook saw it.
    copied_in, copied_back : int
        B of arrays that were copied to the process that runs C++, and from it.
    """

    compile_seconds: float
    compiled: bool
    seconds: float | None = None
    call_seconds: float | None = None
    copied_in: int = 0
    copied_back: int = 0


class Function:
    """A C++ function. Call it like one of Python's.

    Arguments and results: None, bool, int, float, complex, str, bytes, lists, tuples and dicts of these, and NumPy
    arrays. An array argument is copied once into memory that the notebook shares with the process in which C++ runs,
    and looked at there without a further copy; one that the function may write to (`lab::Vector<double>`, not
    ``<const double>``) is copied back afterwards. An array made by `labs.kit.native.shared`, or returned by such a
    function and at least 1 MB large, lies in that memory already and is not copied at all. A returned array is copied
    once, by the process that made it.

    Parameters
    ----------
    cell : Cell
    name : str
    seconds : float
        Time limit of a call.
    locale : str
        Locale of the process during a call; the plain one, "C", when empty.
    """

    unsolved = False

    def __init__(self, cell: Cell, name: str, *, seconds: float = SECONDS, locale: str = ""):
        self.cell, self.__name__, self.seconds, self.locale = cell, name, seconds, locale
        self.stats = Stats(cell.seconds, not cell.cached)
        self.__qualname__ = name

    @property
    def source(self) -> Source:
        """The text of the cell."""
        return self.cell.source

    @property
    def __doc__(self):
        return f"{self.signature}\n\nC++, from a %%cpp cell."

    @property
    def signature(self) -> str:
        """Its parameters and result, in words of Python."""
        return _readable(_workshop().load(self.cell)[self.__name__][0])

    def with_options(self, *, timeout: float | None = None, locale: str | None = None) -> Function:
        """The same function with another time limit (s), or called in another locale of the process."""
        seconds = self.seconds if timeout is None else timeout
        return Function(self.cell, self.__name__, seconds=seconds, locale=self.locale if locale is None else locale)

    def __call__(self, *args, **kwargs):
        __tracebackhide__ = True
        result, figures = _workshop().call(self, args, kwargs)
        self.stats = replace(self.stats, **figures)
        return result

    def __repr__(self):
        return f"<C++ function {self.__name__}>"

    def __reduce__(self):
        return _rebuilt, (self.cell, self.__name__, self.seconds, self.locale)


def _rebuilt(cell, name, seconds, locale):
    return Function(cell, name, seconds=seconds, locale=locale)


class Unready:
    """What a cell binds when there is nothing to call: its answer is unsolved, or there is no compiler.

    Parameters
    ----------
    source : Source
    name : str
    unavailable : str
        Why it cannot be called on this machine; empty for an unsolved answer.
    """

    def __init__(self, source: Source, name: str, unavailable: str = ""):
        self.source, self.__name__, self.unavailable = source, name, unavailable
        self.unsolved = not unavailable

    def __call__(self, *args, **kwargs):
        __tracebackhide__ = True
        if self.unsolved:
            raise NotImplementedError("not solved yet")
        from labs.kit.native.failures import NoCompiler

        raise NoCompiler(self.unavailable)

    def __repr__(self):
        return f"<C++ function {self.__name__}: {'not solved yet' if self.unsolved else 'cannot run here'}>"


class Workshop:
    """The process's children and the shared memory through which arguments go."""

    def __init__(self):
        self.children, self.scratch = Children(), None
        atexit.register(self.children.close)

    def load(self, cell: Cell) -> dict[str, tuple[str, str]]:
        """Load a cell's module, unless its child has it; gives each function's signature and what it may write to.

        Raises
        ------
        CompileError
            For a function without a body.
        Crashed
        """
        with self.children.lock:
            return self._child(cell)[1]

    def _child(self, cell):
        child = self.children.get(cell.check)
        if cell.path not in child.loaded:
            header = {"path": str(cell.path), "names": list(cell.source.symbols)}
            try:
                payload, _ = child.ask(wire.pack(("load", header, b""), None), (), LOAD_SECONDS)
            except Ended as ended:
                raise explain(ended, "", cell.source, cell.path) from None
            reply = wire.unpack(payload, None)
            if reply[0] == "error":
                raise _not_loaded(*reply[1:3])
            child.loaded[cell.path] = reply[1]
        return child, child.loaded[cell.path]

    def call(self, function: Function, args: tuple, kwargs: dict):
        """Call a function in the child; gives its result and the figures for `Stats`."""
        __tracebackhide__ = True
        with self.children.lock:
            began = time.perf_counter()
            cell, name = function.cell, function.__name__
            child, loaded = self._child(cell)
            signature, written = loaded[name]
            bench = Bench(self, args, kwargs, signature, written)
            header = {"path": str(cell.path), "name": name, "folder": os.getcwd(), "locale": function.locale}
            kept = True  # until the child says otherwise
            try:
                request = wire.pack(("call", header, bench.request), None)
                payload, fds = child.ask(request, bench.fds, function.seconds)
                try:
                    reply = wire.unpack(payload, None)
                    kept = reply[-1]
                    if reply[0] == "error":
                        raise _raised(name, reply[1], reply[2], signature, args)
                    result = wire.unpack(reply[1], lambda place: _result(place, fds))
                finally:
                    for fd in fds:
                        os.close(fd)
            except Ended as ended:
                raise explain(ended, name, cell.source, cell.path, tuple(bench.described)) from None
            finally:
                bench.close()
                if kept or (self.scratch is not None and len(self.scratch) > KEPT_SCRATCH):
                    self.scratch = None  # C++ still looks at it, or it is too large to keep
            figures = {
                "seconds": reply[2], "call_seconds": time.perf_counter() - began, "copied_in": bench.copied_in,
                "copied_back": bench.copy_back(),
            }  # fmt: skip
            return result, figures


class Bench:
    """The arguments of one call, laid out for the child."""

    def __init__(self, workshop, args, kwargs, signature, written):
        self.fds, self.described, self.copied_in, self.backs = [], [], 0, []
        self._layout, self._used = {}, 0
        names = parameter_names(signature)
        self._names = {id(value): names[i] for i, value in enumerate(args) if i < len(names)}
        self._names.update((id(value), key) for key, value in kwargs.items())
        self._written = {id(value) for i, value in enumerate(args) if i >= len(written) or written[i] == "1"} | {
            id(value) for key, value in kwargs.items() if key not in names or written[names.index(key)] == "1"
        }
        # Two passes: the first counts what must be copied, so that the scratch segment is large enough.
        wire.pack((args, kwargs), self._measure)
        if self._used and (workshop.scratch is None or len(workshop.scratch) < self._used):
            workshop.scratch = Segment.of(max(self._used, 2 * len(workshop.scratch) if workshop.scratch else 0))
        self._scratch, self._at = workshop.scratch, 0
        self.request = wire.pack((args, kwargs), self._place)

    def _measure(self, thing, array):
        _check_type(array)
        if id(thing) not in self._layout:
            self._layout[id(thing)] = None
            if not _in_segment(array):
                self._used += pages(array.nbytes)
        return ("measured",)

    def _place(self, thing, array):
        if self._layout[id(thing)] is None:
            self._layout[id(thing)] = self._put(thing, array)
        return self._layout[id(thing)]

    def _put(self, thing, array):
        self.described.append(Argument(self._names.get(id(thing), "an array"), array.itemsize or 1, array.size))
        order = order_of(array) or "C"
        if segment := _in_segment(array):
            offset = array.ctypes.data - segment.address
        else:
            segment, offset = self._scratch, self._at + end_at_page(array.nbytes)
            self._at += pages(array.nbytes)
            there = segment.array(array.dtype, array.shape, order, offset)
            if order_of(array):
                write_all(segment.fd, array, offset)
            else:
                there[...] = array
            self.copied_in += array.nbytes
            if array.flags.writeable and id(thing) in self._written:
                self.backs.append((array, there))
        if segment.fd not in self.fds:
            self.fds.append(segment.fd)
        segment_index = self.fds.index(segment.fd)
        return (segment_index, offset, array.dtype.str, array.shape, order, array.flags.writeable)

    def copy_back(self):
        """Bring what C++ wrote into the caller's arrays; returns the bytes."""
        for array, there in self.backs:
            array[...] = there
        return sum(array.nbytes for array, _ in self.backs)

    def close(self):
        """Forget the segment."""
        self._scratch = None


@functools.lru_cache(maxsize=1)
def _workshop() -> Workshop:
    return Workshop()


def close() -> None:
    """End the processes that run C++; the next call starts new ones."""
    _workshop().children.close()


def load(cell: Cell) -> None:
    """Load a cell, so that what is wrong with it is said at once. See `Workshop.load`."""
    _workshop().load(cell)


def _check_type(array):
    if array.dtype.hasobject:
        raise TypeError("an array of Python objects cannot go to C++; give it a numeric dtype")


def _in_segment(array):
    return segment_of(array) if order_of(array) and array.nbytes else None


def _result(place, fds):
    kind, what, dtype, shape, order = place
    if kind == "bytes":
        return np.ndarray(shape, dtype, buffer=bytearray(what), order=order)
    count = int(np.dtype(dtype).itemsize * np.prod(shape, dtype=np.int64))
    return Segment(fds[what], pages(count)).array(dtype, shape, order)


# ---- words ---------------------------------------------------------------------------------------------------------
def _raised(name, kind, text, signature, args):
    """The Python exception for one that left the C++ function."""
    if kind == "TypeError" and "incompatible function arguments" in text:
        given = ", ".join(_described(value) for value in args) or "nothing"
        return TypeError(f"{_readable(signature)} cannot take what it was given: {given}")
    if kind == "MemoryError":
        from labs.kit.native.child import MEMORY

        limit = f"; it may use at most {MEMORY >> 30} GB, or half of this machine's memory"
        return MemoryError(f"{name}() ran out of memory{limit}")
    cls = getattr(builtins, kind, None)
    if not (isinstance(cls, type) and issubclass(cls, Exception)) or issubclass(cls, UnicodeError):
        cls = RuntimeError
    return cls(text)


def _not_loaded(kind, text):
    undefined = re.search(r"undefined symbol: (\S+)", text)
    if undefined:
        return CompileError(f"your code does not link: {demangle(undefined[1])} is declared, but has no body", log=text)
    return CompileError(f"the compiled cell cannot be loaded ({kind}: {text})", log=text)


def _described(value):
    if isinstance(value, np.ndarray):
        more = "" if value.flags.c_contiguous else ", not in C order"
        more += "" if value.flags.writeable else ", read-only"
        return f"an array of {value.dtype}, shape {value.shape}{more}"
    text = repr(value)
    return f"{text if len(text) < 40 else text[:37] + '...'} ({type(value).__name__})"


def parameter_names(signature: str) -> tuple[str, ...]:
    """The names of the parameters in a signature of nanobind's."""
    inside = signature[signature.index("(") + 1 : signature.rindex(") ->")] if ") ->" in signature else ""
    return tuple(re.findall(r"(?:^|, )(\w+): ", re.sub(r"\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]", "", inside)))


def _readable(signature):
    text = re.sub(r", device='cpu'|numpy\.|, /(?=\))", "", signature.removeprefix("def "))
    return text.replace("NDArray", "ndarray")
