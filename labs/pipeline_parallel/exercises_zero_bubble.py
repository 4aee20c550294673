"""Exercise zero_bubble: a schedule from the literature (ZB-H1), read off its picture and put into a rule."""

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
        case("the picture: 4 stages, 4 micro-batches", 4, 4),
        case(f"the same rule for {p} stages, {m} micro-batches", p, m),
        case("one stage", 1, 3, "edge"),
        case("fewer micro-batches than stages", 5, 2, "edge"),
        case("one micro-batch", 3, 1, "edge"),
        case("8 stages, 32 micro-batches: time and memory", 8, 32, "budget"),
    ]


def delays(rows):
    """By rank, how many gradients of inputs are done at the first gradient of weights."""
    return [sum(kind == "I" for kind, _ in row[: row.index(("W", 0))]) - 1 for row in rows]


def verify(case, output):
    from labs.pipeline_parallel.simulation import simulate
    from labs.pipeline_parallel.zero_bubble import zb_h1

    p, m = case.inputs["stages"], case.inputs["micro_batches"]
    if any(type(entry) is list and entry[:1] == ["B"] for row in output["rows"] if row for entry in row):
        raise Wrong(
            "not_split",
            "There is a B in your list, but none in the picture. Into which two letters is it split?",
            then=("I is the gradient of the input, W the gradient of the weights.",),
        )
    rows = judge.read(output, "FIW")
    if m != 4 and all(len(row) == 12 for row in rows):
        raise Wrong(
            "only_the_picture",
            f"These are the picture's rows. Now there are {p} stages and {m} micro-batches: which rule do the rows of the "
            "picture follow?" + judge.evidence(rows),
            then=(
                "Without the W's it is a schedule that you know: with I for B.",
                "Rank r does the W of a micro-batch right after the I that comes r later; what is left, at the end.",
            ),
        )
    judge.check_complete(rows, p, m, "FIW")
    judge.check_runs(rows)
    timeline, right = judge.timed(rows), simulate(zb_h1(p, m))
    late, wanted = delays(rows), [min(rank, m - 1) for rank in range(p)]

    def wrong(hint, question, *then, marks=()):
        raise Wrong(
            hint,
            question + judge.evidence(rows),
            then=then,
            picture=lambda: judge.drawn(rows, "Your schedule", marks),
        )

    if late != wanted and p > 1 and m > 1:
        if not any(late):
            wrong(
                "at_once",
                "Every W stands right after its I. Does that let the rank before go on any sooner at the end?",
                "Look at rank 3 in the picture: where is its first W?",
                "Rank r puts its W off by r micro-batches.",
            )
        if all(each == m - 1 for each in late):
            wrong(
                "all_at_the_end",
                "Every rank does its W after the last I. How many activations does it hold until then?",
                "W needs the activations, so they stay. In the picture no rank holds more than 4.",
                "Rank r puts its W off by r micro-batches, not all of them to the end.",
            )
        if late == wanted[::-1]:
            wrong(
                "upside_down",
                "Rank 0 puts its W off furthest. Is the picture's first row rank 0 or the last one?",
                "The first row is rank 0: there each W follows its I at once.",
            )
        if len(set(late)) == 1:
            wrong(
                "same_for_all",
                f"Every rank puts its W off by {late[0]}. Is that so in the picture?",
                "Compare the first W of rank 0 with that of rank 3: how many I's stand before each?",
            )
        wrong(
            "other_delay",
            f"Before their first W your ranks do {', '.join(str(each + 1) for each in late)} I's. How many in the picture?",
            "On rank r, r + 1.",
        )
    if any(now > allowed for now, allowed in zip(timeline.peaks, right.peaks)):
        wrong(
            "holds_too_many",
            f"By rank, you hold up to {', '.join(map(str, timeline.peaks))} activations; the schedule of the picture needs "
            f"{', '.join(map(str, right.peaks))}. Which W comes too late?",
            "Without the W's it is 1F1B, with I for B.",
        )
    if timeline.makespan > right.makespan + 1e-9:
        wrong(
            "slow",
            f"Your step takes {timeline.makespan:g}, that of the picture takes {right.makespan:g}. Where do I's wait without need?",
            "Without the W's it is 1F1B, with I for B.",
        )
    if (p, m) == (4, 4) and rows != [[(a.kind, a.micro_batch) for a in row] for row in zb_h1(4, 4)]:
        rank = next(rank for rank in range(4) if rows[rank] != [(a.kind, a.micro_batch) for a in zb_h1(4, 4)[rank]])
        place = next(k for k, a in enumerate(zb_h1(4, 4)[rank]) if rows[rank][k] != (a.kind, a.micro_batch))
        wrong(
            "misread",
            f"It runs, and takes no longer. But it is not the one in the picture. What stands there on rank {rank} at place "
            f"{place}?",
            "Read the row from left to right, and leave out the pauses.",
            marks=[(rank, *rows[rank][place])],
        )


def achieved(outputs):
    case, output = outputs[-1]
    p, m = case.inputs["stages"], case.inputs["micro_batches"]
    timeline = judge.timed(judge.read(output, "FIW"))
    return [
        (f"{p} stages, {m} micro-batches", f"{timeline.share:.0%} idle; 1F1B {(p - 1) / (m + p - 1):.0%}"),
        ("activations held at most", f"{max(timeline.peaks)} on any rank, as with 1F1B"),
    ]


zero_bubble = Exercise("zero_bubble", "Read a schedule off its picture", 1, cases, run, verify, achieved=achieved)
