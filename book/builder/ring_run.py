"""The run behind the front page's moving picture: lesson 08's own ring, on four virtual ranks."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

RANKS = 4
MEGABYTES = 100  # each rank's gradient
LATENCY, BANDWIDTH = 5e-6, 50e9  # s and B/s, the network that lesson 08 asks about
PIECES = ("chunk_bounds", "reduce_scatter", "all_gather")  # the lesson's answers that make up the ring


@dataclass(frozen=True)
class Message:
    """A chunk on its way from one rank to the next.

    Attributes
    ----------
    round : int
        From 1.
    sender, receiver, chunk : int
        Ranks, and which chunk it is.
    value : int
        What it carries.
    result : int
        What the receiver has in that chunk afterwards.
    start, end : float
        When it leaves and when it is there (s).
    """

    round: int
    sender: int
    receiver: int
    chunk: int
    value: int
    result: int
    start: float
    end: float


@dataclass(frozen=True)
class RingRun:
    """A ring all-reduce as it happened.

    Attributes
    ----------
    before, after : tuple of tuples of int
        What each rank holds in each chunk at the beginning and at the end.
    messages : tuple of Message
        In the order of their rounds.
    time : float
        When the last rank has everything (s).
    """

    before: tuple[tuple[int, ...], ...]
    after: tuple[tuple[int, ...], ...]
    messages: tuple[Message, ...]
    time: float

    @property
    def rounds(self) -> int:
        """How many messages each rank sends, one after another."""
        return max(message.round for message in self.messages)


def ring_of_the_lesson(notebook: Path):
    """The ring all-reduce that lesson 08 shows: its answers for the two halves, one after the other.

    Parameters
    ----------
    notebook : pathlib.Path
        solutions/08_all_reduce.ipynb.

    Returns
    -------
    callable
        ``ring(tensor, dist)``.
    """
    import torch

    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    sources = {
        cell["metadata"]["nbgrader"]["grade_id"]: "".join(cell["source"])
        for cell in cells
        if cell["metadata"].get("nbgrader", {}).get("solution")
    }
    names = {"torch": torch}
    for piece in PIECES:
        if piece not in sources:
            raise SystemExit(f"{notebook.name}: the front page shows the ring made of its answers; {piece} is missing.")
        exec(compile(sources[piece], notebook.name, "exec"), names)  # our own lesson, as its page prints it

    def ring(tensor, dist):
        names["reduce_scatter"](tensor, dist)
        names["all_gather"](tensor, dist)

    return ring


def run_ring(ring) -> RingRun:
    """Run a ring on virtual ranks that start with 1, 10, 100 and 1000 in every chunk.

    One number stands for a chunk of 25 MB: the links are slower by as much as the messages are smaller, so the virtual
    clock shows the time of 100 MB for each rank.

    Parameters
    ----------
    ring : callable
        ``ring(tensor, dist)``, which leaves the sum over all ranks in every tensor.

    Returns
    -------
    RingRun

    Raises
    ------
    SystemExit
        When the run fails, or when the program is not a ring.
    """
    import numpy as np

    from labs.all_reduce.watched import run

    number_bytes, chunk_bytes = 8, MEGABYTES * 1e6 / RANKS
    start = np.repeat(10 ** np.arange(RANKS)[:, None], RANKS, axis=1)
    slow = BANDWIDTH * number_bytes / chunk_bytes
    output = run((ring,), {"values": start, "dtype": "int64", "latency": LATENCY, "bandwidth": slow})
    if "failure" in output:
        raise SystemExit(f"The ring of the front page failed:\n{output['failure'].get('text', '')}")
    if len({len(sent) for sent in output["sent"]}) != 1:
        raise SystemExit("The front page shows a ring: every rank must send as many messages as every other.")
    after = tuple(tuple(int(value) for value in tensor) for tensor in output["results"])
    messages = []
    for rank, sent in enumerate(output["sent"]):
        times = [event for event in output["events"] if event[0] == rank and event[1] == "send"]
        for step, ((receiver, chunk, (value,), _), event) in enumerate(zip(sent, times, strict=True)):
            later = output["sent"][receiver][step + 1][3] if step + 1 < len(sent) else after[receiver]
            messages.append(Message(step + 1, rank, receiver, chunk, int(value), int(later[chunk]), event[4], event[5]))
    before = tuple(tuple(int(value) for value in row) for row in start)
    return RingRun(before, after, tuple(sorted(messages, key=lambda m: (m.round, m.sender))), output["time"])
