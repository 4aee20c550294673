"""Why an answer stopped: an exception in the learner's code, told with the learner's own line."""

import linecache
import sys
import sysconfig
import traceback
from pathlib import Path

from labs.kit.exercise.case import Wrong

_CELL_MARKS = ("ipykernel_", "<ipython-input")
_COURSE = str(Path(__file__).resolve().parents[2])
_LIBRARIES = tuple({sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")})


class Stopped(Exception):
    """The answer raised an exception in another process: what `call` of `Exercise.judge` raises for it there.

    Parameters
    ----------
    kind : str
        Name of the exception's type. Untrusted.
    message : str
        Its text. Untrusted.
    place : str, optional
        Where it happened, in words.
    """

    def __init__(self, kind, message, place=""):
        self.kind, self.message, self.place = clip(kind, 60), clip(message, 400), clip(place, 300)
        super().__init__(f"{self.kind}: {self.message}")


def clip(text, length=400) -> str:
    """At most `length` characters of what may be anything; never raises, whatever its ``__str__`` does."""
    try:
        text = text if type(text) is str else str(text)
        return text if len(text) <= length else text[: length - 2] + " …"
    except Exception:
        return "(no readable text)"


def where(error) -> str:
    """The innermost line of the learner's own code in the traceback of `error`, or empty text.

    Frames of the course, of installed packages and of the standard library are left out.
    """
    try:
        frames = traceback.extract_tb(error.__traceback__)
    except Exception:
        return ""
    for frame in reversed(frames):
        in_cell = any(mark in frame.filename for mark in _CELL_MARKS)
        if not in_cell and frame.filename.startswith((_COURSE, "<", *_LIBRARIES)):
            continue
        source = linecache.getline(frame.filename, frame.lineno).strip()
        spot = f"line {frame.lineno} of your cell" if in_cell else f"{Path(frame.filename).name}:{frame.lineno}"
        inside = "" if frame.name == "<module>" else f", in {frame.name}"
        return f"{spot}{inside}" + (f": {source}" if source else "")
    return ""


def stopped(error) -> Wrong:
    """The `Wrong` for an exception that the learner's code raised."""
    if isinstance(error, Stopped):
        kind, message, place = error.kind, error.message, error.place
    else:
        kind, message, place = clip(type(error).__name__, 60), clip(error, 400), where(error)
    if kind == "SystemExit":
        return Wrong("error", f"Your code called exit. What should it return instead?{_at(place)}")
    if kind == "TooSlow":  # C++ that did not return within its time limit
        return Wrong("timeout", f"Does a loop of your code ever end? {message}{_at(place)}")
    first, _, rest = message.partition("\n")
    what = f"{kind}: {first}" if first else kind
    question = f"Your code stopped with {what}. What did that line get that it did not expect?"
    return Wrong("error", question + _at(place) + (f"\n{rest}" if rest.strip() else ""))


def _at(place):
    return f"\nat {place}" if place else ""


def unsolved(name="") -> Wrong:
    """The `Wrong` for an answer that still is what the notebook came with."""
    what = f"{name} is" if name else "This one is"
    return Wrong("unsolved", f"{what} not solved yet. Write your answer, run that cell, then run this check again.")


def in_notebook() -> bool:
    """Whether IPython is running, so that there is somebody to show HTML to."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None
