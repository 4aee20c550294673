"""The parent's side of the warm server: start it once, ask it for processes, replace it when it has died."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass

from labs.kit.virtual.failures import Misuse

_START = "import sys; sys.path[:] = {path!r}; from labs.kit.ranks.forkserver import serve; serve(int(sys.argv[1]))"
_START_SECONDS = 120.0  # importing torch from a slow disk takes long, but not this long


class ServerFailed(Misuse):
    """The warm server could not be started or ended at once; the text says why."""


@dataclass(frozen=True)
class Process:
    """One freshly forked rank, seen from the parent.

    Attributes
    ----------
    job : socket.socket
        Both ways: the job goes down, results and answers come up. Closed by either side's end.
    output : int
        File descriptor from which everything the rank prints is read.
    status : int
        File descriptor on which the server reports ``pid <n>`` and later ``exit <n>`` or ``signal <n>``.
    """

    job: socket.socket
    output: int
    status: int

    def close(self) -> None:
        """Close all three; the rank notices and ends."""
        self.job.close()
        os.close(self.output)
        os.close(self.status)


class Server:
    """A process with torch imported that forks ranks on request.

    It owns no thread and never touches a GPU, so that forking it is safe. It lives in a session of its own,
    so that Ctrl-C in a terminal does not reach it, and it ends when the control socket to it closes.
    """

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self.owner = os.getpid()
        self.checked: set[str] = set()  # self-checks of the installed torch that have passed
        environment = dict(os.environ)
        environment.update(
            OMP_NUM_THREADS="1",
            PYTORCH_NVML_BASED_CUDA_CHECK="1",  # asking for GPUs while importing must not initialise CUDA
            OBJC_DISABLE_INITIALIZE_FORK_SAFETY="YES",  # macOS: forking after imports is what this server is for
        )
        environment.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")  # read once, while importing
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START.format(path=sys.path), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        self._control = ours
        self._ready = False

    @property
    def pid(self) -> int:
        """Process id of the server."""
        return self._process.pid

    def usable(self) -> bool:
        """Whether this object belongs to this process and the server behind it is alive."""
        return self.owner == os.getpid() and self._process.poll() is None

    def wait_until_ready(self) -> None:
        """Return once everything is imported.

        Raises
        ------
        ServerFailed
            If the server ended instead, with the last lines that it wrote.
        """
        if self._ready:
            return
        readable, _, _ = select.select([self._control], [], [], _START_SECONDS)
        if readable and self._control.recv(1) == b"R":
            self._ready = True
            self._process.stderr.close()
            return
        self.close()
        said = self._process.stderr.read().decode(errors="replace").strip().splitlines()[-8:] if readable else []
        reason = "\n".join(said) or ("it said nothing" if readable else f"not ready after {_START_SECONDS:.0f} s")
        raise ServerFailed(f"The process that starts ranks could not be started:\n{reason}")

    def fork(self) -> Process:
        """Ask for one new process.

        Raises
        ------
        OSError
            If the server has died in the meantime.
        """
        job, job_there = socket.socketpair()
        output, output_there = os.pipe()
        status, status_there = os.pipe()
        process = Process(job, output, status)
        try:
            socket.send_fds(self._control, [b"F"], [job_there.fileno(), output_there, status_there])
        except BaseException:
            process.close()
            raise
        finally:
            job_there.close()
            os.close(output_there)
            os.close(status_there)
        return process

    def close(self) -> None:
        """End the server and every rank it has started."""
        self._control.close()
        try:
            self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Keeper:
    """Keeps one warm server for this process; safe to use from several threads at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: Server | None = None

    def warm(self) -> Server:
        """Return the running server, starting one (without waiting for it) when there is none."""
        with self._lock:
            return self._current()

    def fork(self, count: int) -> tuple[Server, list[Process]]:
        """Return `count` fresh processes, from a new server if the old one has died.

        Raises
        ------
        ServerFailed
            If no server can be started.
        """
        with self._lock:
            for attempt in range(2):
                server = self._current()
                processes: list[Process] = []
                try:
                    server.wait_until_ready()
                    for _ in range(count):
                        processes.append(server.fork())
                    return server, processes
                except OSError as error:  # it died between two requests
                    for process in processes:
                        process.close()
                    server.close()
                    if attempt:
                        raise ServerFailed(f"The process that starts ranks ended at once: {error}") from error
                except BaseException:
                    for process in processes:
                        process.close()
                    raise
        raise AssertionError("unreachable")

    def stop(self) -> None:
        """End the server if there is one; the next run starts another."""
        with self._lock:
            if self._server is not None and self._server.owner == os.getpid():
                self._server.close()
            self._server = None

    def _current(self) -> Server:
        if self._server is None or not self._server.usable():
            if self._server is not None and self._server.owner == os.getpid():
                self._server.close()
            self._server = Server()
        return self._server


keeper = Keeper()  # one warm server per process: the point of it is that all runs share it
