"""Where in the learner's code something happened: file, line, and the text of the line.

Code is remembered as `(code, instruction)` while a program runs, which costs next to nothing, and becomes a readable
`Place` only when somebody asks.
"""

from __future__ import annotations

import importlib.util
import linecache
import os
import sysconfig
from dataclasses import dataclass
from types import CodeType, FrameType, TracebackType

_LABS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_ROOM = os.path.dirname(os.path.abspath(__file__)) + os.sep
_SPEC = importlib.util.find_spec("torch")  # found, but not imported: kernels are told their places without torch
_TORCH = os.path.dirname(os.path.abspath(_SPEC.origin)) + os.sep if _SPEC and _SPEC.origin else "<no torch>"
_STANDARD = sysconfig.get_path("stdlib") + os.sep
_SITE = sysconfig.get_path("purelib") + os.sep
_SANDBOX = "<check>"  # what the grader calls the source of an exercise's `run`
_FOREIGN = (_LABS, _TORCH, _STANDARD, _SITE, "<frozen ", _SANDBOX)


@dataclass(frozen=True, slots=True)
class Place:
    """A line of code, as a person would name it.

    Parameters
    ----------
    file : str
        File name as Python knows it; for a notebook cell the name that IPython made up.
    line : int
        Line number, counted from 1 within the file or cell.
    function : str
        Name of the function, or "" at the top level.
    source : str
        Text of the line without indentation; "" where it cannot be found.
    in_cell : bool
        Whether the line stands in a notebook cell.
    """

    file: str
    line: int
    function: str
    source: str
    in_cell: bool

    def __str__(self) -> str:
        where = f"line {self.line} of your cell" if self.in_cell else f"{os.path.basename(self.file)}:{self.line}"
        if self.function:
            where += f", in {self.function}"
        return f"{where}: {self.source}" if self.source else where


def place_of(code: CodeType, line: int) -> Place:
    """The place of one line of a code object."""
    file = code.co_filename
    return Place(
        file=file,
        line=line,
        function="" if code.co_name == "<module>" else code.co_name,
        source=linecache.getline(file, line).strip(),
        in_cell="ipykernel_" in file or "<ipython-input" in file,
    )


def place_of_instruction(code: CodeType, instruction: int) -> Place:
    """The place that `(frame.f_code, frame.f_lasti)` stood for."""
    line = next((n for a, b, n in code.co_lines() if a <= instruction < b and n), code.co_firstlineno)
    return place_of(code, line)


def place_of_frame(frame: FrameType | None) -> Place | None:
    """The innermost line of the learner on a stack.

    Frames of this package, of torch and of the standard library are passed over; where nothing else is left (a lesson's
    own demonstration), the innermost line outside this room counts.
    """
    outside_room = None
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_FOREIGN):
            return place_of(frame.f_code, frame.f_lineno)
        if outside_room is None and not file.startswith(_ROOM) and not file.startswith((_TORCH, _STANDARD, _SITE)):
            outside_room = place_of(frame.f_code, frame.f_lineno)
        frame = frame.f_back
    return outside_room


def call_of_frame(frame: FrameType | None) -> str:
    """Name of the outermost function of this room on a stack: what the learner called ("recv", "wait", ...)."""
    name = ""
    while frame is not None and frame.f_code.co_filename.startswith(_ROOM):
        name, frame = frame.f_code.co_name, frame.f_back
    return name


def learner_lines(trace: TracebackType | None) -> list[Place]:
    """The learner's lines of a traceback, outermost first (all lines outside this room where none is the learner's)."""
    own, other = [], []
    while trace is not None:
        code = trace.tb_frame.f_code
        if not code.co_filename.startswith(_FOREIGN):
            own.append(place_of(code, trace.tb_lineno))
        elif not code.co_filename.startswith(_ROOM):
            other.append(place_of(code, trace.tb_lineno))
        trace = trace.tb_next
    return own or other
