"""The child process in which a learner's C++ runs: ``python -m labs.kit.native.child LINK REPORT ALIVE GUARD CHECK``.

It loads modules and calls functions, one request at a time. Array arguments are looked at in shared memory; a large
result is copied once, into new shared memory. Between two calls it holds nothing of either.
"""

from __future__ import annotations

import ctypes
import importlib.util
import locale
import os
import resource
import signal
import socket
import sys
import time
import weakref

import numpy as np

from labs.kit.native import wire
from labs.kit.native.binding import MODULE
from labs.kit.native.memory import Placement, anonymous_file, order_of, pages, write_all

MEMORY = 4 << 30
"""Most memory that C++ may take (B); half of the machine's where that is less."""

STACK = 8 << 20


class Worker:
    """Answers the requests of one notebook."""

    def __init__(self, link: socket.socket, guard, check: bool):
        self.link, self.guard, self.check = link, guard, check
        self.modules, self.maps = {}, []

    def serve(self) -> None:
        """Answer until the other end has gone."""
        wire.send(self.link, wire.pack(("ready", ""), None))
        while True:
            payload, fds = wire.receive(self.link)
            made = []
            try:
                reply = self._answer(payload, fds, made)
            except BaseException as error:  # whatever the learner's code raises is an answer
                reply = wire.pack(("error", type(error).__name__, _text(error), self._finish()), None)
            wire.send(self.link, reply, made)
            for fd in (*fds, *made):
                os.close(fd)

    def _answer(self, payload, fds, made):
        kind, header, inner = wire.unpack(payload, None)
        if kind == "load":
            return wire.pack(("loaded", self._load(header["path"], header["names"])), None)
        return self._call(header, inner, fds, made)

    def _load(self, path, names):
        """Load a module; gives for each function its signature and which parameters it may write to."""
        if path not in self.modules:
            spec = importlib.util.spec_from_file_location(MODULE, path)
            self.modules[path] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(self.modules[path])
            self.guard.labs_guard_flush()
        module = self.modules[path]
        return {name: (_signature(getattr(module, name)), getattr(module, f"__writes_{name}")) for name in names}

    def _call(self, header, inner, fds, made):
        function = getattr(self.modules[header["path"]], header["name"])
        if os.getcwd() != header["folder"]:
            os.chdir(header["folder"])
        if header["locale"]:
            locale.setlocale(locale.LC_ALL, header["locale"])
        copies = []
        try:
            args, kwargs = wire.unpack(inner, lambda place: self._argument(Placement(*place), fds, copies))
            began = time.perf_counter()
            result = function(*args, **kwargs)
            seconds = time.perf_counter() - began
        finally:
            if header["locale"]:
                locale.setlocale(locale.LC_ALL, "C")
        for shown, copy in copies:
            if shown.flags.writeable:
                shown[...] = copy
        data = wire.pack(result, lambda _, array: _result(array, made))
        del args, kwargs, result, function
        copies.clear()
        return wire.pack(("done", data, seconds, self._finish()), None)

    def _argument(self, place, fds, copies):
        """The array at a place, with forbidden pages around it; under the sanitizer a copy, which has its own."""
        first = place.offset - place.offset % pages(1)
        size = pages(place.offset - first + place.nbytes)
        start = self.guard.labs_guard_map(fds[place.segment], first, size, int(place.writable))
        if not start:
            raise MemoryError("an array could not be mapped into the process that runs C++")
        here = (ctypes.c_char * size).from_address(start)
        weakref.finalize(here, self.guard.labs_guard_unmap, start, size).atexit = False
        self.guard.labs_guard_array(len(self.maps), start + place.offset - first, place.nbytes)
        self.maps.append(weakref.ref(here))
        array = np.ndarray(place.shape, place.dtype, buffer=here, offset=place.offset - first, order=place.order)
        array.flags.writeable = place.writable
        if self.check:
            copies.append((array, array.copy(order=place.order)))
            copies[-1][1].flags.writeable = place.writable
            return copies[-1][1]
        return array

    def _finish(self):
        """Show what was printed; returns whether C++ still holds an array of the call."""
        self.guard.labs_guard_flush()
        kept = any(here() is not None for here in self.maps)
        self.maps.clear()
        return kept


def _result(array, made):
    """How an array travels back: its bytes, or the place of its copy in new shared memory."""
    if array.dtype.hasobject:
        raise TypeError("an array of Python objects cannot come from C++")
    order = order_of(array) or "C"
    if array.nbytes <= wire.LONG:
        return ("bytes", array.tobytes(order), array.dtype.str, array.shape, order)
    fd = anonymous_file(pages(array.nbytes))
    made.append(fd)
    # Writing fills fresh pages in one go; touching them through a mapping costs a fault each.
    write_all(fd, array if array.flags[f"{order}_CONTIGUOUS"] else np.ascontiguousarray(array), 0)
    return ("file", len(made) - 1, array.dtype.str, array.shape, order)


def _signature(function):
    return str(function.__nb_signature__[0][0])


def _text(error):
    try:
        return str(error)
    except Exception:
        return "(no readable text)"


def _limit(check):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    stack = STACK if hard == resource.RLIM_INFINITY else min(STACK, hard)
    resource.setrlimit(resource.RLIMIT_STACK, (stack, hard))
    if check or not hasattr(resource, "RLIMIT_DATA"):  # the sanitizer takes far more than it uses
        return
    limit = min(MEMORY, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def main(arguments: list[str]) -> None:
    """Serve until the notebook's process goes."""
    link, report, alive, guard, check = arguments
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit(check == "1")
    library = ctypes.CDLL(guard)
    library.labs_guard_map.restype = ctypes.c_void_p
    library.labs_guard_map.argtypes = [ctypes.c_int, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
    library.labs_guard_unmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.labs_guard_array.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
    library.labs_guard_start(int(report), int(alive), int(check != "1"))
    worker = Worker(socket.socket(fileno=int(link)), library, check == "1")
    try:
        worker.serve()
    except wire.Closed:
        os._exit(0)  # without waiting for threads that the learner's code may have started


if __name__ == "__main__":
    main(sys.argv[1:])
