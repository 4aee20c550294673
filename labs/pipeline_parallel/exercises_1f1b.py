"""Exercise one_f_one_b: run ahead as far as needed, then one forward and one backward in turn."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Exercise, Wrong
from labs.pipeline_parallel import exercises_judge as judge
from labs.pipeline_parallel.exercises_gpipe import case, run

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)
    p, m = int(rng.integers(5, 8)), int(rng.integers(9, 14))
    return [
        case("4 stages, 7 micro-batches", 4, 7),
        case("2 stages, 5 micro-batches", 2, 5),
        case(f"{p} stages, {m} micro-batches", p, m),
        case("4 stages, 4 micro-batches", 4, 4, "edge"),
        case("fewer micro-batches than stages", 5, 3, "edge"),
        case("one micro-batch", 4, 1, "edge"),
        case("one stage", 1, 4, "edge"),
        case("8 stages, 32 micro-batches: how many activations does a rank hold?", 8, 32, "budget"),
    ]


def verify(case, output):
    p, m = case.inputs["stages"], case.inputs["micro_batches"]
    rows = judge.read(output)
    judge.check_complete(rows, p, m)
    ahead = [judge.runs_ahead(row) for row in rows]

    def wrong(hint, question, *then, marks=()):
        raise Wrong(
            hint,
            question + judge.evidence(rows),
            then=then,
            picture=lambda: judge.drawn(rows, "Your schedule", marks),
        )

    alone = [action for k in range(m) for action in (("F", k), ("B", k))]
    if p > 1 and m > 1 and all(row == alone for row in rows):
        wrong(
            "one_by_one",
            "Every rank alternates from the start. What does rank 0 do while micro-batch 0 is on its way?",
            "Rank 0 gets the first backward only after micro-batch 0 went to the last rank and came back.",
            "Before its first backward, let rank r do p - r forwards, if there are so many.",
        )
    judge.check_runs(
        rows,
        mirrored=(
            "mirrored",
            "The later a rank, the further it runs ahead. Which rank waits longest for its first backward?",
            "Rank 0: its micro-batch has the longest way to the loss and back. The last rank need not run ahead at all.",
            "p - rank forwards before the first backward: p on rank 0, one on the last rank.",
        ),
    )
    for rank, row in enumerate(rows):
        order = [micro for kind, micro in row if kind == "B"]
        if order != sorted(order):
            wrong(
                "newest_first",
                f"Rank {rank} takes the backwards in the order {order}. Which gradient arrives first?",
                "The last rank sends the gradient of micro-batch 0 first.",
                "First in, first out: the backward of the oldest micro-batch that you hold.",
                marks=[(rank, "B", order[0])],
            )
    if m > p and all(count == m for count in ahead):
        wrong(
            "gpipe_again",
            f"Every rank does all {m} forwards first: that is GPipe. When could the last rank do its first backward?",
            "Right after its first forward: there the loss is at hand.",
            "Rank r does p - r forwards; then a backward and a forward in turn; then the backwards that are left.",
        )
    time = judge.timed(rows).makespan
    most = judge.timed(rows).peaks
    allowed = [min(p - rank, m) for rank in range(p)]
    over = next((rank for rank in range(p) if most[rank] > allowed[rank]), None)
    if over is not None:
        rounds = "".join("F" * size + "B" * size for size in [p] * (m // p) + [m % p])
        if m > p and all("".join(kind for kind, _ in row) == rounds for row in rows):
            wrong(
                "rounds",
                "You work in rounds of p micro-batches and run the pipeline empty after each. What does that cost?",
                "Filling and emptying costs p - 1 slots, once for each round instead of once for the batch.",
                "After a backward, start the next forward at once, as long as there is one.",
            )
        if len(set(ahead)) == 1 and p > 1:
            wrong(
                "same_for_all",
                f"Every rank does {ahead[0]} forwards before its first backward, so the last one holds {most[-1]} "
                "activations. How many would do?",
                "The last rank can turn a micro-batch around at once. The one before it has to wait for one turn.",
                "p - rank forwards before the first backward, or all m if there are fewer.",
            )
        if all(most[rank] in (allowed[rank], allowed[rank] + 1) for rank in range(p)):
            wrong(
                "one_too_many",
                f"Rank {over} holds {most[over]} activations at once, {allowed[over]} would do. Which comes first in each "
                "pair, the forward or the backward?",
                "After p - rank forwards the memory is full: a backward has to make room before the next forward.",
                "Either p - rank forwards and then pairs of backward and forward, or p - rank - 1 forwards and then pairs of "
                "forward and backward.",
            )
        wrong(
            "holds_too_many",
            f"Rank {over} holds up to {most[over]} activations. How many must be under way to keep the others busy?",
            "As many as there are ranks from here to the loss, this one included.",
            "p - rank.",
        )
    if time > 3 * (m + p - 1) + 1e-9:
        short = next((rank for rank in range(p) if ahead[rank] < allowed[rank]), None)
        if short is not None:
            wrong(
                "too_short",
                f"Rank {short} does {ahead[short]} forwards before its first backward, and then it waits. How many could it "
                "have done meanwhile?",
                f"Your step takes {time:g}, GPipe takes {3 * (m + p - 1)}, and so can 1F1B.",
                "As many as there are ranks from here to the loss, this one included: p - rank.",
            )
        wrong(
            "slow",
            f"Your step takes {time:g}; with the same memory {3 * (m + p - 1)} is possible. Where does a rank wait without need?",
            "p - rank forwards, then a backward and a forward in turn.",
        )


def achieved(outputs):
    case, output = outputs[-1]
    p, m = case.inputs["stages"], case.inputs["micro_batches"]
    rows = judge.read(output)
    time = judge.timed(rows).makespan
    return [
        (f"{p} stages, {m} micro-batches", f"{1 - 3 * m / time:.0%} idle, as with GPipe"),
        (
            "activations held at most, by rank",
            f"{' '.join(map(str, judge.timed(rows).peaks))}; GPipe holds {m} on each",
        ),
    ]


one_f_one_b = Exercise("one_f_one_b", "One forward, one backward", 3, cases, run, verify, achieved=achieved)
