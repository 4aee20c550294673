"""Collectives: who has joined a call, and (mode "model") what it costs and what everybody ends with.

In mode "model" a call is one transfer on the ring of the group's ranks. It starts when the last rank has joined and
takes what the closed forms of `labs.kit.hardware.costs` say: some number of latencies, and the bytes that the algorithm
moves over each rank's link. As a transfer it shares wires with ordinary messages and with the calls of other groups.
Calls of one group run one after another. In mode "messages" every rank runs the algorithm itself (algorithms.py).
"""

from __future__ import annotations

from collections import Counter
from math import inf

import torch

from labs.kit.virtual import algorithms, reports, wording
from labs.kit.virtual.failures import Mismatch, RankDied
from labs.kit.virtual.links import NOT_STARTED, Transfer
from labs.kit.virtual.messages import Work
from labs.kit.virtual.reduction import divide, fold
from labs.kit.virtual.tasks import Task
from labs.kit.virtual.writing import write


class CollectiveWork(Work):
    """One rank's handle of a collective."""

    __slots__ = ("call", "done", "engine", "error", "label", "rank", "waiters")

    def __init__(self, engine, rank: int, label: str):
        self.engine, self.rank, self.label, self.call = engine, rank, label, None
        self.done, self.error, self.waiters = False, None, []

    def wake(self, task) -> None:
        self.waiters.append(task)

    def complete(self, error: BaseException | None = None) -> None:
        if not self.done:
            self.done, self.error = True, error
            self.engine.ready.extend(self.waiters)
            self.waiters = []

    def peers(self) -> tuple[int, ...]:
        """The ranks of the group that have not joined."""
        call = self.call
        return () if call is None else tuple(rank for i, rank in enumerate(call.group.ranks) if i not in call.io)

    def __str__(self) -> str:
        return self.label


class Call(Transfer):
    """One collective call of a group.

    Attributes
    ----------
    name, label : str
        The operation, and the spelling that its first caller used.
    signature : dict
        What all ranks must agree on: root, op, dtype, elements.
    nbytes : int
        Bytes that the modelled algorithm moves over each rank's link.
    io : dict
        Position in the group -> what this rank brought (its tensors).
    tag : int
        Private (negative) tag of the messages of this call.
    """

    def __init__(self, engine, name, label, group, index, signature, size):
        self.engine, self.group, self.index = engine, group, index
        self.name, self.label, self.signature, self.size = name, label, signature, size
        self.nbytes, self.due, self.open = 0, NOT_STARTED, True
        self.io, self.works, self.first, self.lost = {}, {}, None, None
        engine.calls.append(self)
        engine.record.names.append(label)
        self.tag = -len(engine.calls)

    # ---- joining

    def join(self, i: int, io: tuple, work: CollectiveWork) -> None:
        self.io[i], self.works[i], work.call = io, work, self
        if len(self.io) < self.group.size:
            return
        del self.group.calls[self.index]
        if self.engine.collectives == "model":
            self.group.queue.append(self)
            if len(self.group.queue) == 1:
                self._begin()

    def give_up(self, rank: int) -> None:
        """A member has died: whoever has joined gets an error."""
        self.lost = rank
        mail = self.engine.mail
        if self.engine.collectives == "model":
            if len(self.io) == self.group.size:
                return  # all had joined, so the call goes on without the rank
            for work in self.works.values():
                work.complete(self.error(work.rank))
        for message in mail.unmatched():
            if message.tag == self.tag:
                mail.remove(message)
                self.engine.give_up(message, rank)

    def error(self, rank: int) -> RankDied:
        return RankDied(f"Rank {rank} cannot finish {self.label}: rank {self.lost} has died.", self.lost)

    # ---- mode "model"

    def _begin(self) -> None:
        group, n = self.group, self.group.size
        if group.path is None:
            group.path = _ring_path(self.engine.network, group.ranks)
        latency, bandwidth, wires, self.weights = group.path
        steps, self.nbytes = self._cost(n)
        self.route = (steps * latency, bandwidth, wires)
        self.engine.network.begin(self)

    def _cost(self, n: int) -> tuple[int, float]:
        """Number of latencies, and bytes over each rank's link (formulas: labs.kit.hardware.costs)."""
        size, rounds = self.size, (n - 1).bit_length()
        if n == 1:
            return 0, 0
        match self.name:
            case "barrier":
                return rounds, 0
            case "broadcast" | "reduce":
                return rounds, rounds * size
            case "all_reduce":
                return 2 * (n - 1), 2 * (n - 1) * size / n
            case "reduce_scatter_tensor" | "all_gather_into_tensor":
                return n - 1, (n - 1) * size / n
            case "all_gather":
                return n - 1, (n - 1) * size
            case "scatter" | "gather":
                return 1, (n - 1) * size
            case "all_to_all_single":  # the rank with most to send or to receive
                return 1, max(
                    sum(part.nbytes for j, part in enumerate(parts) if j != i)
                    for i, io in self.io.items()
                    for parts in io
                )
        raise AssertionError(self.name)

    def arrived(self) -> None:
        """All results appear at the end of the call."""
        engine, group = self.engine, self.group
        try:
            with torch.no_grad():
                self._results(group.size, self.io, self.signature.get("root"), self.signature.get("op"))
        except Mismatch as error:
            engine.fail(None, error)
            return
        end = engine.clock.now
        for i, rank in enumerate(group.ranks):
            nbytes, messages = algorithms.sent_by(self, i)
            engine.record.collective(rank, nbytes, messages, self.start, end, self.label)
        self.io, self.open = dict.fromkeys(self.io), False
        for work in self.works.values():
            work.complete()
        group.queue.popleft()
        if group.queue:
            group.queue[0]._begin()

    def _results(self, n, io, root, op) -> None:
        match self.name:
            case "broadcast":
                for i in range(n):
                    if i != root:
                        write(io[i][0], io[root][0])
            case "reduce" | "all_reduce":
                total = divide(fold([io[i][0] for i in range(n)], op), op, n)
                for i in range(n) if root is None else [root]:
                    write(io[i][0], total)
            case "reduce_scatter_tensor":
                total = divide(fold([io[i][1].reshape(-1) for i in range(n)], op), op, n)
                for i, part in enumerate(total.chunk(n) if total.numel() else [total] * n):
                    write(io[i][0], part)
            case "all_gather_into_tensor" | "all_gather" | "gather":
                for i in range(n) if root is None else [root]:
                    for j in range(n):
                        write(io[i][0][j], io[j][1])
            case "scatter":
                for i in range(n):
                    write(io[i][0], io[root][1][i])
            case "all_to_all_single":
                for i in range(n):
                    for j in range(n):
                        target, source = io[i][0][j], io[j][1][i]
                        if target.numel() != source.numel():
                            ranks = self.group.ranks
                            raise Mismatch(
                                f"{self.label}: rank {ranks[j]} sends {wording.shape(source)} to rank {ranks[i]}, "
                                f"which expects {wording.shape(target)}."
                            )
                        write(target, source)

    # ---- mode "messages"

    def algorithm(self, i: int, before: CollectiveWork | None) -> None:
        """Run rank i's part of the algorithm, after this rank's previous collective of the group."""
        if before is not None and not before.done:
            before.wait()
        with torch.no_grad():
            algorithms.run(self, i)
        self.io[i] = None
        if len(self.io) == self.group.size and not any(self.io.values()):
            self.open = False


