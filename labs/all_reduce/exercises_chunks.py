"""Exercise chunk_bounds: cut a tensor into one chunk for each rank, none more than one number longer than another."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 9))
    ragged = size * int(rng.integers(3, 12)) + int(rng.integers(1, size))
    sizes = [
        ("correct", 12, 4),
        ("correct", 10, 4),
        ("correct", ragged, size),
        ("edge", 0, 4),
        ("edge", 1, 4),
        ("edge", 3, 4),
        ("edge", 4, 4),
        ("edge", 5, 4),
        ("edge", 7, 1),
        ("budget", 100, 64),
        ("budget", 1_000_003, 1024),
    ]
    return [Case(_title(n, k), {"numel": n, "size": k}, part) for part, n, k in sizes]


def _title(numel, size):
    return f"{numel:,} number{'s' * (numel != 1)} on {size:,} rank{'s' * (size != 1)}"


def run(answers, inputs):
    bounds = answers[0](inputs["numel"], inputs["size"])
    return None if bounds is None else [tuple(pair) for pair in bounds]


def verify(case, output):
    numel, size = case.inputs["numel"], case.inputs["size"]
    said = _title(numel, size)
    if output is None:
        raise Wrong("nothing_returned", f"{said}: your function returned None. Does it end with `return`?")
    shown = f"yours: {_some(output)}"
    if len(output) != size:
        raise Wrong(
            "wrong_count",
            f"{said}: you made {len(output)} chunks. How many does the ring need, even when some are empty?\n{shown}",
            then=("Every rank owns exactly one chunk, so the list has `size` pairs, also for 3 numbers on 4 ranks.",),
        )
    for pair in output:
        if len(pair) != 2 or not all(isinstance(x, (int, np.integer)) for x in pair):
            raise Wrong(
                "not_a_slice",
                f"{said}: each pair should be two integers, start and end. Could you write tensor[start:end] with "
                f"{pair}?\n{shown}",
                then=("`/` gives a float even for 12 / 4; `//` gives an integer.",),
            )
    if any(end < start for start, end in output) or output[0][0] != 0:
        lengths = [end for _, end in output]
        if sum(lengths) == numel and all(pair[0] == sum(lengths[:k]) for k, pair in enumerate(output)):
            raise _lengths(said, shown)
        raise Wrong(
            "backwards",
            f"{said}: a chunk should begin at 0, and none may end before it starts. Which one breaks this?\n{shown}",
            then=("The first chunk starts at 0; each other one starts where the one before it ended.",),
        )
    lengths = [end - start for start, end in output]
    covered = sum(lengths)
    _check_cover(said, shown, numel, size, output, covered)
    want = usual_bounds(numel, size)
    if [tuple(map(int, pair)) for pair in output] == want:
        return
    longest, shortest = max(lengths), min(lengths)
    if longest - shortest > 1:
        slow = lengths.index(longest)
        far = numel - (size - 1) * (numel // size)
        if slow == size - 1 and longest == far:
            raise Wrong(
                "remainder_last",
                f"{said}: everything is covered, but rank {slow} gets {longest} of {numel} numbers and the ring waits "
                "for its slowest chunk. Where else could the remainder go?\n"
                f"{shown}\nThe same rule gives the last of 64 ranks {100 - 63 * (100 // 64)} of 100 numbers.",
                then=(
                    f"The remainder is {numel} % {size} = {numel % size}: less than one number for each rank.",
                    f"Give one more to each of the first {numel % size} chunks: {_some(want)}.",
                ),
            )
        raise Wrong(
            "uneven",
            f"{said}: the chunks have between {shortest} and {longest} numbers. How close to equal can they be?\n{shown}",
            then=(
                "Rounding up puts too much into the first chunks and leaves little or nothing for the last.",
                f"{numel} // {size} = {numel // size} for everyone, and one more for the first {numel % size}: "
                f"{_some(want)}.",
            ),
        )
    raise Wrong(
        "other_rule",
        f"{said}: as even as it can be, and a ring built on it would work. But all ranks, and the checks below, must cut "
        f"in the same places. Which chunks get one more by the usual rule?\n{shown}\nusual: {_some(want)}",
        then=("The first numel % size chunks get one more, the others none.",),
    )


def _check_cover(said, shown, numel, size, bounds, covered):
    """Raise Wrong unless the pairs cover range(numel) in order, without gap or overlap."""
    if all(end == bounds[k + 1][0] for k, (_, end) in enumerate(bounds[:-1])):
        if bounds[-1][1] == numel:
            return
        if bounds[-1][1] > numel:
            raise Wrong(
                "past_the_end",
                f"{said}: your last chunk ends at {bounds[-1][1]}, past the end. May a chunk be empty?\n{shown}",
                then=("An empty chunk, such as (3, 3), is fine: that rank sends and receives nothing in its turn.",),
            )
        raise Wrong(
            "remainder_lost",
            f"{said}: your chunks cover only {bounds[-1][1]}. The rest would never be reduced. Where should the "
            f"remainder go?\n{shown}",
            then=(
                f"{numel} = {size} * {numel // size} + {numel % size}: {numel % size} numbers are left over.",
                f"The first {numel % size} chunks get one more: {_some(usual_bounds(numel, size))}.",
            ),
        )
    if [start for start, _ in bounds] == [0, *np.cumsum([end for _, end in bounds])[:-1].tolist()] and numel:
        raise _lengths(said, shown)
    if bounds[-1][1] < numel and all(end + 1 == bounds[k + 1][0] for k, (_, end) in enumerate(bounds[:-1])):
        raise Wrong(
            "inclusive_end",
            f"{said}: does tensor[{bounds[0][0]}:{bounds[0][1]}] hold the number at {bounds[0][1]}?\n{shown}",
            then=("Python's slices leave out their end, so one chunk ends where the next one starts.",),
        )
    gap = next(k for k, (_, end) in enumerate(bounds[:-1]) if end != bounds[k + 1][0])
    raise Wrong(
        "gap",
        f"{said}: chunk {gap} ends at {bounds[gap][1]} and chunk {gap + 1} starts at {bounds[gap + 1][0]}. "
        f"What happens to the numbers in between?\n{shown}",
        then=("Keep one running position: a chunk starts there, and the position moves on by its length.",),
    )


def _lengths(said, shown):
    return Wrong(
        "start_and_length",
        f"{said}: these look like start and length. What does tensor[start:end] want as its second number?\n{shown}",
        then=("A slice wants the end: start + length.",),
    )


def usual_bounds(numel, size):
    """The usual rule, found by dealing numbers out like cards: chunk k gets as many as there are k, k + size, ..."""
    lengths = [len(range(k, numel, size)) for k in range(size)]
    ends = np.cumsum(lengths).tolist()
    return [(end - length, end) for end, length in zip(ends, lengths)]


def _some(bounds, most=8):
    text = ", ".join(f"({', '.join(map(str, pair))})" for pair in bounds[:most])
    return f"[{text}{', ...' if len(bounds) > most else ''}]"


chunk_bounds = Exercise("chunk_bounds", "Cut it into chunks", 3, cases, run, verify)
