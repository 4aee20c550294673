"""Exercise reduce_scatter: after size - 1 rounds around the ring, rank r owns the sum of chunk r."""

from __future__ import annotations

import numpy as np

from labs.all_reduce.exercises_failures import explain_failure
from labs.all_reduce.exercises_run import RING_STEP, in_place, inputs, no_library, ran, ring_budgets
from labs.all_reduce.exercises_words import numbers, picture, schedule, span, tensors, where
from labs.all_reduce.watched import run
from labs.kit.exercise import Case, Exercise, Wrong

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def digits(size, numel):
    """Rank r starts with 10^r everywhere: the digits of a sum say whose numbers are in it."""
    return np.repeat(10 ** np.arange(size, dtype=np.int64)[:, None], numel, axis=1)


def cases(seed):
    rng = np.random.default_rng(seed)

    def some(size, numel, most=999):
        return rng.integers(-most, most + 1, size=(size, numel))

    size = int(rng.integers(5, 8))
    ragged = size * int(rng.integers(2, 5)) + int(rng.integers(1, size))
    found = [
        Case("4 ranks with 1, 10, 100, 1000 in every chunk", inputs(digits(4, 4))),
        Case("3 ranks, 12 numbers", inputs(some(3, 12))),
        Case(f"{size} ranks, {ragged} numbers: the chunks are not equal", inputs(some(size, ragged))),
        Case("2 ranks, 6 numbers", inputs(some(2, 6))),
        Case("1 rank: nothing to send", inputs(some(1, 5)), "edge"),
    ]
    found += [
        Case(f"4 ranks, {n} number{'s' * (n != 1)}", inputs(some(4, n).reshape(4, n)), "edge") for n in (0, 1, 3, 4, 5)
    ]
    found += [
        Case("float64, exact beyond what float32 can hold", inputs(some(4, 10, 2**50), "float64"), "edge"),
        Case("int64", inputs(some(3, 10, 2**50), "int64"), "edge"),
        Case("8 ranks, 8,000 numbers: bytes, messages and time", inputs(some(8, 8000)), "budget"),
        Case("5 ranks, 10,003 numbers: bytes, messages and time", inputs(some(5, 10_003)), "budget"),
    ]
    return found


def verify(case, output):
    explain_failure(case, output)
    run = ran(case, output)
    no_library(run, "reduce-scatter", RING_STEP)
    wrong = [
        rank
        for rank, (start, end) in enumerate(run.bounds)
        if not np.array_equal(run.after[rank][start:end], run.total[start:end].astype(run.after.dtype))
    ]
    if wrong:
        in_place(run, lambda rank: (slice(*run.bounds[rank]), run.total[slice(*run.bounds[rank])]))
        raise _explain(run, wrong)
    ring_budgets(case, run, "reduce-scatter")


def _explain(run, wrong):
    """The misconception that a wrong result shows, as a Wrong."""
    look = picture(run, [(rank, rank) for rank in wrong], "After your reduce-scatter")
    for find in (_nothing_sent, _averaged, _owner, _tail, direction, _rounds, _same_chunk, _round_by_round):
        if found := find(run, wrong):
            hint, message, *then = found
            return Wrong(hint, message, picture=look, then=then)
    rank = wrong[0]
    start, end = run.bounds[rank]
    return Wrong(
        "sum",
        f"Rank {rank}'s chunk {rank} should be {numbers(run.total[start:end])} and is "
        f"{numbers(run.after[rank][start:end])}. Whose numbers are missing, whose are in it twice?\n{tensors(run.after)}",
        picture=look,
        then=(
            "Follow one chunk on paper: which rank adds to it first, which last?",
            f"Chunk {rank} starts at rank {(rank + 1) % run.size} and visits every rank once; rank {rank} is last.",
        ),
    )


def _nothing_sent(run, wrong):
    if run.numel and not any(run.output["messages"]):
        return (
            "nothing_sent",
            f"No rank sent anything. How should rank 0 learn of the others' numbers?\n{tensors(run.after)}",
            "Each round every rank sends one chunk to the right and receives one from the left.",
        )
    return None


