"""Exercise all_gather: every rank owns one finished chunk; after size - 1 rounds around the ring, all have all."""

from __future__ import annotations

import numpy as np

from labs.all_reduce.exercises_chunks import usual_bounds
from labs.all_reduce.exercises_failures import explain_failure
from labs.all_reduce.exercises_ring import direction
from labs.all_reduce.exercises_run import RING_STEP, in_place, inputs, no_library, ran, ring_budgets
from labs.all_reduce.exercises_words import numbers, picture, schedule, tensors, where
from labs.all_reduce.watched import run
from labs.kit.exercise import Case, Exercise, Wrong

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def start(size, numel, finished):
    """Tensors as a reduce-scatter may leave them: rank r has chunk r finished, and 10^r (unfinished) elsewhere."""
    values = np.repeat(10 ** np.arange(size, dtype=np.int64)[:, None], numel, axis=1)
    for rank, (first, end) in enumerate(usual_bounds(numel, size)):
        values[rank, first:end] = finished[first:end]
    return values


def cases(seed):
    rng = np.random.default_rng(seed)

    def some(size, numel, most=999):
        return start(size, numel, rng.integers(2000, 2000 + most, size=numel))

    size = int(rng.integers(5, 8))
    ragged = size * int(rng.integers(2, 5)) + int(rng.integers(1, size))
    found = [
        Case("4 ranks with finished chunks 1111, 2222, 3333, 4444", inputs(start(4, 4, 1111 * np.arange(1, 5)))),
        Case("3 ranks, 12 numbers", inputs(start(3, 12, 111 * np.repeat([1, 2, 3], 4)))),
        Case(f"{size} ranks, {ragged} numbers: the chunks are not equal", inputs(some(size, ragged))),
        Case("2 ranks, 6 numbers", inputs(some(2, 6))),
        Case("1 rank: nothing to send", inputs(some(1, 5)), "edge"),
    ]
    found += [Case(f"4 ranks, {n} number{'s' * (n != 1)}", inputs(some(4, n)), "edge") for n in (0, 1, 3, 4, 5)]
    found += [
        Case("float64, exact beyond what float32 can hold", inputs(some(4, 10, 2**50), "float64"), "edge"),
        Case("int64", inputs(some(3, 10, 2**50), "int64"), "edge"),
        Case("8 ranks, 8,000 numbers: bytes, messages and time", inputs(some(8, 8000)), "budget"),
        Case("5 ranks, 10,003 numbers: bytes, messages and time", inputs(some(5, 10_003)), "budget"),
    ]
    return found


def verify(case, output):
    explain_failure(case, output)
    values = np.asarray(case.inputs["values"])
    bounds = usual_bounds(values.shape[1], len(values))
    finished = np.concatenate([values[rank, first:end] for rank, (first, end) in enumerate(bounds)])
    run = ran(case, output, total=finished)
    no_library(run, "all-gather", RING_STEP)
    wrong = [
        (rank, chunk)
        for rank in range(run.size)
        for chunk, (first, end) in enumerate(run.bounds)
        if not np.array_equal(run.after[rank][first:end], finished[first:end].astype(run.after.dtype))
    ]
    if wrong:
        in_place(run, lambda rank: (slice(0, run.numel), finished))
        raise _explain(run, wrong)
    ring_budgets(case, run, "all-gather")


def _explain(run, wrong):
    look = picture(run, wrong, "After your all-gather")
    for find in (_nothing_sent, _tail, direction, _wrong_start, _same_chunk, _rounds, _added, _stale, _misplaced):
        if found := find(run, wrong):
            hint, message, *then = found
            return Wrong(hint, message, picture=look, then=then)
    rank, chunk = wrong[0]
    first, end = run.bounds[chunk]
    return Wrong(
        "missing",
        f"Chunk {chunk} on rank {rank} should be {numbers(run.total[first:end])} and is "
        f"{numbers(run.after[rank][first:end])}. By which hops should it have come there?\n{tensors(run.after)}",
        picture=look,
        then=(
            "Every chunk travels from its owner to the right, one hop a round, until it has visited everyone.",
            f"Chunk {chunk} starts on rank {chunk} and reaches rank {rank} in round {(rank - chunk) % run.size}.",
        ),
    )


def _nothing_sent(run, wrong):
    if any(run.output["messages"]):
        return None
    return (
        "nothing_sent",
        f"No rank sent anything. How should rank 1 learn of chunk 0?\n{tensors(run.after)}",
        "Each round every rank sends one chunk to the right and receives one from the left.",
    )


def _tail(run, wrong):
    even, left = divmod(run.numel, run.size)
    noted = [message for messages in run.sent for message in messages if message[1] is not None]
    if left and noted and all(len(values) == even for _, _, values, _ in noted):
        return (
            "tail",
            f"{run.numel} numbers on {run.size} ranks: all your messages have {even} numbers. Who passes on the last "
            f"{left}?\n{tensors(run.after)}",
            "You have written a function for this. Where does it say chunk 0 ends?",
            f"start, end = chunk_bounds({run.numel}, {run.size})[chunk]: {run.bounds}",
        )
    return None


