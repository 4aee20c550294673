"""A limit on the wall clock: raises `OutOfTime` in the thread that runs the ranks, whichever rank is running."""

from __future__ import annotations

import ctypes
import threading

_AGAIN = 0.5  # s between attempts: a rank may swallow the exception in an `except:`
_raise_in_thread = ctypes.pythonapi.PyThreadState_SetAsyncExc


class OutOfTime(BaseException):
    """Not an Exception, so that `except Exception` in a rank does not swallow it."""


class Watchdog:
    """`with Watchdog(seconds): ...` raises `OutOfTime` inside the block once the time is over.

    The exception appears between two Python instructions: code that waits inside C is interrupted when it returns.

    Parameters
    ----------
    seconds : float or None
        The limit; None for none.
    """

    def __init__(self, seconds: float | None):
        self.seconds = seconds
        self._thread = threading.get_ident()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._watcher = None

    def __enter__(self):
        if self.seconds is not None:
            self._watcher = threading.Thread(target=self._watch, name="labs-virtual-watchdog", daemon=True)
            self._watcher.start()
        return self

    def __exit__(self, *_):
        if self._watcher is None:
            return
        while True:
            try:  # the exception may still arrive while the watcher is being stopped
                with self._lock:
                    self._stop.set()
                _raise_in_thread(ctypes.c_ulong(self._thread), None)  # withdraws what has not arrived yet
                self._watcher.join()
                return
            except OutOfTime:
                continue

    def _watch(self) -> None:
        wait = self.seconds
        while not self._stop.wait(wait):
            with self._lock:
                if self._stop.is_set():
                    return
                _raise_in_thread(ctypes.c_ulong(self._thread), ctypes.py_object(OutOfTime))
            wait = _AGAIN
