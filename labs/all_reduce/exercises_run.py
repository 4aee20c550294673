"""What the exercises on ranks share: their inputs, what is known after a run, budgets, and the words for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labs.all_reduce.exercises_chunks import usual_bounds
from labs.all_reduce.exercises_words import amount, tensors, timeline_of
from labs.kit.exercise import Wrong

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module
LATENCY, BANDWIDTH = 5e-6, 50e9  # s and B/s: the network of the syllabus' examples


def inputs(values, dtype="float32", **more):
    """Plain data for one run: int64 `values` of shape (world_size, numel), a dtype's name and the network."""
    values = np.asarray(values, dtype=np.int64)
    return {"values": values, "dtype": dtype, "latency": LATENCY, "bandwidth": BANDWIDTH, **more}


@dataclass(frozen=True)
class Ran:
    """A finished run of an answer, in the words of this lesson.

    Attributes
    ----------
    before, after : ndarray (size, numel)
        Every rank's tensor before and after. int64 and the answer's dtype.
    total : ndarray (numel,)
        The exact sums, int64.
    bounds : list of (start, end)
        The usual chunks.
    sent : list by rank of lists of (dst, offset, values, state)
        What `labs.all_reduce.watched` noted.
    """

    size: int
    numel: int
    before: np.ndarray
    after: np.ndarray
    total: np.ndarray
    bounds: list
    sent: list
    returned: list
    output: dict

    def chunk_of(self, message):
        """The number of the chunk that a message carried, or None when it was no chunk of the tensor."""
        _, offset, values, _ = message
        span = (offset, None if offset is None else offset + len(values))
        return self.bounds.index(span) if span in self.bounds else None

    def state(self, rank, k):
        """The tensor of `rank` when it posted its k-th send, or at the end."""
        return self.sent[rank][k][3] if k < len(self.sent[rank]) else self.after[rank].tolist()

    @property
    def rounds(self):
        """Sends of every rank, when all sent equally often; else None."""
        counts = {len(messages) for messages in self.sent}
        return counts.pop() if len(counts) == 1 else None


def ran(case, output, total=None):
    """The output of a completed run as a `Ran`; `total` are the right numbers, by default the sums over the ranks."""
    before = np.asarray(case.inputs["values"])
    size, numel = before.shape
    after = np.asarray([np.asarray(tensor).reshape(-1) for tensor in output["results"]])
    return Ran(
        size,
        numel,
        before,
        after,
        before.sum(axis=0) if total is None else total,
        usual_bounds(numel, size),
        output["sent"],
        output["returned"],
        output,
    )


def no_library(run, wanted, step, allowed=("barrier",)):
    """Raise Wrong when a collective of the library did the work; `step` is the worked step that shows the way."""
    for rank, kind, *_, label in run.output.get("events", ()):
        if kind == "collective" and label not in allowed:
            raise Wrong(
                "library",
                f"Right or not, dist.{label} did the work here. Can you write {wanted} from send and receive alone?\n"
                f"rank {rank} called dist.{label}; use dist.isend, dist.irecv, dist.send and dist.recv only",
                then=(
                    "The library's collectives are made of messages too. What does rank 0 send first, and to whom?",
                    step,
                ),
            )


RING_STEP = "A loop of size - 1 rounds; in each: isend a chunk to the right, recv one from the left, wait."


def in_place(run, expected):
    """Raise Wrong when the right numbers were returned while the given tensor was left as it was.

    `expected(rank)` gives the slice that must be right and the numbers that belong there.
    """
    untouched = np.array_equal(run.after, run.before.astype(run.after.dtype))
    if not untouched or run.size == 1 or run.numel == 0:
        return
    for rank, back in enumerate(run.returned):
        part, want = expected(rank)
        if back is not None and (back == want.tolist() or (len(back) == run.numel and back[part] == want.tolist())):
            raise Wrong(
                "not_in_place",
                "You returned the right sums, but the tensor that you were given still holds the old numbers. "
                f"Who will look at what you return?\n{tensors(run.after)}",
                then=(
                    "Collectives of torch.distributed work in place: the caller keeps its tensor and ignores the result.",
                    "Write into a slice: tensor[start:end] += buffer changes it; tensor = tensor + buffer makes another.",
                ),
            )


def ring_budgets(case, run, phase):
    """Raise Wrong when a right answer spends more than the ring has to (cases of the part "budget")."""
    if case.part != "budget" or run.size == 1:
        return
    size, output = run.size, run.output
    itemsize = run.after.dtype.itemsize
    chunk = -(-run.numel // size) * itemsize
    whole, fair = run.numel * itemsize, (size - 1) * chunk
    most = max(output["bytes"])
    if most > fair:
        rank = output["bytes"].index(most)
        raise Wrong(
            "too_many_bytes",
            f"The numbers are right, but rank {rank} sent {amount(most)}, {most / fair:.3g} times what the {phase} "
            f"needs. How few would do?\neach tensor is {amount(whole)}, one chunk {amount(chunk)}; the ring needs "
            f"{size - 1} rounds of one chunk: {amount(fair)} from each rank",
            then=(
                "Only one chunk changes hands in each round, not the whole tensor.",
                f"Send tensor[start:end] of one chunk: {amount(chunk)}, then the next one, {size - 1} in all.",
            ),
        )
    for rank, kind, peer, *_ in output["events"]:
        if kind == "send" and (peer - rank) % size not in (1, size - 1):
            raise Wrong(
                "not_a_ring",
                f"Right numbers and few bytes, but rank {rank} sent to rank {peer}. Which ranks does a ring let it talk "
                f"to?\non rank {rank} only {(rank - 1) % size} (left) and {(rank + 1) % size} (right) are neighbours",
                then=(
                    "What you wrote is a direct mesh: fine where everyone has a wire to everyone, and where a rank can "
                    "post many messages at once. Here each chunk goes around, hop by hop.",
                    "Each round: one chunk to (rank + 1) % size, one from (rank - 1) % size.",
                ),
            )
    messages = max(output["messages"])
    if messages > size - 1:
        rank = output["messages"].index(messages)
        extra = "One round too many?" if messages == size else "What does each message cost before its first byte?"
        raise Wrong(
            "too_many_messages",
            f"Right numbers, but rank {rank} sent {messages} messages where {size - 1} would do. {extra}\n"
            f"{size} ranks, {size} chunks; each message costs {case.inputs['latency'] * 1e6:g} µs of latency",
            then=(
                "Count how many neighbours' values a chunk has still to meet when it starts.",
                f"range(size - 1) gives {size - 1} rounds, with one message each.",
            ),
        )
    bound = (size - 1) * (case.inputs["latency"] + chunk / case.inputs["bandwidth"])
    if output["time"] > bound * (1 + 1e-9):
        raise Wrong(
            "serial",
            f"Right numbers and bytes, but {output['time'] * 1e6:.1f} µs of virtual time where {bound * 1e6:.1f} µs "
            f"would do. Is there a moment at which a rank sends and receives at once?\n{size - 1} rounds of "
            f"{case.inputs['latency'] * 1e6:g} µs + {amount(chunk)} / {case.inputs['bandwidth'] / 1e9:g} GB/s, if every "
            "rank sends and receives at the same time",
            picture=timeline_of(output),
            then=(
                "A blocking send ends only when the receiver is there. Can a rank start sending and receive meanwhile?",
                "work = dist.isend(chunk, dst=right), then dist.recv(buffer, src=left), then work.wait().",
            ),
        )