def _wrong_start(run, wrong):
    for rank, messages in enumerate(run.sent):
        if not messages or messages[0][1] is None or not messages[0][2]:
            continue
        chunk = run.chunk_of(messages[0])
        if chunk is not None and chunk != rank:
            return (
                "wrong_start",
                f"Round 1: rank {rank} sends chunk {chunk}, which says {numbers(messages[0][2])}. Which chunk is finished "
                f"on rank {rank}?\n{schedule(run, rank)}",
                "Reduce-scatter began one chunk further back, because its chunks end their journey at their owner. "
                "All-gather begins where they ended.",
                f"Rank {rank} owns chunk {rank}: it sends that one first, then the one that it has just received, "
                f"chunk {(rank - 1) % run.size}.",
            )
    return None


def _same_chunk(run, wrong):
    for rank, messages in enumerate(run.sent):
        if len(messages) < 2 or not messages[0][2] or len({message[1] for message in messages}) > 1:
            continue
        if messages[0][1] is not None:
            return (
                "same_chunk",
                f"Round 2: rank {rank} sends {where(run, messages[1])} again. Its right neighbour has that already; what "
                f"has it not got?\n{schedule(run, rank)}",
                "The chunk that arrived in the round before is news to the right neighbour.",
                f"Rank {rank} sends chunk {rank}, then {(rank - 1) % run.size}, then {(rank - 2) % run.size}.",
            )
    return None


def _rounds(run, wrong):
    if run.rounds is not None and 0 < run.rounds < run.size - 1:
        rank, chunk = wrong[0]
        return (
            "rounds",
            f"{run.rounds} round{'s' * (run.rounds > 1)} on {run.size} ranks: chunk {chunk} has not come to rank {rank}. "
            f"How many hops is it away?\n{tensors(run.after)}",
            f"From rank {chunk} to rank {rank} it is {(rank - chunk) % run.size} hops to the right.",
            f"The farthest rank is {run.size - 1} hops away: range(size - 1).",
        )
    return None


def _added(run, wrong):
    for rank, chunk in wrong:
        first, end = run.bounds[chunk]
        before, after = run.before[rank][first:end], run.after[rank][first:end]
        if np.array_equal(after, before + run.total[first:end]) and np.any(before):
            return (
                "added",
                f"Chunk {chunk} on rank {rank} is {numbers(after)} and should be {numbers(run.total[first:end])}. What do "
                f"the two differ by?\nbefore: {numbers(before)}\n{tensors(run.after)}",
                "The chunks are finished: nothing is left to add. What was there before is to be replaced.",
                "dist.recv(tensor[start:end], src=left) writes straight into the tensor, without a buffer and without +=.",
            )
    return None


def _stale(run, wrong):
    """A message that left before its chunk had arrived."""
    for k in range(max(map(len, run.sent))):
        for rank, messages in enumerate(run.sent):
            if k >= len(messages) or messages[k][1] is None or not messages[k][2]:
                continue
            _, offset, values, _ = messages[k]
            finished = run.total[offset : offset + len(values)]
            if not np.array_equal(np.asarray(values), finished.astype(run.after.dtype)):
                arrived = (rank - k) % run.size
                return (
                    "stale",
                    f"Round {k + 1}: rank {rank} sends {where(run, messages[k])}, which still says {numbers(values)}. Had "
                    f"it arrived when it left?\n{schedule(run, rank)}",
                    "Pass on what arrived in the round before, and only when wait() (or recv) has returned.",
                    f"In round {k + 1} rank {rank} sends chunk {arrived}: it arrived in round {k}.",
                )
    return None


def _misplaced(run, wrong):
    for rank, chunk in wrong:
        first, end = run.bounds[chunk]
        for other, (begin, stop) in enumerate(run.bounds):
            if other != chunk and stop - begin == end - first > 0:
                if np.array_equal(run.after[rank][first:end], run.total[begin:stop]):
                    return (
                        "misplaced",
                        f"Rank {rank} has chunk {other}'s numbers in the place of chunk {chunk}. Whose chunk number did "
                        f"you receive into?\n{tensors(run.after)}",
                        "The number of the chunk that arrives is the one your left neighbour sends, not the one you send.",
                        f"When rank {(rank - 1) % run.size} sends chunk c, rank {rank} receives into chunk c.",
                    )
    return None


def achieved(outcomes):
    """Bytes, messages and virtual time of the 8-rank case."""
    _, output = outcomes[-2]
    return [
        ("8 ranks, 8,000 numbers", f"{max(output['messages'])} messages a rank, {max(output['bytes']):,} B each rank"),
        ("virtual time", f"{output['time'] * 1e6:.2f} µs: as much again as the reduce-scatter"),
    ]


all_gather = Exercise("all_gather", "All-gather around the ring", 3, cases, run, verify, achieved=achieved)