def _averaged(run, wrong):
    own = [run.after[rank][slice(*run.bounds[rank])] for rank in range(run.size)]
    sums = [run.total[slice(*span)] for span in run.bounds]
    if all(np.allclose(mine * run.size, total) for mine, total in zip(own, sums)):
        rank = wrong[0]
        return (
            "averaged",
            f"Rank {rank} holds {numbers(own[rank])}, a {run.size}th of {numbers(sums[rank])}. Who asked for the mean?\n"
            "reduce-scatter sums; DistributedDataParallel divides afterwards, in its own code",
            "Leave the division out: whoever wants a mean divides when the sum is there.",
        )
    return None


def _owner(run, wrong):
    if run.numel < run.size:
        return None
    for shift in range(1, run.size):
        there = [(rank + shift) % run.size for rank in range(run.size)]
        if all(
            np.array_equal(run.after[rank][slice(*run.bounds[chunk])], run.total[slice(*run.bounds[chunk])])
            for rank, chunk in enumerate(there)
        ):
            return (
                "owner",
                f"Every sum is complete, but rank 0 has chunk {shift}'s. Which chunk must rank 0 send first to end with "
                f"chunk 0's?\n{tensors(run.after)}",
                "A chunk ends where its journey ends. Count back size - 1 hops from rank 0.",
                f"Chunk 0 ends on rank 0, so it starts on rank 1: rank r begins by sending chunk r - 1 (rank 0 sends "
                f"chunk {run.size - 1}).",
            )
    return None


def _tail(run, wrong):
    even = run.numel // run.size
    noted = [message for messages in run.sent for message in messages if message[1] is not None]
    if run.numel % run.size and noted and all(len(values) == even for _, _, values, _ in noted):
        left = run.numel % run.size
        return (
            "tail",
            f"{run.numel} numbers on {run.size} ranks: all your messages have {even} numbers. Who sums the last {left}?\n"
            f"{tensors(run.after)}",
            "You have written a function for this. Where does it say chunk 0 ends?",
            f"start, end = chunk_bounds({run.numel}, {run.size})[chunk]: {run.bounds}",
        )
    return None


def direction(run, wrong):
    """All messages to the left, with chunk numbers that belong to a ring to the right."""
    aims = {
        (dst - rank) % run.size for rank, messages in enumerate(run.sent) for dst, *_ in messages if dst is not None
    }
    if run.size > 2 and aims == {run.size - 1}:
        return (
            "direction",
            "Every message goes to the left neighbour, while the chunk numbers count for the right one. Which way does "
            f"your ring turn?\nrank 1 sends to rank {run.sent[1][0][0]}\n{tensors(run.after)}",
            "right = (rank + 1) % size, left = (rank - 1) % size: send to the right, receive from the left.",
        )
    return None


def _rounds(run, wrong):
    if run.rounds is not None and 0 < run.rounds < run.size - 1:
        rank = wrong[0]
        start, end = run.bounds[rank]
        return (
            "rounds",
            f"{run.rounds} round{'s' * (run.rounds > 1)} on {run.size} ranks: chunk {rank} on rank {rank} is "
            f"{numbers(run.after[rank][start:end])}. Whose numbers had no time to arrive?\n{tensors(run.after)}",
            "A chunk has to meet every rank. How many hops is that?",
            f"{run.size} ranks are {run.size - 1} hops apart: range(size - 1) gives {run.size - 1} rounds.",
        )
    return None


def _same_chunk(run, wrong):
    for rank, messages in enumerate(run.sent):
        offsets = {message[1] for message in messages}
        if len(messages) < 2 or len(offsets) > 1 or offsets == {None} or not messages[0][2]:
            continue
        chunk = run.chunk_of(messages[0])
        named = f"chunk {chunk}" if chunk is not None else "the same numbers"
        value = numbers(messages[1][2])
        own = numbers(run.before[rank][messages[1][1] :][: len(messages[1][2])])
        said = f"it still says {value}" if value == own else f"which now says {value}"
        return (
            "same_chunk",
            f"Round 2: rank {rank} passed on {named} again and {said}. What should it have passed on?\n"
            + schedule(run, rank),
            "The chunk that it has just added to: only that one has news.",
            _worked(run, rank),
        )
    return None


