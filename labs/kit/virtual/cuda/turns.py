"""Warps of a block that take turns, as on hardware: each runs until its next barrier.

A warp in the middle of a kernel needs a stack of its own. Each gets a thread of the operating system, but only one of
them ever runs: the turn is handed over, so the order is always the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


_PATIENCE = 0.1
"""s"""


class Cancelled(BaseException):
    """Ends a warp whose launch has failed."""


class Turn:
    """A function that can stand still in the middle and go on later."""

    def __init__(self, function: Callable[[], None]):
        self.done, self._function = False, function
        self._mine, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._sent = self._received = self._error = None
        self._cancelled = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        self._mine.acquire()
        try:
            if not self._cancelled:
                self._function()
        except Cancelled:
            pass
        except BaseException as error:
            self._error = error
        finally:
            self.done = True
            self._back.release()

    def resume(self, value=None):
        """Let it run until it waits or ends; returns what `wait` was called with, None at the end."""
        self._received = value
        self._mine.release()
        while not self._back.acquire(timeout=_PATIENCE):  # so that Ctrl-C gets through wherever the signal arrives
            pass
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        return None if self.done else self._sent

    def wait(self, value):
        """Called inside: stand still, and hand `value` to `resume`; returns what the next `resume` brings."""
        self._sent = value
        self._back.release()
        self._mine.acquire()
        if self._cancelled:
            raise Cancelled
        return self._received

    @property
    def cancelled(self) -> bool:
        """Whether the launch has failed and this one should end."""
        return self._cancelled

    def cancel(self):
        """End it, wherever it stands."""
        self._cancelled = True
        if not self.done:
            self._mine.release()
        self._thread.join()
