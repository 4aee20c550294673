"""Does a schedule come to its end, and if not, which rank waits for which? Only the order counts, not the time."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from labs.pipeline_parallel.actions import Action, Schedule
from labs.pipeline_parallel.order import Place, steps_of

SENDS = ("async", "blocking")


class Stuck(NamedTuple):
    """A rank that cannot go on.

    Parameters
    ----------
    rank, position : int
        Of the action before which (a receive) or after which (a send) it stands still.
    verb : {"receive", "send"}
    message : Action
        The action whose result it wants to receive or to send.
    peer : Place
        Where the other side of this message stands in the schedule: the action that computes it, or that takes it.
    """

    rank: int
    position: int
    verb: str
    message: Action
    peer: Place


def stuck_ranks(schedule: Schedule, sends: str = "async") -> dict[int, Stuck]:
    """Go through a complete schedule, and return who stands still when nothing moves any more.

    Parameters
    ----------
    schedule : tuple of tuple of Action
        Complete, with each stage on one rank.
    sends : {"async", "blocking"}
        "async": a send never waits, as in the executor of this lesson. "blocking": after an action its rank waits until
        the receiver takes the result, and the receiver takes a result just before the action that needs it (plain
        ``send`` and ``recv``).

    Returns
    -------
    dict of int to Stuck
        By rank; empty when the schedule runs to its end.
    """
    if sends not in SENDS:
        raise ValueError(f"sends is one of {SENDS}, not {sends!r}")
    work = [deque(_operations(rank, steps)) for rank, steps in enumerate(steps_of(schedule))]
    sent: set[Action] = set()
    ready = deque(range(len(work)))
    while ready:
        rank = ready.popleft()
        while work[rank]:
            now = work[rank][0]
            if now.verb == "send" and sends == "async":
                sent.add(now.message)
                ready.append(now.peer.rank)
            elif now.verb == "receive" and now.message in sent:
                pass
            elif sends == "blocking" and _meets(now, work[now.peer.rank]):
                work[now.peer.rank].popleft()
                ready.append(now.peer.rank)
            else:
                break
            work[rank].popleft()
    return {rank: left[0] for rank, left in enumerate(work) if left}


def _operations(rank, steps):
    """Receives and sends of a rank in order; what stays on a rank needs neither, if it comes in the right order."""
    for position, step in enumerate(steps):
        place = step.source_place
        if place is not None and (place.rank != rank or place.position > position):
            yield Stuck(rank, position, "receive", step.source, place)
        if step.target_place is not None and step.target_place.rank != rank:
            yield Stuck(rank, position, "send", step.action, step.target_place)


def _meets(now, other):
    return bool(other) and other[0].message == now.message and other[0].verb != now.verb


def cycle_in(stuck: dict[int, Stuck]) -> tuple[int, ...]:
    """Ranks that wait for each other in a circle, from the lowest on; every stuck rank leads to such a circle."""
    if not stuck:
        return ()
    path, rank = [], min(stuck)
    while rank not in path:
        path.append(rank)
        rank = stuck[rank].peer.rank
    circle = path[path.index(rank) :]
    lowest = circle.index(min(circle))
    return tuple(circle[lowest:] + circle[:lowest])
