"""Exercise tree: the all-reduce as a binomial tree writes it, up to rank 0 and down again."""

from __future__ import annotations

import numpy as np

from labs.all_reduce.exercises_failures import explain_failure
from labs.all_reduce.exercises_ring import digits
from labs.all_reduce.exercises_run import in_place, inputs, no_library, ran
from labs.all_reduce.exercises_words import amount, numbers, tensors, timeline_of
from labs.all_reduce.watched import run
from labs.kit.exercise import Case, Exercise, Wrong

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)

    def some(size, numel, most=999):
        return rng.integers(-most, most + 1, size=(size, numel))

    found = [
        Case("4 ranks with 1, 10, 100, 1000", inputs(digits(4, 2))),
        Case("2 ranks, 5 numbers", inputs(some(2, 5))),
        Case("8 ranks with 1, 10, ..., 10,000,000", inputs(digits(8, 1), "float64")),
        Case("1 rank: nothing to send", inputs(some(1, 5)), "edge"),
    ]
    found += [Case(f"{n} ranks: not a power of two", inputs(digits(n, 3)), "edge") for n in (3, 5, 6, 7)]
    found += [
        Case("4 ranks, 0 numbers", inputs(some(4, 0)), "edge"),
        Case("float64, exact beyond what float32 can hold", inputs(some(4, 3, 2**50), "float64"), "edge"),
        Case("8 ranks, 1,000 numbers: messages and time", inputs(some(8, 1000)), "budget"),
        Case("6 ranks, 1,000 numbers: messages and time", inputs(some(6, 1000)), "budget"),
    ]
    return found


def verify(case, output):
    size = len(case.inputs["values"])
    explain_failure(case, output, tree=True)
    run = ran(case, output)
    no_library(run, "a tree", "Round 1 up: every odd rank r sends its tensor to rank r - 1, which adds it.")
    good = [np.array_equal(row, run.total.astype(run.after.dtype)) for row in run.after]
    if not all(good):
        in_place(run, lambda rank: (slice(0, run.numel), run.total))
        raise _explain(run, good)
    if case.part == "budget":
        _budget(case, run, size)


def _explain(run, good):
    size, shown = run.size, tensors(run.after, 8)
    wrong = good.index(False)
    if not any(run.output["messages"]):
        return Wrong(
            "nothing_sent",
            f"No rank sent anything. How should rank 0 learn of rank 1's numbers?\n{shown}",
            then=("Round 1 up: every odd rank sends to the even rank on its left.",),
        )
    if good[0]:
        return Wrong(
            "root_only" if not any(good[1:]) else "not_everyone",
            f"Rank 0 has the sum, and rank {wrong} still holds {numbers(run.after[wrong])}. How does the sum come down?\n{shown}",
            then=(
                "The same tree backwards: whoever received last sends first.",
                "Halve the distance each round: 0 sends to size/2, then 0 and size/2 send on, ...; for other sizes begin "
                "with the largest power of two below size and skip partners that do not exist.",
            ),
        )
    if np.array_equal(run.after[0] * size, run.total) and size > 1:
        return Wrong("averaged", f"Rank 0 holds a {size}th of the sum. Who asked for the mean?\n{shown}")
    summed = [str(int(x)) for x in run.after[0]] if run.numel else []
    if any(set(text) - {"0", "1"} for text in summed) and all(set(str(int(x))) <= {"0", "1"} for x in run.total):
        return Wrong(
            "twice",
            f"Rank 0 ends with {numbers(run.after[0])}. Whose numbers are in it twice?\n{shown}",
            then=(
                "A rank that has sent its sum up is done: it neither sends nor adds again on the way up.",
                "Round with distance d: rank r sends when r % (2 d) == d, receives when r % (2 d) == 0.",
            ),
        )
    if size & (size - 1):
        return Wrong(
            "power_of_two",
            f"{size} ranks: rank 0 ends with {numbers(run.after[0])}. Which ranks found no partner?\n{shown}",
            then=(
                f"Draw {size} ranks in a row. In round k the distance is 2^k, and a rank whose partner would be {size} "
                "or more has a free round.",
                f"{(size - 1).bit_length()} rounds are needed: log2 {size}, rounded up.",
            ),
        )
    return Wrong(
        "missing",
        f"Rank 0 ends with {numbers(run.after[0])} and should have {numbers(run.total)}. Whose numbers did not come up?\n"
        f"{shown}",
        then=(
            "After round 1 every even rank holds a sum of two, after round 2 every fourth rank a sum of four. Where does "
            "yours first differ?",
            "On 4 ranks: round 1, 1 sends to 0 and 3 to 2; round 2, 2 sends to 0. Each receiver adds what it gets.",
        ),
    )


def _budget(case, run, size):
    output, nbytes = run.output, run.numel * run.after.dtype.itemsize
    rounds = (size - 1).bit_length()
    sent = sum(output["messages"])
    one = case.inputs["latency"] + nbytes / case.inputs["bandwidth"]
    bound = 2 * rounds * one
    late = output["time"] > bound * (1 + 1e-9)
    if late:
        at_root = sum(1 for rank, kind, *_ in output["events"] if rank == 0 and kind in ("send", "recv"))
        measured = f"{output['time'] * 1e6:.2f} µs; a tree needs 2 x {rounds} rounds of {one * 1e6:.2f} µs: {bound * 1e6:.2f} µs"
        if at_root >= 2 * (size - 1):
            raise Wrong(
                "star",
                f"Rank 0 talks to each of the {size - 1} others itself, one after another. Who could add in the "
                f"meantime?\n{measured}",
                picture=timeline_of(output),
                then=(
                    "Ranks 2 and 3 can add while 0 and 1 do: every second rank hands over to its neighbour.",
                    "Distances 1, 2, 4, ...: each round halves the ranks that still hold a sum of their own.",
                ),
            )
        raise Wrong(
            "deep",
            f"Right, but the last rank hears after {output['time'] / one:.3g} messages in a row. How deep is a tree of "
            f"{size} ranks?\n{measured}",
            picture=timeline_of(output),
            then=(
                "If each rank waits for the one before it, the tree is a line. In each round half of those that are left "
                "should be busy.",
                f"Distances 1, 2, 4, ...: {rounds} rounds up and {rounds} down.",
            ),
        )
    if sent > 2 * (size - 1):
        raise Wrong(
            "more_than_a_tree",
            f"Right, and in time. But {sent} messages went around, and a tree has {size - 1} edges. What did you build?\n"
            f"up and down: {2 * (size - 1)} messages of {amount(nbytes)}",
            then=(
                "If all ranks exchange in every round, that is recursive doubling: half the rounds, because sums need not "
                "come down, and more messages. A good algorithm, with another name.",
                "On the way up only one of two partners sends.",
            ),
        )


def achieved(outcomes):
    """Messages and virtual time of the last two cases."""
    return [
        (case.title.partition(",")[0], f"{sum(output['messages'])} messages in {output['time'] * 1e6:.1f} µs")
        for case, output in outcomes[-2:]
    ]


tree = Exercise("tree", "All-reduce as a tree", 2, cases, run, verify, core=False, achieved=achieved)
