"""What can go wrong between a C++ cell and its result: exceptions that explain themselves in a notebook."""

from __future__ import annotations


class NativeError(RuntimeError):
    """C++ code that could not be built, or did not end well. `str()` is the whole explanation."""

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows in place of a traceback: the explanation and nothing of the machinery."""
        return [f"{type(self).__name__}: {self}", *getattr(self, "__notes__", ())]


class NoCompiler(NativeError):
    """No C++ compiler answers on this machine."""


class CompileError(NativeError):
    """The compiler refused the code.

    Attributes
    ----------
    log : str
        All that the compiler said.
    lines : tuple of int
        Lines of the learner's code at which the errors were found, in the order of the compiler's messages.
    """

    def __init__(self, text: str, *, log: str = "", lines: tuple[int, ...] = ()):
        super().__init__(text)
        self.log, self.lines = log, lines

    def __reduce__(self):
        return _compile_error, (str(self), self.log, self.lines)


def _compile_error(text, log, lines):
    return CompileError(text, log=log, lines=lines)


class Crashed(NativeError):
    """A function in C++ that ended its process instead of returning.

    Attributes
    ----------
    kind : str
        "out_of_bounds", "null", "wild", "read_only", "stack", "division", "abort", "killed", "exit", "undefined", ...
    function : str
        What had been called.
    line : int
        Line of the cell, or 0 where it is not known.
    """

    def __init__(self, text: str, *, kind: str = "crash", function: str = "", line: int = 0):
        super().__init__(text)
        self.kind, self.function, self.line = kind, function, line

    def __reduce__(self):
        return _crashed, (type(self), str(self), self.kind, self.function, self.line)


class TooSlow(Crashed, TimeoutError):
    """A function in C++ that did not return within its time limit."""


def _crashed(cls, text, kind, function, line):
    return cls(text, kind=kind, function=function, line=line)
