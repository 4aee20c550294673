"""`simulate`: run a program on virtual ranks, and `Run`: what came out."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch

from labs.kit import hardware
from labs.kit.virtual import record, reports
from labs.kit.virtual.dist import Dist
from labs.kit.virtual.engine import Engine
from labs.kit.virtual.failures import Unreceived
from labs.kit.virtual.places import Place, place_of_instruction
from labs.kit.virtual.watchdog import Watchdog


@dataclass(frozen=True, slots=True)
class ReusedBuffer:
    """A message whose tensor was changed between `isend` and its arrival: what arrived is not what was sent.

    Parameters
    ----------
    rank, peer : int
        Sender and receiver.
    bytes : int
        Length of the message.
    place : Place or None
        Where the message was sent.
    """

    rank: int
    peer: int
    bytes: int
    place: Place | None

    def __str__(self) -> str:
        at = f", at {self.place}" if self.place else ""
        return f"rank {self.rank} changed the tensor that it was sending to rank {self.peer}, before wait(){at}"


@dataclass(frozen=True)
class Run:
    """What a run on ranks gave.

    Attributes
    ----------
    results : tuple
        What each rank's program returned.
    time : float or None
        Virtual time at which the last rank returned, in s; None on real ranks.
    world_size : int
    topology : Topology or None
    ends : tuple of float
        Virtual time at which each rank returned, in s.
    unreceived : tuple of str
        Messages and receives that were left over (only with `allow_unreceived`).
    reused_buffers : tuple of ReusedBuffer
        Send buffers that were changed too early; watched up to 64 ranks.
    """

    results: tuple
    time: float | None = None
    world_size: int = 0
    topology: Any = None
    ends: tuple = ()
    unreceived: tuple = ()
    reused_buffers: tuple = ()
    _record: Any = field(default=None, repr=False, compare=False)

    @cached_property
    def trace(self) -> tuple[record.Event, ...]:
        """All events, by start and rank; made when first asked for. Empty without a trace."""
        return () if self._record is None else record.events(self._record, list(self.ends))

    def bytes_sent(self, rank: int) -> int:
        """Bytes that a rank sent, in messages and in collectives (counted without a trace, too)."""
        return self._record.sent[rank]

    def messages_sent(self, rank: int) -> int:
        """Messages that a rank sent, those of collectives included."""
        return self._record.count[rank]


def simulate(
    program: Callable,
    world_size: int,
    args: tuple | Callable[[int], tuple] = (),
    *,
    topology=None,
    timeout: float | None = 120.0,
    trace: bool = True,
    eager_bytes: int = -1,
    collectives: str = "model",
    expect_dead: Iterable[int] = (),
    allow_unreceived: bool = False,
    on_send: Callable | None = None,
) -> Run:
    """Run `program(*args, dist)` on virtual ranks.

    Parameters
    ----------
    program : callable
        A rank program: a plain function that takes its data and `dist`, the virtual torch.distributed.
    world_size : int
        Number of ranks, at least 1.
    args : tuple or callable
        Arguments for all ranks, or a function of the rank that gives them. Copied for each rank.
    topology : labs.kit.hardware.Topology, optional
        What the ranks run on; `uniform(world_size)` if left out.
    timeout : float or None
        Limit on real time, in s.
    trace : bool
        Whether to record events. Bytes and messages are counted in any case.
    eager_bytes : int
        Sends up to this size do not wait for their receiver. By default all do.
    collectives : "model" or "messages"
        Whether collectives cost what the closed forms say, or run as real messages.
    expect_dead : iterable of int
        Ranks that may raise or return early; operations with them then raise `RankDied` in the others.
    allow_unreceived : bool
        Whether messages that nobody received are reported in `Run.unreceived` instead of raised.
    on_send : callable, optional
        ``on_send(rank, peer, tensor)`` is called when the program posts a send, before anything moves: to note what a
        message carries. It must leave the tensor alone and may not communicate.

    Returns
    -------
    Run

    Raises
    ------
    RunFailure
        Deadlock, Mismatch, RankFailed, Unreceived, RankDied, TimedOut or Misuse: see labs.kit.virtual.failures.
    ValueError
        For arguments that make no sense.
    """
    expect_dead = frozenset(expect_dead)
    if isinstance(world_size, bool) or not isinstance(world_size, int) or world_size < 1:
        raise ValueError(f"world_size must be a whole number from 1 up, not {world_size!r}")
    if collectives not in ("model", "messages"):
        raise ValueError(f'collectives must be "model" or "messages", not {collectives!r}')
    if not expect_dead <= set(range(world_size)):
        raise ValueError(f"expect_dead names {sorted(expect_dead)}, but the ranks are 0 to {world_size - 1}")
    if topology is None:
        topology = hardware.uniform(world_size)
    if topology.world_size < world_size:
        raise ValueError(
            f"{world_size} ranks need {world_size} devices, but this topology has {topology.world_size}. "
            "Use fewer ranks or a larger topology."
        )
    engine = Engine(
        world_size,
        topology,
        trace=trace,
        eager_bytes=eager_bytes,
        collectives=collectives,
        expect_dead=expect_dead,
        timeout=timeout,
    )
    if on_send is not None:
        engine.mail.observe(on_send)
    arguments = args if callable(args) else lambda rank: args
    dists = [Dist(engine, rank) for rank in range(world_size)]
    engine.run(program, lambda rank: _copied(tuple(arguments(rank))), dists, Watchdog(timeout))
    left = tuple(reports.unreceived(engine))
    if left and not allow_unreceived and not engine.dead:
        raise Unreceived(left)
    ranks = [task for task in engine.tasks if task.work is None]
    ends = tuple(task.end for task in ranks)
    return Run(
        results=tuple(task.value for task in ranks),
        time=max(ends),
        world_size=world_size,
        topology=topology,
        ends=ends,
        unreceived=left,
        reused_buffers=tuple(
            ReusedBuffer(rank, peer, nbytes, place_of_instruction(*place) if place else None)
            for rank, peer, nbytes, place in engine.reused
        ),
        _record=engine.record,
    )


_IMMUTABLE = (int, float, complex, bool, str, bytes, type(None))


def _copied(arguments: tuple) -> tuple:
    """A rank's own copy of its arguments (a lone tensor without the detours of deepcopy: there are many ranks)."""
    tensors = [a for a in arguments if type(a) is torch.Tensor]
    if len(tensors) <= 1 and all(isinstance(a, _IMMUTABLE) or type(a) is torch.Tensor for a in arguments):
        if not tensors or not tensors[0].requires_grad:
            return tuple(a.clone() if type(a) is torch.Tensor else a for a in arguments)
    return copy.deepcopy(arguments)
