"""Reading a run: what happened between the ranks, from a `Run` or from a plain list of events.

An event is (rank, kind, peer, bytes, start, end, label), as in `labs.kit.virtual.Event`: kind is "send", "recv",
"work", "wait" or "collective", times are in seconds. A message gives a "send" at its sender and a "recv" at its
receiver.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

KINDS = ("work", "collective", "send", "recv", "wait")


class Span(NamedTuple):
    """One event: what `rank` did from `start` to `end` (seconds)."""

    rank: int
    kind: str
    peer: int | None
    bytes: int
    start: float
    end: float
    label: str


class Message(NamedTuple):
    """`bytes` that went from rank `source` to rank `target`, from `start` to `end` (seconds)."""

    source: int
    target: int
    bytes: int
    start: float
    end: float
    label: str


def read(events_or_run, world_size: int | None = None) -> tuple[list[Span], int, float]:
    """Events, number of ranks and length in seconds.

    Parameters
    ----------
    events_or_run : Run or iterable of events
        A run (anything with a `trace`), or its events as tuples or lists of seven values.
    world_size : int, optional
        Number of ranks where it is not the run's own or the largest rank + 1.

    Raises
    ------
    ValueError
        If an event does not have seven values or has an unknown kind, or if there is nothing to draw.
    """
    trace = getattr(events_or_run, "trace", events_or_run)
    if trace is None:
        raise ValueError("This run has no trace. Only virtual ranks record one: use on='virtual' with trace=True.")
    spans = [_span(event) for event in trace]
    if world_size is None:
        world_size = getattr(events_or_run, "world_size", None)
    if world_size is None:
        world_size = 1 + max((max(span.rank, span.peer or 0) for span in spans), default=-1)
    if world_size < 1:
        raise ValueError("There is nothing to draw: no events and no ranks. Pass world_size= for an empty run.")
    late = max((span.end for span in spans), default=0.0)
    return spans, int(world_size), max(late, getattr(events_or_run, "time", None) or 0.0)


def _span(event: Iterable) -> Span:
    values = tuple(event)
    if len(values) != 7:
        raise ValueError(
            "An event has seven values, (rank, kind, peer, bytes, start, end, label); "
            f"this one has {len(values)}: {values!r}"
        )
    span = Span(*values)
    if span.kind not in KINDS:
        raise ValueError(f"Unknown kind of event {span.kind!r}; known are {', '.join(KINDS)}.")
    return span._replace(bytes=int(span.bytes or 0), label=str(span.label or ""))


def messages(spans: Iterable[Span]) -> list[Message]:
    """The messages of a run in order of arrival; a send and its matching recv count once."""
    sent, received = Counter(), Counter()
    for span in spans:
        if span.kind in ("send", "recv") and span.peer is not None:
            source, target = (span.rank, span.peer) if span.kind == "send" else (span.peer, span.rank)
            side = sent if span.kind == "send" else received
            side[Message(source, target, span.bytes, span.start, span.end, "")] += 1
    labels = {}
    for span in spans:
        if span.kind == "send":
            labels.setdefault((span.rank, span.peer, span.bytes, span.start, span.end), span.label)
    found = [
        message._replace(label=labels.get(tuple(message[:5]), ""))
        for message, times in (sent | received).items()
        for _ in range(times)
    ]
    return sorted(
        found, key=lambda message: (message.end, message.start, message.source, message.target, message.bytes)
    )