def _round_by_round(run, wrong):
    """The first round and rank where what was sent, what was added and what was passed on do not fit together."""
    if run.rounds is None:
        return None
    for k in range(run.rounds):
        for rank in range(run.size):
            arrived = [
                (left, messages[k])
                for left, messages in enumerate(run.sent)
                if messages[k][0] == rank and messages[k][2]
            ]
            if len(arrived) == 1 and (found := _one_round(run, k, rank, *arrived[0])):
                return found
    return None


def _one_round(run, k, rank, left, message):
    values = np.asarray(message[2])
    old, new = np.asarray(run.state(rank, k)), np.asarray(run.state(rank, k + 1))
    changed = np.flatnonzero(old != new)
    seen = f"round {k + 1}: rank {left} sent {numbers(values)}; rank {rank} had {numbers(old)}, now {numbers(new)}"
    sent_chunk = run.chunk_of(message)
    if not len(changed) and np.any(values):
        return (
            "not_added",
            f"Round {k + 1}: {numbers(values)} arrived at rank {rank}, and nothing changed there. Was it added, and only "
            f"after it had arrived?\n{seen}",
            "irecv returns at once: before wait() the buffer holds whatever it held before.",
            "work = dist.irecv(buffer, src=left); ...; work.wait(); then tensor[start:end] += buffer.",
        )
    if not len(changed):
        return None
    first, last = changed[0], changed[-1] + 1
    if last - first == len(values):
        if np.array_equal(new[first:last], values):
            return (
                "overwritten",
                f"Round {k + 1}: {span(run, first, last)} on rank {rank} is {numbers(new[first:last])} now. Whose "
                f"numbers are gone?\n{seen}",
                "Receiving overwrites. Where could the message land first?",
                "buffer = torch.empty_like(chunk); receive into buffer; then chunk += buffer.",
            )
        added = new[first:last] - old[first:last]
        if not np.array_equal(added, values):
            return (
                "buffer_reused",
                f"Round {k + 1}: rank {left} handed {numbers(values)} to send, but {numbers(added)} was added on rank "
                f"{rank}. What happened to the buffer between isend and wait?\n{seen}",
                "A message is not gone when isend returns: until wait() the buffer belongs to it. Nothing may be written "
                "there.",
                "Use two buffers: send from the chunk itself, receive into a buffer of its own.",
            )
        if sent_chunk is not None and (first, last) != tuple(run.bounds[sent_chunk]):
            return (
                "misplaced",
                f"Round {k + 1}: rank {left} sent its chunk {sent_chunk}. To which chunk did rank {rank} add it?\n{seen}",
                "What you receive is the chunk that your left neighbour sends in this round: its number, not yours.",
                f"If rank r sends chunk c, rank r + 1 adds to chunk c. Here: {span(run, *run.bounds[sent_chunk])}.",
            )
    following = run.sent[rank][k + 1] if k + 1 < len(run.sent[rank]) else None
    if following is not None and following[1] is not None and len(following[2]) and following[1] != first:
        return (
            "wrong_next",
            f"Round {k + 2}: rank {rank} passed on {where(run, following)}, which "
            f"says {numbers(following[2])}. What had it just added to?\n{schedule(run, rank)}",
            "In each round pass on exactly the chunk that you added to in the round before.",
            _worked(run, rank),
        )
    return None


def _worked(run, rank):
    steps = [
        f"round {k + 1}: send chunk {(rank - 1 - k) % run.size}, add to chunk {(rank - 2 - k) % run.size}"
        for k in range(run.size - 1)
    ]
    return f"Rank {rank}: " + "; ".join(steps) + "."


def achieved(outcomes):
    """Bytes, messages and virtual time of the largest case against what the ring needs."""
    case, output = outcomes[-2]
    size, numel = case.inputs["values"].shape
    chunk = numel // size * 4
    bound = (size - 1) * (case.inputs["latency"] + chunk / case.inputs["bandwidth"])
    return [
        (
            f"{size} ranks, {numel:,} numbers",
            f"{max(output['messages'])} messages a rank, {max(output['bytes']):,} B each",
        ),
        ("virtual time", f"{output['time'] * 1e6:.2f} µs; the ring needs {bound * 1e6:.2f} µs"),
    ]


reduce_scatter = Exercise("reduce_scatter", "Reduce-scatter around the ring", 3, cases, run, verify, achieved=achieved)
