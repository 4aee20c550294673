"""Messages between two ranks: who has posted what, who matches whom, and what happens on arrival.

A send and a receive match in the order in which they were posted, for each sender, receiver and tag. A message starts
when both sides have posted it (rendezvous), or at once if it is no longer than the eager limit; its bytes are read from
the sender's tensor when it arrives, as a network card reads them, so a buffer that was changed in between arrives
changed.
"""

from __future__ import annotations

from collections import deque

import torch

from labs.kit.virtual import wording
from labs.kit.virtual.links import ARRIVED, NOT_STARTED, Transfer

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
        except RuntimeError:  # the same number of elements in another shape, or a parameter
            receive.tensor.data.copy_(self.tensor.detach().reshape(receive.tensor.shape))
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
            mail.rows.fromlist([rank, self.peer, self.tag, nbytes, self.start, time])

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


class Mail:
    """All messages of a run that are not matched yet, and the matching.

    A box for each receiver maps (tag, sender) to a queue that holds either waiting sends or waiting receives, never
    both. Receives from any rank stand apart. Tags below zero are private to one collective call each; their queues are
    removed when empty.

    Parameters
    ----------
    engine : Engine
    eager_bytes : int
        Sends up to this size do not wait for their receiver.
    """

    def __init__(self, engine, eager_bytes: int):
        self.engine, self.clock, self.network, self.ready = engine, engine.clock, engine.network, engine.ready
        self.eager_bytes, self.sequence = eager_bytes, 0
        record = engine.record
        self.rows, self.sent, self.count = record.rows, record.sent, record.count
        self.boxes: list[dict] = [{} for _ in range(engine.world_size)]
        self.from_any: dict[int, list[Receive]] = {}  # receiver -> waiting receives from any rank

    # `posted`, the order and the matching are fixed here; the callers in dist.py have checked ranks and tensors.

    def post_send(self, send: Send) -> None:
        send.posted = self.clock.now
        self.sequence = send.sequence = self.sequence + 1
        source, target, tag = send.rank, send.peer, send.tag
        box, key = self.boxes[target], (tag, source)
        queue = box.get(key)
        receive = queue[0] if queue and queue[0].is_receive else None
        if (
            self.from_any
            and (other := self._from_any(target, send))
            and (receive is None or other.sequence < receive.sequence)
        ):
            self.from_any[target].remove(other)
            receive = other
        elif receive is not None:
            queue.popleft()
            if tag < 0 and not queue:
                del box[key]
        if receive is None and self.engine.dead and target in self.engine.dead:
            self.engine.give_up(send, target)
            return
        if send.nbytes <= self.eager_bytes:
            send.tensor, send.done = send.tensor.detach().clone(), True
            self.network.begin(send)
        if receive is not None:
            self._match(send, receive)
        else:
            if queue is None:
                queue = box[key] = deque()
            queue.append(send)

    def post_receive(self, receive: Receive) -> None:
        receive.posted = self.clock.now
        self.sequence = receive.sequence = self.sequence + 1
        source, target, tag = receive.peer, receive.rank, receive.tag
        box = self.boxes[target]
        if source is None:
            waiting = (q for key, q in box.items() if q and not q[0].is_receive and key[0] == tag)
            queue = min(waiting, key=lambda queue: queue[0].sequence, default=None)
            if queue is None:
                self.from_any.setdefault(target, []).append(receive)
                return
            key = (tag, queue[0].rank)
        else:
            key = (tag, source)
            queue = box.get(key)
        if queue and not queue[0].is_receive:
            send = queue.popleft()
            if tag < 0 and not queue:
                del box[key]
            self._match(send, receive)
        elif self.engine.dead and source in self.engine.dead:
            self.engine.give_up(receive, source)
        else:
            if queue is None:
                queue = box[key] = deque()
            queue.append(receive)

    def _from_any(self, target: int, send: Send) -> Receive | None:
        return next((r for r in self.from_any.get(target, ()) if r.tag == send.tag), None)

    def _match(self, send: Send, receive: Receive) -> None:
        a, b = send.tensor, receive.tensor
        if send.nbytes != b.nbytes or a.dtype is not b.dtype:
            self.engine.sizes_differ(send, receive)
        send.mate, receive.mate = receive, send
        if send.due < 0.0:
            self.network.begin(send)
        elif send.due == ARRIVED:  # an eager message that was here already
            send.due = now = self.clock.now
            send.fire(now)

    # ---- buffers that were changed before wait()

    @staticmethod
    def remember(send: Send) -> None:
        """Keep what the tensor of an isend holds now. For small runs: a copy costs a third of a message."""
        tensor = send.tensor
        try:
            send.version = tensor._version
        except RuntimeError:  # made in inference mode: nobody counts its changes
            return
        send.snapshot = tensor.detach().clone() if tensor.requires_grad else tensor.clone()

    def compare(self, send: Send) -> None:
        # The version counts changes to any view of the same memory, so only a comparison can tell.
        now, then = (tensor.detach().reshape(-1).view(torch.uint8) for tensor in (send.tensor, send.snapshot))
        if not torch.equal(now, then):
            self.engine.buffer_reused(send)

    # ---- what is left over

    def remove(self, work: Work) -> None:
        """Forget an unmatched send or receive."""
        if work.is_receive and work.peer is None:
            self.from_any[work.rank].remove(work)
        else:
            source, target = (work.peer, work.rank) if work.is_receive else (work.rank, work.peer)
            self.boxes[target][work.tag, source].remove(work)

    def unmatched(self) -> list[Work]:
        """Everything that was posted and never matched."""
        queues = [queue for box in self.boxes for queue in box.values()]
        return [work for queue in [*queues, *self.from_any.values()] for work in queue]


def _tag(tag: int) -> str:
    return f", tag {tag & 0xFFFFFFFF}" if tag & 0xFFFFFFFF and tag > 0 else ""
