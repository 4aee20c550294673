"""One kernel in a jail, seen from the trusted side: `execute` runs code, or the kernel is lost.

Only the shell channel is opened. What a cell prints is published to nobody, so a flood of it costs us nothing.
"""

import contextlib
import json
import os
import select
import shutil
import socket
import tempfile
import time

import zmq
from jupyter_client.blocking import BlockingKernelClient

from labs.course.grade import jail, reasons
from labs.kit.exercise import Gone

LARGEST_MESSAGE = 40 << 20
"""Bytes; a longer one ends the connection before it is read."""


class KernelLost(Gone):
    """The kernel died, hung or spoke nonsense. It is gone by the time this is raised."""


class KernelSlow(KernelLost):
    """The kernel did not start in time: says nothing about whether it could."""


class Kernel:
    """One kernel in a jail of its own; a context manager.

    Parameters
    ----------
    sandbox : labs.course.grade.sandbox.Sandbox
    slot : int
        Number of the jail among those that run at the same time.
    start_timeout : float
        Seconds until the kernel must answer; the first one waits for the warm server's imports.
    """

    def __init__(self, sandbox, slot=0, start_timeout=60.0):
        self.client = None
        self.alive = sandbox.connect()
        self.root = tempfile.mkdtemp(prefix=f"labs-jail-{os.getpid()}-")
        self.deadline = time.monotonic() + start_timeout
        ipc = jail.SOCKETS if sandbox.isolate else self.root + "/ipc"
        info = {
            "transport": "ipc", "ip": ipc + "/k", "key": os.urandom(16).hex(), "signature_scheme": "hmac-sha256",
            "kernel_name": "", "shell_port": 1, "iopub_port": 2, "stdin_port": 3, "hb_port": 4, "control_port": 5,
        }  # fmt: skip
        self.spec = spec = sandbox.spec(slot) | {"root": self.root}
        # xmode: IPython takes seconds to draw a RecursionError in full.
        spec["flags"] = ["-f", ipc + "/kernel.json", "--InteractiveShell.xmode=Minimal",
                         "--HistoryManager.enabled=False"]  # fmt: skip
        spec["files"] = {"/ipc/kernel.json": json.dumps(info)}
        self.buffer = b""
        try:
            self.alive.sendall(json.dumps(spec).encode() + b"\n")
            init = self._started()
            self._connect(info, f"/proc/{init}/root{ipc}/k" if sandbox.isolate else ipc + "/k")
        except BaseException:
            self.kill()
            raise

    def _line(self):
        while b"\n" not in self.buffer:
            self.alive.settimeout(max(0.1, self.deadline - time.monotonic()))
            try:
                got = self.alive.recv(4096)
            except TimeoutError:
                raise KernelSlow("the kernel did not start in time") from None
            except OSError:
                got = b""
            if not got:
                raise KernelLost("the kernel ended while it started")
            self.buffer += got
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line.decode(errors="replace")

    def _started(self):
        """Process number of the jail's init. Monitor and init speak for themselves, so either may be heard first."""
        said = dict(self._hear("init", "ready") for _ in range(2))
        return int(said["init"])

    def _hear(self, *words):
        first, _, rest = self._line().partition(" ")
        if first not in words:
            raise KernelLost(f"the kernel {rest}" if first == "lost" else rest or first)
        return first, rest

    def _connect(self, info, path):
        while True:  # no learner's code has run yet, so the path is what we think it is
            try:
                with socket.socket(socket.AF_UNIX) as s:
                    s.connect(path + "-1")
                break
            except OSError as error:
                if self._spoke(0.005):
                    raise KernelLost("the kernel ended while it started") from None
                if time.monotonic() > self.deadline:
                    raise KernelSlow(f"the kernel did not start in time ({error.strerror})") from None
        context = zmq.Context()
        context.setsockopt(zmq.MAXMSGSIZE, LARGEST_MESSAGE)
        context.setsockopt(zmq.LINGER, 0)
        self.client = BlockingKernelClient(context=context)
        self.client.load_connection_info(info | {"ip": path})
        self.client.start_channels(shell=True, iopub=False, stdin=False, hb=False, control=False)
        try:
            self._wait(self.client.kernel_info(), self.deadline)
        except KernelLost:
            if time.monotonic() > self.deadline:
                raise KernelSlow("the kernel did not start in time") from None
            raise
        self.alive.send(b"c")  # connected: the jail closes the folder of its socket for writing
        self._hear("closed")

    def _spoke(self, wait=0.0):
        return bool(select.select([self.alive], [], [], wait)[0])

    def execute(self, code, timeout, expressions=None):
        """Run a cell.

        Parameters
        ----------
        code : str
        timeout : float
            Seconds; a kernel that takes longer is killed.
        expressions : dict of str to str, optional
            Expressions to evaluate afterwards.

        Returns
        -------
        dict
            Content of the reply as the kernel wrote it: untrusted.

        Raises
        ------
        KernelLost
        """
        until = time.monotonic() + timeout
        code = code.encode("utf8", "replace").decode()  # a lone surrogate cannot be sent
        request = self.client.execute(
            code, store_history=True, allow_stdin=False, stop_on_error=False, user_expressions=expressions or {}
        )
        return self._wait(request, until, f"it did not finish in {timeout:.0f} s")

    def _wait(self, request, until, late="the kernel did not answer in time"):
        shell, poller = self.client.shell_channel, zmq.Poller()
        poller.register(shell.socket, zmq.POLLIN)
        poller.register(self.alive, zmq.POLLIN)
        why = late
        while (left := until - time.monotonic()) > 0:
            ready = dict(poller.poll(min(left, 1.0) * 1000))
            if shell.socket in ready:
                try:
                    message = shell.get_msg(timeout=1)
                    if message["parent_header"].get("msg_id") == request and type(message["content"]) is dict:
                        return message["content"]
                except Exception as error:  # whatever the learner's process put on the wire
                    why = f"its kernel's reply could not be read ({type(error).__name__})"
                    break
            elif ready:
                why = self._last_word()
                break
        self.kill()
        raise KernelLost(why)

    def _last_word(self):
        try:
            first, _, rest = self._line().partition(" ")
        except KernelLost:
            first = rest = ""
        return f"it {rest}" if first == "lost" and rest else "it ended the kernel's process"

    def crowded(self):
        """Whether so many processes and threads were left behind that the next exercise might find no room."""
        self.deadline = time.monotonic() + 10
        try:
            self.alive.send(b"n")
            return int(self._hear("members")[1]) > self.spec["processes"] // 2
        except (KernelLost, OSError, ValueError):
            return True

    def limit_met(self, text):
        """The limit of this kernel that an error's text tells of (see `reasons.met`), or None."""
        return reasons.met(text, self.spec)

    def kill(self):
        """End the jail and wait until everything that was ever started in it has gone."""
        if self.client:
            self.client.stop_channels()
            self.client.context.destroy(linger=0)
            self.client = None
        if self.alive.fileno() >= 0:
            with contextlib.suppress(OSError):
                self.alive.shutdown(socket.SHUT_WR)
                self.alive.settimeout(30)
                while self.alive.recv(4096):
                    pass
            self.alive.close()
            with contextlib.suppress(OSError):
                os.rmdir(self.root) if not os.listdir(self.root) else shutil.rmtree(self.root, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
