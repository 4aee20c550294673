"""A limit on the wall clock: raises `OutOfTime` in the thread that runs the ranks, whichever rank is running.

Starting a thread costs more than a small run, so all runs of a process share one: it starts with the first run and ends
by itself when there has been none for a while.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
import time

_AGAIN = 0.5  # s between attempts: a rank may swallow the exception in an `except:`
_LINGER = 1.0  # s without a run until the thread ends
_AT_MOST = 3600.0  # s that the thread sleeps
# The same C function twice: with a prototype that returns nothing, as an __init__ must; and for NULL.
_raise_in_thread = ctypes.PYFUNCTYPE(None, ctypes.c_ulong, ctypes.py_object)(
    ("PyThreadState_SetAsyncExc", ctypes.pythonapi)
)
_withdraw_from_thread = ctypes.pythonapi.PyThreadState_SetAsyncExc


class OutOfTime(BaseException):
    """Not an Exception, so that `except Exception` in a rank does not swallow it."""


def twice(exception: type[BaseException], thread: int) -> type[BaseException]:
    """A kind of `exception` for code that catches everything: as soon as it is caught, a second one follows.

    The first is caught within the `try`, so the second appears in the `except` or at the end of the loop, outside of
    the `try`. Python calls __init__ when an exception is raised or caught. Here that is a C function, because the
    second one would at once appear in a Python function.
    """
    again = functools.partial(_raise_in_thread, thread, exception)
    return type(exception.__name__, (exception,), {"__init__": again})


def withdraw(thread: int) -> None:
    """Take back an exception that has not appeared yet in a thread."""
    _withdraw_from_thread(ctypes.c_ulong(thread), None)


class Watchdog:
    """`with Watchdog(seconds): ...` raises `OutOfTime` inside the block once the time is over.

    The exception appears between two Python instructions: code that waits inside C is interrupted when it returns. It
    appears again and again, as long as the block goes on.

    Parameters
    ----------
    seconds : float or None
        The limit; None for none.

    Attributes
    ----------
    raised : int
        How often the exception was raised.
    """

    def __init__(self, seconds: float | None):
        self.seconds = seconds
        self.thread = threading.get_ident()
        self.raised = 0

    def __enter__(self):
        if self.seconds is not None:
            self.due = time.monotonic() + self.seconds
            try:
                _watcher(os.getpid()).add(self)
            except OutOfTime:  # a very short limit
                self.__exit__()
                raise
        return self

    def __exit__(self, *_):
        while self.seconds is not None:
            try:  # the exception may still arrive while this run is being taken off the list
                _watcher(os.getpid()).remove(self)
                if self.raised:
                    withdraw(self.thread)
                return
            except OutOfTime:
                continue

    def bark(self) -> None:
        """Raise the exception (in the watching thread). Who has caught the first one gets two at once."""
        self.raised += 1
        _raise_in_thread(self.thread, OutOfTime if self.raised == 1 else twice(OutOfTime, self.thread))
        self.due = time.monotonic() + _AGAIN


class _Watcher:
    """The thread, and the runs that it watches."""

    def __init__(self):
        self.runs: set[Watchdog] = set()
        # Runs take the bare lock, not the condition: an OutOfTime cannot appear between its being taken and the block.
        self.lock = threading.Lock()
        self.changed = threading.Condition(self.lock)
        self.wakes = float("inf")  # when the thread looks again; infinite while there is no thread

    def add(self, run: Watchdog) -> None:
        with self.lock:
            self.runs.add(run)
            if self.wakes == float("inf"):
                self.wakes = 0.0
                threading.Thread(target=self._watch, name="labs-virtual-watchdog", daemon=True).start()
            elif run.due < self.wakes:
                self.changed.notify()

    def remove(self, run: Watchdog) -> None:
        with self.lock:
            self.runs.discard(run)

    def _watch(self) -> None:
        idle_since = None
        with self.lock:
            while True:
                now = time.monotonic()
                for run in self.runs:
                    if run.due <= now:
                        run.bark()
                if self.runs:
                    idle_since, self.wakes = None, min(run.due for run in self.runs)
                elif idle_since is None:
                    idle_since, self.wakes = now, now + _LINGER
                elif now - idle_since >= _LINGER:
                    self.wakes = float("inf")
                    return
                self.changed.wait(min(self.wakes - now, _AT_MOST))


@functools.cache
def _watcher(process: int) -> _Watcher:
    """The watcher of this process: a child that was forked has none of its parent's threads."""
    return _Watcher()
