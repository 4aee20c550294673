"""The mail of a run: which messages are waiting, and who matches whom.

A send and a receive match in the order in which they were posted, for each sender, receiver and tag.
"""

from __future__ import annotations

from collections import deque

import torch

from labs.kit.virtual.links import ARRIVED
from labs.kit.virtual.messages import Receive, Send, Work


class Mail:
    """All messages of a run that are not matched yet, and the matching.

    A box for each receiver maps tag and sender (as one number: tag * world_size + sender) to a queue that holds either
    waiting sends or waiting receives, never both. Receives from any rank stand apart. Tags below zero are private to
    one collective call each; their queues are removed when empty.

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
        self.world_size = engine.world_size
        self.boxes: list[dict] = [{} for _ in range(engine.world_size)]
        self.from_any: dict[int, list[Receive]] = {}  # receiver -> waiting receives from any rank

    def observe(self, on_send) -> None:
        """Call `on_send(rank, peer, tensor)` at every send that the program posts, not at those inside collectives."""
        post_send = self.post_send

        def observed(send: Send) -> None:
            if send.tag >= 0:
                on_send(send.rank, send.peer, send.tensor)
            post_send(send)

        self.post_send = observed

    # `posted`, the order and the matching are fixed here; the callers in dist.py have checked ranks and tensors.

    def post_send(self, send: Send) -> None:
        send.posted = self.clock.now
        self.sequence = send.sequence = self.sequence + 1
        source, target, tag = send.rank, send.peer, send.tag
        box, key = self.boxes[target], tag * self.world_size + source
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
            waiting = (q for key, q in box.items() if q and not q[0].is_receive and key // self.world_size == tag)
            queue = min(waiting, key=lambda queue: queue[0].sequence, default=None)
            if queue is None:
                self.from_any.setdefault(target, []).append(receive)
                return
            key = tag * self.world_size + queue[0].rank
        else:
            key = tag * self.world_size + source
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
        if send.tensor.numel() == 0:  # nothing can have changed, and some empty tensors have no view as bytes
            return
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
            self.boxes[target][work.tag * self.world_size + source].remove(work)

    def unmatched(self) -> list[Work]:
        """Everything that was posted and never matched."""
        queues = [queue for box in self.boxes for queue in box.values()]
        return [work for queue in [*queues, *self.from_any.values()] for work in queue]