def start(engine, rank, name, label, group, signature, io, size, place, async_op, work) -> None:
    """Let a rank join the group's next call; in mode "messages" also run its part.

    Raises
    ------
    Mismatch
        If another rank has called something else.
    RankDied
        If a member of the group has died (for asynchronous calls: at `wait`).
    """
    i = group.index[rank]
    index, group.count[i] = group.count[i], group.count[i] + 1
    call = group.calls.get(index)
    if call is None:
        call = group.calls[index] = Call(engine, name, label, group, index, signature, size)
        call.first = rank, place
    elif call.name != name or call.signature != signature:
        raise reports.calls_differ(call, rank, label, name, signature, place)
    call.join(i, io, work)
    lost = [other for other in engine.dead if other in group.index and group.index[other] not in call.io]
    if lost:
        call.lost = lost[0]
        work.complete(call.error(rank))
        if not async_op:
            raise work.error
        return
    if engine.collectives == "model":
        if not async_op:
            work.wait()
        return
    before, group.last[i] = group.last[i], work
    if async_op:
        task = Task(engine, rank, call.algorithm, (i, before), work)
        engine.new.append(task)
        engine.tasks.append(task)
        engine.alive += 1
    else:
        call.algorithm(i, before)
        work.complete()


def _ring_path(network, ranks: list[int]) -> tuple:
    """Of the ring through `ranks`: largest latency, bandwidth of a step alone, wires, how often each is used."""
    n = len(ranks)
    routes = [network.route(ranks[i], ranks[(i + 1) % n]) for i in range(n)] if n > 1 else []
    uses = Counter(wire for _, _, wires in routes for wire in wires)
    bandwidth = min((wire.bandwidth / times for wire, times in uses.items()), default=inf)
    latency = max((latency for latency, _, _ in routes), default=0.0)
    return latency, bandwidth, list(uses), dict(uses)
