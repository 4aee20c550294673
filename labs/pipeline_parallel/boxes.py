"""Actions placed in time: what the pictures of schedules draw, and what can be counted in them."""

from __future__ import annotations

from typing import NamedTuple


class Box(NamedTuple):
    """One action of a schedule, placed in time.

    Attributes
    ----------
    rank : int
    kind : str
        "F" forward, "B" backward, or its halves "I" (gradient of the input) and "W" (gradient of the weights).
    micro : int
    chunk : int
        Which of the rank's stages, from 0.
    start, end : float
        In the unit of the axis. In a picture of lists: the place in the list, and one more.
    wrong : bool
        A fault: drawn with a red edge.
    reached : bool
        False for what was never done: only an outline, beyond the end of what was.
    """

    rank: int
    kind: str
    micro: int
    chunk: int
    start: float
    end: float
    wrong: bool = False
    reached: bool = True


def boxes_of(spans):
    """Boxes for what a simulated schedule did.

    Parameters
    ----------
    spans : iterable
        With ``rank``, ``action`` (kind, stage, micro_batch), ``start`` and ``end``.

    Returns
    -------
    list of Box
    """
    spans = list(spans)
    stages = {}
    for span in spans:
        stages.setdefault(span.rank, set()).add(span.action.stage)
    chunks = {(rank, stage): chunk for rank, own in stages.items() for chunk, stage in enumerate(sorted(own))}
    return [
        Box(s.rank, s.action.kind, s.action.micro_batch, chunks[s.rank, s.action.stage], s.start, s.end) for s in spans
    ]


def unreached(rows, timeline, most=8):
    """Outlines for the actions that a stuck schedule never does, the first of each rank in red.

    Parameters
    ----------
    rows : list of list of tuple
        (kind, ..., micro-batch) by rank.
    timeline : labs.pipeline_parallel.timeline.Timeline
    most : int
        Of each rank.

    Returns
    -------
    list of Box
    """
    start, width = timeline.makespan + 1, 1.5
    return [
        Box(rank, row[0], row[-1], 0, start + width * k, start + width * (k + 1), wrong=k == 0, reached=False)
        for rank, at in timeline.stuck.items()
        for k, row in enumerate(rows[rank][at : at + most])
    ]


def held(boxes, rank, until=float("inf")):
    """Activations that a rank holds at an instant: (micro, chunk) pairs, the oldest first.

    A forward stores what its backward needs from the moment when it begins; the last backward of that micro-batch (W
    where the backward is split, else B) lets it go when it ends.
    """
    mine = sorted((box for box in boxes if box.rank == rank and box.reached), key=lambda box: box.start)
    split = any(box.kind == "W" for box in boxes)
    gone = {(b.micro, b.chunk) for b in mine if b.kind == ("W" if split else "B") and b.end <= until}
    return [(b.micro, b.chunk) for b in mine if b.kind == "F" and b.start < until and (b.micro, b.chunk) not in gone]


def most_held(boxes, rank):
    """The greatest number of activations that a rank holds at any instant."""
    return max((count for _, count in levels(boxes, rank)), default=0)


def levels(boxes, rank):
    """Instants at which the number of held activations of a rank changes, and the number from then on."""
    mine = [box for box in boxes if box.rank == rank and box.reached]
    last = "W" if any(box.kind == "W" for box in boxes) else "B"
    changes = [(b.start, 1, +1) for b in mine if b.kind == "F"] + [(b.end, 0, -1) for b in mine if b.kind == last]
    found, count = [], 0
    for at, _, change in sorted(changes):
        count += change
        found.append((at, count))
    return found


def idle_share(boxes, ranks):
    """Share of the step in which a rank does nothing, the mean over all ranks."""
    end = max((box.end for box in boxes), default=0.0)
    busy = sum(box.end - box.start for box in boxes if box.reached)
    return 1 - busy / (ranks * end) if end else 0.0
