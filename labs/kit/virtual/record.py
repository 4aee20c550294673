"""What a run writes down: compact rows while it runs, readable events when somebody asks."""

from __future__ import annotations

from array import array
from typing import NamedTuple


class Event(NamedTuple):
    """Something that occupied a rank for a while.

    Parameters
    ----------
    rank : int
    kind : str
        "send", "recv", "work", "wait" or "collective".
    peer : int or None
        The other rank of a message.
    bytes : int
        Length of the message; for a collective what this rank sent in it.
    start, end : float
        Virtual time in s. The send and the recv of one message have the same.
    label : str
        Name of the collective that a message belongs to, or of the work; "" for an ordinary message.
    """

    rank: int
    kind: str
    peer: int | None
    bytes: int
    start: float
    end: float
    label: str


class Record:
    """The record of one run.

    Messages are rows of six numbers (rank, peer, tag, bytes, start, end), one after another. `Send.fire` adds them to
    `rows`, a plain list, which is quick; from time to time `pack` moves them to an array, where a row takes 48 bytes.
    With `keep=False` there are no rows, only sums.
    """

    def __init__(self, world_size: int, keep: bool):
        self.rows: list[float] | None = [] if keep else None
        self.packed = array("d")
        self.spans: list[tuple] = []  # (rank, kind, bytes, start, end, label) of work and modelled collectives
        self.sent = [0] * world_size
        self.count = [0] * world_size
        self.names: list[str] = []  # the collective with the private tag -k is names[k - 1]

    def pack(self, least: int = 0) -> None:
        """Move the rows to the array, if they are at least so many numbers."""
        if self.rows is not None and len(self.rows) >= least:
            self.packed.fromlist(self.rows)
            self.rows.clear()

    def work(self, rank: int, start: float, end: float, label: str) -> None:
        if self.rows is not None:
            self.spans.append((rank, "work", 0, start, end, label))

    def collective(self, rank: int, nbytes: int, messages: int, start: float, end: float, name: str) -> None:
        self.sent[rank] += nbytes
        self.count[rank] += messages
        if self.rows is not None:
            self.spans.append((rank, "collective", nbytes, start, end, name))


def events(record: Record, ends: list[float]) -> tuple[Event, ...]:
    """All events of a record, by start, then rank.

    A rank's virtual time passes only while it does something or stands still, so its "wait" events are what the others
    leave uncovered between 0 and its end.
    """
    rows, names, found = () if record.rows is None else record.packed, record.names, []
    for k in range(0, len(rows), 6):
        rank, peer, tag, nbytes = map(int, rows[k : k + 4])
        start, end = rows[k + 4 : k + 6]
        label = names[-1 - tag] if tag < 0 else ""
        found.append(Event(rank, "send", peer, nbytes, start, end, label))
        found.append(Event(peer, "recv", rank, nbytes, start, end, label))
    found.extend(Event(rank, kind, None, nbytes, *rest) for rank, kind, nbytes, *rest in record.spans)
    found.sort(key=_order)
    covered = [0.0] * len(ends)
    waits = []
    for event in found:
        until = covered[event.rank]
        if event.start > until:
            waits.append(Event(event.rank, "wait", None, 0, until, event.start, ""))
        if event.end > until:
            covered[event.rank] = event.end
    if record.rows is not None:
        for rank, end in enumerate(ends):
            if end > covered[rank]:
                waits.append(Event(rank, "wait", None, 0, covered[rank], end, ""))
    return tuple(sorted(found + waits, key=_order))


def _order(event: Event):
    return event.start, event.rank, event.end, event.kind, -1 if event.peer is None else event.peer
