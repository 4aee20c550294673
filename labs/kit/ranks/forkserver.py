"""The warm server itself: a process with everything imported that forks a rank whenever it is asked to.

It stays single-threaded and never touches a GPU. It tells the parent how each rank ended, kills what a rank
leaves behind, and ends with all its ranks when the parent goes away.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import select
import signal
import socket
import sys
import traceback

# Without these no rank can start.
FIRST = ("numpy", "cloudpickle", "torch", "torch.distributed", "labs.kit.ranks.worker")
# These only some programs use, but every rank of such a program would import them for seconds (DDP imports
# torch._dynamo). The server does it once, one at a time, when it has had nothing else to do for a second.
LATER = (
    "torch._dynamo",
    "torch.nn.parallel",
    "torch.distributed.fsdp",
    "torch.distributed.pipelining",
    "torch.distributed.optim",
    "torch.distributed.tensor.parallel",
    "torch.distributed.checkpoint",
)
_IDLE_SECONDS = 1.0  # also how often it looks whether the parent is still there
_PR_SET_CHILD_SUBREAPER = 36


def serve(control_fd: int) -> None:
    """Import, say "ready", then fork on request until the control socket closes.

    Parameters
    ----------
    control_fd : int
        A stream socket. Each byte ``F`` on it carries three file descriptors: the rank's job socket, its
        output pipe, and the pipe on which this server reports the rank's pid and how it ended.
    """
    parent = os.getppid()
    control = socket.socket(fileno=control_fd)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        for name in FIRST:
            importlib.import_module(name)
    except ImportError:
        traceback.print_exc(limit=3)
        sys.exit(1)  # closes the control socket: the parent reads the lines above
    _settle()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # from here on nobody reads what the server writes
    _adopt_orphans()
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    os.set_blocking(wake_read, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    control.send(b"R")
    children: dict[int, int] = {}  # pid -> status pipe
    later = list(LATER)
    try:
        while True:
            ready, _, _ = select.select([control, wake_read], [], [], _IDLE_SECONDS)
            if os.getppid() != parent:
                return
            if wake_read in ready:
                os.read(wake_read, 4096)
            _reap(children)
            if control in ready:
                request, fds, _, _ = socket.recv_fds(control, 1, 3)
                if not request:
                    return
                _fork(fds, children, (control, wake_read, wake_write))
            elif later and not ready and not children:
                with contextlib.suppress(ImportError):  # this torch has no such part; programs will see it
                    importlib.import_module(later.pop(0))
                _settle()
    except OSError:
        return
    finally:
        for pid in children:
            _kill_group(pid)
        _reap(children, wait=True)


def _settle() -> None:
    """After an import: make sure that forking is still safe, and let ranks share what has been imported."""
    import torch

    gc.collect()
    gc.freeze()  # ranks share these pages as long as the collector does not touch them
    if torch.cuda.is_initialized():
        sys.exit("CUDA was initialised while importing; processes forked from here could not use a GPU")


def _fork(fds: list[int], children: dict[int, int], own: tuple) -> None:
    """Fork one rank; in the child, drop everything that belongs to the server and go to work."""
    job_fd, output_fd, status_fd = fds
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.setpgid(0, 0)
            control, wake_read, wake_write = own
            control.close()
            for fd in (wake_read, wake_write, status_fd, *children.values()):
                os.close(fd)
            from labs.kit.ranks import worker

            code = worker.main(job_fd, output_fd)
        finally:
            os._exit(code)
    try:
        os.setpgid(pid, pid)  # in both processes, so that it holds before either goes on
    except OSError:
        pass
    os.close(job_fd)
    os.close(output_fd)
    children[pid] = status_fd
    _report(status_fd, f"pid {pid}\n")


def _reap(children: dict[int, int], wait: bool = False) -> None:
    """Report every rank that has ended, once the processes that it has left behind are gone, too."""
    for pid in list(children):
        if hasattr(os, "waitid"):  # look before reaping: until then the pid, and so its group, is still ours
            flags = os.WEXITED | os.WNOWAIT | (0 if wait else os.WNOHANG)
            if os.waitid(os.P_PID, pid, flags) is None:
                continue
            status = _end_group(pid)
        else:  # macOS before Python 3.13
            ended, status = os.waitpid(pid, 0 if wait else os.WNOHANG)
            if not ended:
                continue
            _kill_group(pid)
        code = os.waitstatus_to_exitcode(status)
        fd = children.pop(pid)
        _report(fd, f"exit {code}\n" if code >= 0 else f"signal {-code}\n")
        os.close(fd)


def _end_group(pid: int) -> int:
    """Kill what an ended rank has started, reap it with the rank, and return the rank's own status."""
    _kill_group(pid)
    status = 0
    while True:
        try:
            ended, how = os.waitpid(-pid, 0)  # children of the rank have become ours (see `_adopt_orphans`)
        except ChildProcessError:
            return status
        if ended == pid:
            status = how


def _adopt_orphans() -> None:
    """Become the parent of processes that ranks leave behind (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _report(fd: int, text: str) -> None:
    try:
        os.write(fd, text.encode())
    except BrokenPipeError:  # the parent has lost interest in this rank
        pass
