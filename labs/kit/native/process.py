"""The notebook's side of the child process: start it, ask it, wait with a time limit, say how it ended."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from labs.kit.native import binding, wire
from labs.kit.native.failures import NativeError
from labs.kit.native.toolchain import compiler

START_SECONDS = 60.0
"""The child imports NumPy, on a busy machine too."""
MOST_OUTPUT = 1 << 18
"""B of what C++ prints in one call that are shown."""


class Ended(Exception):
    """The child has gone while it was asked.

    Attributes
    ----------
    status : int
        Its exit status, or minus the signal that ended it.
    report : str
        What its guard wrote (see guard.cpp).
    sanitizer : str
        What the address sanitizer wrote.
    seconds : float or None
        The time limit that it exceeded.
    """

    def __init__(self, status, report="", sanitizer="", seconds=None):
        super().__init__(status)
        self.status, self.report, self.sanitizer, self.seconds = status, report, sanitizer, seconds


class Child:
    """A warm process that runs C++; ends with this one, or by `close`.

    Parameters
    ----------
    check : bool
        Whether it runs under the address sanitizer.
    """

    def __init__(self, check: bool = False):
        self.check, self.loaded, self.undefined = check, {}, ""
        self.folder = tempfile.TemporaryDirectory(prefix="labs-native-") if check else None
        guard = binding.guard()
        self.link, theirs = socket.socketpair()
        self.output, output = os.pipe()
        alive, self.alive = os.pipe()  # closed by the system when this process ends
        self.report = tempfile.TemporaryFile()
        passed = [theirs.fileno(), self.report.fileno(), alive]
        command = [sys.executable, "-m", "labs.kit.native.child", *map(str, passed), str(guard), str(int(check))]
        try:
            self.process = subprocess.Popen(
                command, pass_fds=passed, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                env=self._environment(), start_new_session=True,
            )  # fmt: skip
        finally:
            theirs.close()
            os.close(output)
            os.close(alive)
        os.set_blocking(self.output, False)
        self.ask(None, (), START_SECONDS)

    def _environment(self):
        env = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        if self.check:
            env["LD_PRELOAD"] = sanitizer_library()
            env["ASAN_OPTIONS"] = f"detect_leaks=0:detect_stack_use_after_return=1:log_path={self.folder.name}/report"
            env["UBSAN_OPTIONS"] = "print_stacktrace=0"  # one line, among what is printed
        return env

    @property
    def running(self) -> bool:
        """Whether it can be asked."""
        return self.link.fileno() >= 0 and self.process.poll() is None

    def ask(self, payload, fds, seconds):
        """Send a request and wait for the reply; what C++ prints meanwhile appears in the cell.

        Returns
        -------
        tuple of bytes and list of int
            The reply and the files that came with it.

        Raises
        ------
        Ended
            When it died or took longer than `seconds`. It is gone then.
        """
        shown = 0
        try:
            if payload is not None:
                wire.send(self.link, payload, fds)
            until = time.monotonic() + seconds
            with selectors.DefaultSelector() as ready:
                ready.register(self.link, selectors.EVENT_READ)
                ready.register(self.output, selectors.EVENT_READ)
                while True:
                    left = until - time.monotonic()
                    if left <= 0:
                        raise self._late(seconds, shown)
                    which = [key.fileobj for key, _ in ready.select(left)]
                    if self.output in which:
                        shown = self._show(shown)
                    if self.link in which:
                        reply = wire.receive(self.link)
                        self._drain(shown)
                        return reply
        except wire.Closed:
            raise self._ended(shown) from None
        except Ended:
            raise
        except BaseException:  # an interrupt from the notebook
            self.close()
            raise

    def _show(self, shown):
        """Pass on what was printed, up to a limit; returns how much that is by now."""
        try:
            data = os.read(self.output, 1 << 16)
        except BlockingIOError:
            return shown
        if self.check and b": runtime error: " in data:
            self.undefined += data.decode(errors="replace")
            return shown
        if shown < MOST_OUTPUT:
            sys.stdout.write(data[: MOST_OUTPUT - shown].decode(errors="replace"))
            if shown + len(data) >= MOST_OUTPUT:
                print(f"\n... what follows is not shown: it printed more than {MOST_OUTPUT >> 10} KB.")
        return shown + len(data)

    def _drain(self, shown):
        before = -1
        while before != shown:
            before, shown = shown, self._show(shown)
        sys.stdout.flush()

    def _late(self, seconds, shown):
        self.process.send_signal(signal.SIGUSR1)  # its guard says where it stands, and ends it
        ended = self._ended(shown, wait=2.0)
        ended.seconds = seconds
        return ended

    def _ended(self, shown, wait=10.0):
        try:
            status = self.process.wait(wait)
        except subprocess.TimeoutExpired:
            status = None
        self._drain(shown)
        self.report.seek(0)
        report = self.report.read(1 << 16).decode(errors="replace")
        sanitizer = self.undefined
        if self.folder:
            for file in sorted(Path(self.folder.name).glob("report*")):
                sanitizer += file.read_text(errors="replace")[: 1 << 16]
        self.close()
        return Ended(self.process.returncode if status is None else status, report, sanitizer)

    def close(self) -> None:
        """End it, and everything that it started."""
        if self.link.fileno() < 0:
            return
        self.link.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for fd in (self.output, self.alive):
            os.close(fd)
        self.report.close()
        if self.folder:
            self.folder.cleanup()


def sanitizer_library() -> str:
    """The address sanitizer's library, which must be loaded before Python itself.

    Raises
    ------
    NativeError
        Where it cannot be used, with what to do.
    """
    import resource

    advice = "Run the cell without --check; arrays still have forbidden pages around them."
    if not sys.platform.startswith("linux"):
        raise NativeError(f"--check needs Linux. {advice}")
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        raise NativeError(f"--check needs more address space than this process may have. {advice}")
    cxx = compiler()
    name = "libclang_rt.asan-x86_64.so" if cxx.is_clang else "libasan.so"
    found = subprocess.run([cxx.path, f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip()
    if not os.path.isabs(found):
        raise NativeError(f"--check needs the address sanitizer's library, which {cxx.version} does not have. {advice}")
    return found


class Children:
    """The children of this process: one, and one under the sanitizer, each started when first needed.

    A process that was forked from this one has none of its own yet, and starts them.
    """

    def __init__(self):
        self._running, self._owner = {}, os.getpid()
        self.lock = threading.RLock()

    def get(self, check: bool) -> Child:
        """The running child; a new one when the last has died."""
        if self._owner != os.getpid():  # those are our parent's
            self._running, self._owner = {}, os.getpid()
        child = self._running.get(check)
        if child is None or not child.running:
            if child is not None:
                child.close()
            child = self._running[check] = Child(check)
        return child

    def close(self) -> None:
        """End all of them."""
        if self._owner == os.getpid():
            for child in self._running.values():
                child.close()
        self._running = {}
