"""One run on real processes: start the ranks, watch them, end them, and say what happened."""

from __future__ import annotations

import contextlib
import os
import pickle
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from labs.kit.ranks import explain, parcel
from labs.kit.ranks.crew import Crew, Member
from labs.kit.ranks.output import show
from labs.kit.ranks.server import ServerFailed, keeper

_GRACE_SECONDS = 0.3  # after the first failure: others may report the same, or what they are waiting for
_ANSWER_SECONDS = 1.0  # how long a rank may take to say what it is doing
_LOOK_SECONDS = 0.5  # between two looks at ranks from which nothing is heard
_SAME_LOOKS = 3  # so many looks in a row must show that nobody moves before a deadlock is declared
_IDLE_CPU_SECONDS = 0.02  # a rank that used more between two looks is not standing still


@dataclass(frozen=True)
class Order:
    """What a run on real ranks was asked to do."""

    program: Callable
    world_size: int
    args: tuple | Callable[[int], tuple]
    backend: str
    timeout: float
    check: bool
    expect_dead: frozenset[int]
    stream: bool


def launch(order: Order) -> list[Any]:
    """Run the program on fresh processes.

    Returns
    -------
    list
        What each rank returned; None for a rank of `expect_dead`.

    Raises
    ------
    RunFailure
        In the words of `labs.kit.ranks.explain`.
    """
    parcels = _parcels(order)
    for _ in range(2):
        with _store(order) as port:
            server, processes = keeper.fork(order.world_size)
            with Crew(processes, show if order.stream else None) as crew:
                average = order.backend == "gloo" and "average" not in server.checked
                common = _common(order, port, check_average=average)
                for rank, own in enumerate(parcels):
                    crew.give(rank, dict(common, **_own(order, rank, port), program=own))
                if not crew.started():
                    continue  # the server had died unnoticed; the next attempt gets a new one
                _watch(crew, order)
                crew.release()
                crew.see_off()
                if order.world_size > 1:
                    server.checked.add("average")
                return [_result(member) for member in crew.members]
    raise ServerFailed("The process that starts ranks died twice at once. Is this machine short of memory?")


def _parcels(order: Order) -> list[bytes]:
    if callable(order.args):
        return [parcel.pack(order.program, tuple(order.args(rank))) for rank in range(order.world_size)]
    return [parcel.pack(order.program, tuple(order.args))] * order.world_size


@contextlib.contextmanager
def _store(order: Order) -> Iterator[int]:
    """Hold the meeting point of the ranks in this process, on a port that the system has just given to it."""
    import datetime

    import torch.distributed as dist

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(max(64, 2 * order.world_size))
    port = listener.getsockname()[1]
    store = dist.TCPStore(
        "127.0.0.1",
        port,
        is_master=True,
        wait_for_workers=False,
        timeout=datetime.timedelta(seconds=order.timeout + 30),
        master_listen_fd=listener.detach(),
    )
    try:
        yield port
    finally:
        del store


def _common(order: Order, port: int, check_average: bool) -> dict[str, Any]:
    return {
        "world_size": order.world_size,
        "backend": order.backend,
        "timeout": order.timeout,
        "port": port,
        "check_average": check_average,
        "sources": parcel.sources(),
        "folder": os.getcwd(),
        "path": list(sys.path),
        "argv": list(sys.argv),
    }


def _own(order: Order, rank: int, port: int) -> dict[str, Any]:
    environment = _environment(order, rank, port)
    return {"rank": rank, "environment": environment, "may_die": rank in order.expect_dead}


def _environment(order: Order, rank: int, port: int) -> dict[str, str]:
    environment = dict(os.environ)
    environment.update(
        RANK=str(rank),
        LOCAL_RANK=str(rank),
        WORLD_SIZE=str(order.world_size),
        LOCAL_WORLD_SIZE=str(order.world_size),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(port),
        OMP_NUM_THREADS="1",
        GLOO_SOCKET_IFNAME="lo0" if sys.platform == "darwin" else "lo",  # ranks of one machine need no other
        TORCH_DISTRIBUTED_DEBUG="DETAIL" if order.check else "OFF",
        LABS_INSIDE_RANK=str(rank),
    )
    return environment


def _watch(crew: Crew, order: Order) -> None:
    """Return when every rank has returned; raise the explanation when that will not happen."""
    deadline = time.monotonic() + order.timeout
    looks: list[dict[int, dict]] = []
    next_look, number = time.monotonic() + _LOOK_SECONDS, 0
    while True:
        if any(explain.failed(member, order.expect_dead) for member in crew.members):
            _gather(crew, order)
            raise explain.failure(crew.members, order)
        unfinished = [m for m in crew.members if not m.settled]
        if not unfinished:
            return
        now = time.monotonic()
        if now >= deadline:
            _look_around(crew, unfinished)
            raise explain.timed_out(crew.members, order)
        if now >= next_look and order.backend == "gloo":
            number += 1
            silent = crew.ask(number, unfinished, min(_ANSWER_SECONDS, deadline - now))
            answers = {m.rank: m.doing[1] for m in unfinished if m.doing and m.doing[0] == number}
            looks = [*looks, answers][-_SAME_LOOKS:]
            if not silent and _nobody_moves(looks, [m for m in crew.members if not m.settled]):
                raise explain.deadlock(crew.members, order)
            next_look = time.monotonic() + _LOOK_SECONDS
        crew.listen(min(deadline, next_look if order.backend == "gloo" else deadline) - time.monotonic())


def _nobody_moves(looks: list[dict[int, dict]], unfinished: list[Member]) -> bool:
    """Whether all unfinished ranks wait for one another: each inside the same operation, using no CPU, in all looks."""
    ranks = {m.rank for m in unfinished}
    if len(looks) < _SAME_LOOKS or any(set(look) != ranks for look in looks):
        return False
    for rank in ranks:
        seen = [look[rank] for look in looks]
        if any(s["operation"] is None or not s["lines"] or s["threads"] or s["spot"] != seen[0]["spot"] for s in seen):
            return False
        if seen[-1]["cpu"] - seen[0]["cpu"] > _IDLE_CPU_SECONDS * (_SAME_LOOKS - 1):
            return False
    return True


def _gather(crew: Crew, order: Order) -> None:
    """After the first failure, hear what the others have to say about themselves."""
    until = time.monotonic() + _GRACE_SECONDS
    while (left := until - time.monotonic()) > 0 and any(not m.settled for m in crew.members):
        crew.listen(left)
    crew.ask(-1, [m for m in crew.members if not m.settled], _GRACE_SECONDS)


def _look_around(crew: Crew, unfinished: list[Member]) -> None:
    silent = crew.ask(-1, unfinished, _ANSWER_SECONDS)
    crew.dump(silent, _ANSWER_SECONDS)


def _result(member: Member) -> Any:
    if member.report is None or member.report[0] != "result":
        return None
    return pickle.loads(member.report[1])
