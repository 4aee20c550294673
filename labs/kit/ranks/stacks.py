"""What a rank is doing right now, seen from a second thread inside it: the learner's line and the operation."""

from __future__ import annotations

import linecache
import os
import re
import sys
import sysconfig
import time
import traceback
from collections.abc import Sequence
from types import FrameType
from typing import Any

from labs.kit.virtual.places import Place

_ROOM = os.path.dirname(os.path.abspath(__file__)) + os.sep
_LABS = os.path.dirname(os.path.dirname(os.path.dirname(_ROOM))) + os.sep
_LIBRARIES = tuple({sysconfig.get_path(key) + os.sep for key in ("stdlib", "platstdlib", "purelib", "platlib")})
_C10D = os.path.join("torch", "distributed", "distributed_c10d.py")
_WAIT = re.compile(r"\.\s*wait\s*\(")
_HELPERS = frozenset({"wrapper", "_exception_handler", "func_wrapper"})


def _nearness(filename: str) -> int:
    """Return 2 for the learner's code, 1 for code of the course outside this room, 0 for all other code."""
    if filename.startswith(("<frozen ", _ROOM, *_LIBRARIES)) or filename == "<string>":
        return 0
    return 1 if filename.startswith(_LABS) else 2


def learners(frames: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Keep the learner's frames; where there are none (a lesson's own demonstration), those of the course."""
    nearest = max((_nearness(frame["file"]) for frame in frames), default=0)
    return [frame for frame in frames if nearest and _nearness(frame["file"]) == nearest]


def _line(filename: str, number: int, function: str) -> dict[str, Any]:
    try:
        source = linecache.getline(filename, number).strip()
    except Exception:  # linecache is not made for two threads; whoever prints the line looks it up again
        source = ""
    return {"file": filename, "line": number, "function": function, "source": source}


def place(frame: dict[str, Any]) -> Place:
    """Return a frame, as ranks report it, as the place that failures print."""
    source = frame.get("source") or linecache.getline(frame["file"], frame["line"]).strip()
    function = "" if frame["function"] == "<module>" else frame["function"]
    in_cell = "ipykernel_" in frame["file"] or "<ipython-input" in frame["file"]
    return Place(frame["file"], frame["line"], function, source, in_cell)


def now(thread_id: int) -> dict[str, Any]:
    """Describe what a thread of this process is doing.

    Returns
    -------
    dict
        ``lines``: the learner's frames, innermost first, each with file, line, function and source;
        ``inside``: the function of a library that the innermost of them is in ("" if none);
        ``operation``: the operation of torch.distributed it waits in, or None; ``peers``: the ranks it names;
        ``spot``: equal in two answers only if the thread has not moved; ``threads``: whether the program has
        other threads that could still do something; ``cpu``: seconds of CPU time so far.
    """
    current = sys._current_frames()
    frame = current.get(thread_id)
    frames: list[FrameType] = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    nearest = max((_nearness(f.f_code.co_filename) for f in frames), default=0)
    own = [f for f in frames if nearest and _nearness(f.f_code.co_filename) == nearest]
    lines = [_line(f.f_code.co_filename, f.f_lineno, f.f_code.co_name) for f in own]
    inner = frames[: frames.index(own[0])] if own else frames  # what the learner's line has called
    operation, peers = _operation(inner, lines)
    inside = next((f.f_code.co_name for f in reversed(inner) if f.f_code.co_name not in _HELPERS), "") if lines else ""
    spot = [(id(f), f.f_lasti) for f in frames]
    return {
        "lines": lines,
        "inside": inside,
        "operation": operation,
        "peers": peers,
        "spot": tuple(spot),
        "threads": any(_runs_learners_code(f) for thread, f in current.items() if thread != thread_id),
        "cpu": time.process_time(),
    }


def _runs_learners_code(frame: FrameType | None) -> bool:
    while frame is not None:
        if _nearness(frame.f_code.co_filename) == 2:
            return True
        frame = frame.f_back
    return False


def _operation(inner: list[FrameType], lines: list[dict[str, Any]]) -> tuple[str | None, list[int]]:
    calls = [f for f in inner if f.f_code.co_filename.endswith(_C10D) and f.f_code.co_name not in _HELPERS]
    if calls:
        outermost = calls[-1]
        name, scope = outermost.f_code.co_name, outermost.f_locals
        keys = {"send": ("dst", "group_dst"), "recv": ("src", "group_src")}.get(name, ("src", "dst"))
        peers = [int(scope[key]) for key in keys if isinstance(scope.get(key), int)][:1]
        return name, peers
    if not inner and lines and _WAIT.search(lines[0]["source"]):  # Work.wait is compiled: it has no frame
        return "wait", []
    return None, []


def of_error(error: BaseException) -> dict[str, Any]:
    """Describe an exception as plain data: its type, its words, the learner's part of the traceback.

    Returns
    -------
    dict
        ``type``, ``message``, ``lines`` (the learner's frames, outermost first),
        ``operation`` (of torch.distributed, in which it was raised, or None).
    """
    summaries = traceback.extract_tb(error.__traceback__)
    frames = [_line(s.filename, s.lineno or 0, s.name) for s in summaries]
    lines = learners(frames)
    after = frames[frames.index(lines[-1]) + 1 :] if lines else frames
    operation = next(
        (f["function"] for f in after if f["file"].endswith(_C10D) and f["function"] not in _HELPERS), None
    )
    if operation is None and lines and _WAIT.search(lines[-1]["source"]):
        operation = "wait"
    return {
        "type": type(error).__name__,
        "message": str(error),
        "lines": lines,
        "operation": operation,
    }
