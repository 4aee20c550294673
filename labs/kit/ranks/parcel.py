"""Packing a program for another process: functions of a notebook or a script travel by value, with their source."""

from __future__ import annotations

import functools
import io
import linecache
import marshal
import os
import pickle
import sys
import sysconfig
import threading
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any

import cloudpickle

from labs.kit.virtual.failures import Misuse

_packing = threading.Lock()  # cloudpickle keeps its list of modules that travel by value in one global place
_INSTALLED = tuple(
    {os.path.realpath(sysconfig.get_path(key)) + os.sep for key in ("stdlib", "platstdlib", "purelib", "platlib")}
)


class Pickler(cloudpickle.Pickler):
    """cloudpickle, except that code keeps the name of its file, so that tracebacks find the learner's line.

    Tensors on a GPU travel as copies on the CPU, so that the receiver needs no GPU.
    """

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is CodeType:  # both sides run the same interpreter, which is all that marshal asks for
            return marshal.loads, (marshal.dumps(obj),)
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(obj, torch.Tensor) and obj.device.type not in ("cpu", "meta"):
            return _itself, (obj.detach().cpu(),)
        return super().reducer_override(obj)


def _itself(value: Any) -> Any:
    return value


def dumps(value: Any) -> bytes:
    """Pickle a value for another process of this course."""
    buffer = io.BytesIO()
    Pickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    return buffer.getvalue()


def pack(program: Callable, args: tuple) -> bytes:
    """Return `program` and its arguments as bytes that a rank process can unpack.

    A module of the learner's own (not an installed one, not of this course) travels by value with the program
    that it defines: the rank then runs what this process has, not what it finds in a file by then.

    Raises
    ------
    Misuse
        If the program or an argument cannot leave this process; the text names it.
    """
    module = _own_module(program)
    with _packing:
        if module is not None and module.__name__ not in cloudpickle.list_registry_pickle_by_value():
            cloudpickle.register_pickle_by_value(module)
            try:
                return dumps((program, args))
            except Exception:
                pass  # something else in that module cannot travel: let the rank import it instead
            finally:
                cloudpickle.unregister_pickle_by_value(module)
        try:
            return dumps((program, args))
        except Exception as error:
            culprit = _culprit(program, args)
            raise Misuse(
                f"{culprit} cannot be sent to another process: {error}. Real ranks are processes of their own; "
                "give them functions, numbers, text, arrays, tensors, or lists and dicts of these."
            ) from error


def _own_module(program: Callable) -> ModuleType | None:
    while isinstance(program, functools.partial):
        program = program.func
    name = getattr(program, "__module__", None) or type(program).__module__
    module = sys.modules.get(name)
    if module is None or name == "__main__" or name.split(".")[0] == "labs":
        return None  # __main__ travels by value anyway
    file = getattr(module, "__file__", None)
    if file is None or os.path.realpath(file).startswith(_INSTALLED):
        return None
    return module


def _culprit(program: Callable, args: tuple) -> str:
    for index, value in enumerate(args):
        try:
            dumps(value)
        except Exception:
            return f"argument {index} of the program (a {type(value).__name__})"
    return f"the program {getattr(program, '__name__', program)!r}, or a value it uses,"


def sources() -> dict[str, list[str]]:
    """Return the source lines known to this process that are in no file: notebook cells above all."""
    kept = {}
    for name, entry in list(linecache.cache.items()):
        if len(entry) == 4 and entry[1] is None and not os.path.exists(name):
            kept[name] = entry[2]
    return kept
