"""Messages between two ranks: what each side can wait on, and what happens on arrival.

A message starts when both sides have posted it (rendezvous), or at once if it is no longer than the eager limit; its
bytes are read from the sender's tensor when it arrives, as a network card reads them, so a buffer that was changed in
between arrives changed.
"""

from __future__ import annotations

import torch

from labs.kit.virtual import wording
from labs.kit.virtual.links import ARRIVED, NOT_STARTED, Transfer
from labs.kit.virtual.writing import write

in_backward = torch._C._current_graph_task_id  # its value is -1 outside of backward


class Work:
    """What `isend`, `irecv` and collectives with `async_op=True` return: a handle to wait on."""

    __slots__ = ()

    def wait(self, timeout=None) -> bool:
        """Stand still until the operation has finished.

        Raises
        ------
        Misuse
            Inside backward, where ranks cannot change places.
        RankDied
            If the other side has died.
        """
        engine = self.engine
        if in_backward() != -1:
            raise engine.blocked_in_backward("wait")
        task = engine.current
        if task.offset:
            engine.catch_up(task)
        if not self.done:
            self.wake(task)
            engine.block(self)
        if self.error is not None:
            raise self.error
        return True

    def is_completed(self) -> bool:
        """Whether the operation has finished.

        Asking is free once an instant of virtual time; asked again at the same instant the rank stands still until
        something happens, so that a loop of questions ends.
        """
        if not self.done and in_backward() == -1:
            self.engine.poll(self)
        return self.done

    def is_success(self) -> bool:
        return self.done and self.error is None


class Send(Work, Transfer):
    __slots__ = (
        "done",
        "engine",
        "error",
        "mate",
        "peer",
        "place",
        "posted",
        "rank",
        "sequence",
        "snapshot",
        "tag",
        "tensor",
        "version",
        "waiter",
    )
    is_receive = False

    def __init__(self, engine, rank, peer, tag, tensor):
        self.engine = engine
        self.rank = rank
        self.peer = peer
        self.tag = tag
        self.tensor = tensor
        self.nbytes = tensor.nbytes
        self.due = NOT_STARTED
        self.done = False
        self.error = self.waiter = self.mate = self.place = self.snapshot = self.route = None

    def wake(self, task) -> None:
        self.waiter = task

    def fire(self, time: float) -> None:
        """The last byte is there: copy, wake both sides, write it down (Transfer.fire and arrived in one function)."""
        if self.due != time:
            return
        if self.shared:
            self.engine.network.last_byte(self)
            return
        self.due = ARRIVED
        receive = self.mate
        if receive is None:  # an eager message whose receiver is not there yet
            return
        mail = self.engine.mail
        if self.snapshot is not None and self.tensor._version != self.version:
            mail.compare(self)
        try:
            receive.tensor.copy_(self.tensor)
        except RuntimeError:  # the same number of elements in another shape, a parameter, or made in inference mode
            write(receive.tensor, self.tensor)
        self.done = receive.done = True
        self.mate = None  # leaves no cycle send - receive: both are freed at once, without the garbage collector
        if self.waiter is not None:
            mail.ready.append(self.waiter)
        if receive.waiter is not None:
            mail.ready.append(receive.waiter)
        rank, nbytes = self.rank, self.nbytes
        mail.sent[rank] += nbytes
        mail.count[rank] += 1
        if mail.rows is not None:
            mail.rows += (rank, self.peer, self.tag, nbytes, self.start, time)

    def peers(self) -> tuple[int, ...]:
        return (self.peer,)

    def __str__(self) -> str:
        return f"send to rank {self.peer} ({wording.size(self.nbytes)}{_tag(self.tag)})"


class Receive(Work):
    __slots__ = (
        "done",
        "engine",
        "error",
        "mate",
        "peer",
        "place",
        "posted",
        "rank",
        "sequence",
        "tag",
        "tensor",
        "waiter",
    )
    is_receive = True

    def __init__(self, engine, rank, peer, tag, tensor):
        self.engine = engine
        self.rank = rank
        self.peer = peer
        self.tag = tag
        self.tensor = tensor
        self.done = False
        self.error = self.waiter = self.mate = self.place = None

    def wake(self, task) -> None:
        self.waiter = task

    def peers(self) -> tuple[int, ...]:
        return () if self.peer is None else (self.peer,)

    def __str__(self) -> str:
        source = "any rank" if self.peer is None else f"rank {self.peer}"
        return f"recv from {source} ({wording.size(self.tensor.nbytes)}{_tag(self.tag)})"


def _tag(tag: int) -> str:
    return f", tag {tag & 0xFFFFFFFF}" if tag & 0xFFFFFFFF and tag > 0 else ""
