"""The warm child process in which kernels run, and the memory that it shares with Python."""

from __future__ import annotations

import atexit
import contextlib
import mmap
import os
import select
import subprocess
import sys
import threading
import time

from labs.kit.gpu.cplusplus.building import Library, worker_program
from labs.kit.native.memory import anonymous_file

MOST_ARENA = 1 << 30
"""Bytes of arrays in one launch. The memory is taken only when it is written to."""


class Arena:
    """Memory of this process that the child sees, too. Survives the child."""

    def __init__(self):
        if sys.platform != "linux":
            raise RuntimeError(
                "CUDA C++ on the CPU needs Linux, and this is another system. On macOS or Windows, open the course in a"
                " Linux container or WSL; everything that is written in Python runs here as it is"
            )
        import resource

        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]  # counts for this memory, too
        self.size = MOST_ARENA if limit == resource.RLIM_INFINITY else min(MOST_ARENA, limit)
        self.file = anonymous_file(self.size)
        self.memory = mmap.mmap(self.file, self.size)


class Child:
    """One process of the worker program; ends with the launch that goes wrong, or with this process.

    Parameters
    ----------
    arena : Arena
    """

    def __init__(self, arena: Arena):
        self.owner = os.getpid()
        self.loaded: dict = {}
        self._buffer = b""
        self._printed = 0
        self._output = anonymous_file(0)
        commands, self._commands = os.pipe()
        self._replies, replies = os.pipe()
        try:
            self.process = subprocess.Popen(
                [str(worker_program()), str(commands), str(replies), str(arena.file), str(arena.size)],
                pass_fds=(commands, replies, arena.file), stdin=subprocess.DEVNULL, stdout=self._output,
                stderr=self._output, start_new_session=True, env={"PATH": "/usr/bin:/bin"},
            )  # fmt: skip
        finally:
            os.close(commands)
            os.close(replies)
        lines, gone = self.ask(None, 30.0)
        if gone or lines != ["READY"]:
            raise RuntimeError(
                "the process for CUDA C++ did not start: is there enough memory? "
                + (self.printed().strip() or f"It ended with {self.process.returncode}")
            )

    @property
    def alive(self) -> bool:
        """Whether this process may still use it."""
        return self.owner == os.getpid() and self.process.poll() is None

    def ask(self, command: str | None, seconds: float) -> tuple[list[str], bool]:
        """Send a command.

        Returns
        -------
        tuple of list of str and bool
            The lines of the reply, and whether the child has gone (then the lines are its report).
        """
        if command is not None:
            with contextlib.suppress(BrokenPipeError):
                os.write(self._commands, command.encode())
        until = time.monotonic() + seconds
        try:
            while not self._buffer.endswith(b"\n.\n"):
                ready = select.select([self._replies], [], [], max(0.0, until - time.monotonic()))[0]
                if not ready:
                    self.kill()
                    return ["ERR stopped"], True
                piece = os.read(self._replies, 65536)
                self._buffer += piece
                if not piece:
                    self.process.wait()
                    return self._take().splitlines(), True
                if len(self._buffer) > 1 << 16:
                    self.kill()
                    return ["ERR garbled"], True
        except BaseException:  # an interrupt: the kernel must not run on
            self.kill()
            raise
        return self._take().splitlines()[:-1], False

    def _take(self) -> str:
        text, self._buffer = self._buffer.decode(errors="replace"), b""
        return text

    def load(self, library: Library) -> tuple[int, dict[str, list[str]], dict[str, int]]:
        """Load a library, once.

        Returns
        -------
        tuple of int, dict and dict
            Its number, for each kernel the words of its signature (see entry.h), for each constant its size in bytes.
        """
        if library.path not in self.loaded:
            lines, gone = self.ask(f"LOAD {library.path}\n", 30.0)
            if gone or not lines or not lines[0].startswith("OK "):
                raise RuntimeError(f"the compiled kernel could not be loaded: {' '.join(lines)} {self.printed()}")
            facts = [line.split("|") for line in lines[1:]]
            signatures = {name: words.split() for kind, name, words in facts if kind == "kernel"}
            sizes = {name: int(size) for kind, name, size in facts if kind == "constant"}
            self.loaded[library.path] = (int(lines[0].split()[1]), signatures, sizes)
        return self.loaded[library.path]

    def printed(self) -> str:
        """What kernels have printed since the last call, at most 1 MB."""
        size = os.fstat(self._output).st_size
        text = os.pread(self._output, min(size - self._printed, 1 << 20), self._printed)
        self._printed = size
        return text.decode(errors="replace")

    def kill(self) -> None:
        """End the process now."""
        if self.owner == os.getpid():
            if self.process.poll() is None:
                self.process.kill()
            self.process.wait()

    def close(self) -> None:
        """End the process and close what belongs to it."""
        self.kill()
        for file in (self._commands, self._replies, self._output):
            with contextlib.suppress(OSError):
                os.close(file)


class Nursery:
    """The one child of this process: started when it is wanted, replaced when it has gone."""

    def __init__(self):
        self.lock = threading.RLock()
        self.arena: Arena | None = None
        self._child: Child | None = None
        self._owner = 0

    def child(self) -> Child:
        """A living child. Hold `lock` while you talk to it."""
        if self._owner != os.getpid():  # a fork shares memory and pipes with its parent: take nothing of it
            self._child, self.arena, self._owner = None, None, os.getpid()
        if self._child is None or not self._child.alive:
            if self._child is not None:
                self._child.close()
                self._child = None
            if self.arena is None:
                self.arena = Arena()
            self._child = Child(self.arena)
        return self._child

    def close(self) -> None:
        """End the child, if there is one."""
        if self._child is not None and self._owner == os.getpid():
            self._child.close()
            self._child = None


NURSERY = Nursery()
atexit.register(NURSERY.close)


def show_printed(child: Child) -> None:
    """Pass on what kernels have printed."""
    text = child.printed()
    if text:
        sys.stdout.write(text)
        sys.stdout.flush()
