"""Cells that go on where something is missing: a compiler, a library, an answer that is not solved yet."""

from __future__ import annotations

import contextlib
import functools
import os
import threading

from labs.kit.native.failures import NativeError


@contextlib.contextmanager
def where_possible():
    """Within it, what cannot run on this machine, or not yet, ends with one printed sentence instead of an error.

    That is: no compiler, no CMake, a library that is not there, an answer that is not solved. What goes wrong in the
    code itself (a crash, an error of the compiler) is still raised. What a rank of a run lacked counts as well.
    """
    try:
        yield
    except Exception as error:
        said = _told(type(error).__name__, error)
        if said is None and (failed := _of_a_rank(error)):
            said = _told(failed.exception, failed.message)
        if said is None:
            raise
        print(said)


def _of_a_rank(error):
    """The error itself if a rank of a run failed with it, else None."""
    from labs.kit.ranks import RankFailed  # brings torch, which most cells do not need

    return error if isinstance(error, RankFailed) else None


def _told(kind, text):
    """What to print for an error of this kind, or None where it has to be raised."""
    if kind == "NotImplementedError":
        return "Solve the exercise above first; then run this cell again."
    if kind in ("NoCompiler", "NoNanobind", "NoCMake", "MissingPart"):
        return f"This cell needs more than this machine has. {text}"
    if kind in ("ImportError", "ModuleNotFoundError"):
        return f"This cell needs a package that is not installed: {text}. See `python -m labs doctor`."
    return None


def prepare() -> None:
    """Begin to build this lesson's readers in the background (once on a machine, half a minute), while you read.

    Nothing happens in a grader's sandbox, which needs no readers.
    """
    if not os.environ.get("LABS_CACHE_READ"):
        _builder()


@functools.cache
def _builder() -> threading.Thread:
    thread = threading.Thread(target=_build, name="labs-readers", daemon=True)
    thread.start()
    return thread


def _build():
    from .extension import native

    with contextlib.suppress(NativeError, OSError, ImportError):  # said by the first cell that calls a reader
        native()


def parts() -> None:
    """Wait for the readers; say which of their libraries were found here, and what each missing one costs."""
    from .extension import PARTS
    from .extension import parts as found_parts

    if not os.environ.get("LABS_CACHE_READ"):
        _builder().join()
    with where_possible():
        found = found_parts()
        here = [f"{name} {version}".strip() for name, version in found.items() if version is not None]
        print("found:  ", ", ".join(here))
        for name in (name for name, version in found.items() if version is None):
            print(f"missing: {name} ({PARTS[name][0]})")
