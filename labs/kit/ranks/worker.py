"""What a rank process does: take its job, join the others, run the program, hand the result back, wait for the end."""

from __future__ import annotations

import ctypes
import datetime
import faulthandler
import linecache
import os
import pickle
import select
import signal
import socket
import sys
import threading
import time
from typing import Any

from labs.kit.ranks import gloo, parcel, stacks, wire

_PR_SET_PDEATHSIG = 1
_PARENT_CHECK_SECONDS = 1.0


def main(job_fd: int, output_fd: int) -> int:
    """Be one rank, from the first message on the job socket until the parent says "end".

    Parameters
    ----------
    job_fd, output_fd : int
        The rank's end of the job socket and of its output pipe.

    Returns
    -------
    int
        Exit code for the process: 0 after a result, 1 after an exception.
    """
    server = os.getppid()
    _die_with(server)
    _redirect(output_fd)
    sock = socket.socket(fileno=job_fd)
    try:
        job = wire.receive(sock)
    except EOFError:
        return 0
    line = _Line(sock, server)
    line.listen()
    try:
        try:
            value = _work(job)
            report = ("result", _packed(value))
            code = 0
        except BaseException as error:
            report = ("error", dict(stacks.of_error(error), at=time.monotonic()))
            code = 1
        _flush()
        line.send(report)
        if not job["may_die"]:  # a rank whose end is planned closes its connections now, for all to see
            line.wait_for_end()
            _leave(job["backend"])
    except OSError:  # the parent has gone
        return 1
    _flush()
    return code


def _die_with(server: int) -> None:
    """Ask the kernel to end this rank when the server ends (Linux; elsewhere the listening thread does it)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != server:
        os._exit(1)


def _redirect(output_fd: int) -> None:
    """Send everything that this process prints, from Python or from compiled code, into the output pipe."""
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(output_fd, 1)
    os.dup2(output_fd, 2)
    os.close(output_fd)
    sys.stdin = open(0, closefd=False)
    for name, fd in (("stdout", 1), ("stderr", 2)):
        stream = open(fd, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # closed by the program
            pass


class _Line:
    """The connection to the parent: a thread that answers its questions while the program runs."""

    def __init__(self, sock: socket.socket, server: int) -> None:
        self._sock, self._server = sock, server
        self._sending, self._end = threading.Lock(), threading.Event()
        self._thread_id = threading.get_ident()

    def listen(self) -> None:
        threading.Thread(target=self._answer, name="parent", daemon=True).start()

    def send(self, message: Any) -> None:
        with self._sending:
            wire.send(self._sock, message)

    def wait_for_end(self) -> None:
        self._end.wait()

    def _answer(self) -> None:
        try:
            while True:
                if not select.select([self._sock], [], [], _PARENT_CHECK_SECONDS)[0]:
                    if os.getppid() != self._server:
                        break
                    continue
                question = wire.receive(self._sock)
                if question == "end":
                    self._end.set()
                else:
                    self.send(("doing", question[1], stacks.now(self._thread_id)))
        except (OSError, EOFError):
            pass
        os._exit(1)  # nobody is left to work for


def _work(job: dict[str, Any]) -> Any:
    os.chdir(job["folder"])
    os.environ.clear()
    os.environ.update(job["environment"])
    sys.path[:] = job["path"]
    sys.argv[:] = job["argv"]
    for name, lines in job["sources"].items():  # no time stamp: checkcache() leaves such entries alone
        linecache.cache[name] = (sum(map(len, lines)), None, lines, name)
    faulthandler.register(signal.SIGUSR1, file=sys.stderr, all_threads=True)  # for a parent that gets no answer
    faulthandler.enable(file=sys.stderr, all_threads=True)  # last words of a crash in compiled code
    dist = _join(job)
    program, args = pickle.loads(job["program"])
    if job["backend"] == "nccl":
        args = on_device(args)
    seed()
    return program(*args, dist)


def _join(job: dict[str, Any]) -> Any:
    """Connect this rank with the others; return the module torch.distributed itself."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.set_debug_level_from_env()
    if job["backend"] == "nccl":
        torch.cuda.set_device(job["rank"])
        torch.set_default_device(f"cuda:{job['rank']}")
    patience = datetime.timedelta(seconds=job["timeout"] + 30)  # the parent ends a hang first, with an explanation
    store = dist.TCPStore("127.0.0.1", job["port"], is_master=False, wait_for_workers=False, timeout=patience)
    with gloo.joined_by_all():
        dist.init_process_group(
            job["backend"], store=store, rank=job["rank"], world_size=job["world_size"], timeout=patience
        )
        if job["backend"] == "gloo" and dist.get_debug_level() == dist.DebugLevel.DETAIL:
            gloo.prepare(dist)
    if job["check_average"]:
        gloo.assert_average(dist)
    return dist


def on_device(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor | torch.nn.Module):
        return value.to(torch.get_default_device())
    if type(value) in (tuple, list):
        return type(value)(on_device(v) for v in value)
    if type(value) is dict:
        return {k: on_device(v) for k, v in value.items()}
    return value


def seed() -> None:
    """Give this process's generators the state with which virtual ranks begin: the same one on every rank."""
    import random

    import numpy as np
    import torch

    from labs.kit.virtual.generators import SEED

    random.seed(SEED)
    np.random.seed(SEED)  # noqa: NPY002 - the legacy generator is the global one that programs may draw from
    torch.manual_seed(SEED)


def _leave(backend: str) -> None:
    if backend == "nccl":  # gloo's connections end with the process; NCCL warns unless it is told
        import torch.distributed as dist

        if dist.is_initialized():
            dist.destroy_process_group()


def _packed(value: Any) -> bytes:
    try:
        return parcel.dumps(value)
    except Exception as error:
        raise TypeError(
            f"the program returned a {type(value).__name__} that cannot leave its process ({error}); "
            "return numbers, text, tensors, or lists and dicts of these"
        ) from None
