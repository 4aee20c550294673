"""Exercise gpipe: all forwards, then all backwards, as a list for one rank."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong
from labs.pipeline_parallel import exercises_judge as judge

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def case(title, stages, micro_batches, part="correct"):
    """A case of an exercise that schedules one stage on each rank."""
    return Case(title, {"stages": int(stages), "micro_batches": int(micro_batches)}, part)


def cases(seed):
    rng = np.random.default_rng(seed)
    p, m = int(rng.integers(5, 8)), int(rng.integers(9, 14))
    return [
        case("3 stages, 5 micro-batches", 3, 5),
        case("2 stages, 8 micro-batches", 2, 8),
        case(f"{p} stages, {m} micro-batches", p, m),
        case("4 stages, 4 micro-batches", 4, 4, "edge"),
        case("one stage", 1, 4, "edge"),
        case("one micro-batch: nothing to overlap", 4, 1, "edge"),
        case("fewer micro-batches than stages", 5, 2, "edge"),
        case("8 stages, 24 micro-batches: how much bubble?", 8, 24, "budget"),
    ]


def run(answers, inputs):
    """Ask the answer for the schedule of every rank; exercises with one stage on each rank share this."""
    rows = []
    for rank in range(inputs["stages"]):
        row = answers[0](rank, inputs["stages"], inputs["micro_batches"])
        rows.append(None if row is None else [list(entry) if isinstance(entry, tuple) else entry for entry in row])
    return {"rows": rows}


def verify(case, output):
    p, m = case.inputs["stages"], case.inputs["micro_batches"]
    rows = judge.read(output)
    judge.check_complete(rows, p, m)
    alone = [action for k in range(m) for action in (("F", k), ("B", k))]
    if m > 1 and all(row == alone for row in rows):
        raise Wrong(
            "one_by_one",
            "Every micro-batch goes forward and back before the next one starts. How many ranks work at a time?"
            + judge.evidence(rows),
            picture=lambda: judge.drawn(rows, "One micro-batch at a time"),
            then=(
                "Rank 0 waits for the backward of micro-batch 0 to come all the way back.",
                "First all forwards, then all backwards: two loops, one after the other.",
            ),
        )
    judge.check_runs(rows)
    for rank, row in enumerate(rows):
        early = next((action for action in row[:m] if action[0] == "B"), None)
        if early:
            raise Wrong(
                "early_backward",
                f"Rank {rank} begins the backward of micro-batch {early[1]} before its last forward. Which schedule is "
                f"that?{judge.evidence(rows)}",
                picture=lambda rank=rank, early=early: judge.drawn(rows, "Your schedule", [(rank, *early)]),
                then=("It runs, and you will need it soon. But GPipe does all forwards first, on every rank.",),
            )
    for kind, name in (("F", "forward"), ("B", "backward")):
        orders = [[micro for each, micro in row if each == kind] for row in rows]
        rank = next((rank for rank, order in enumerate(orders) if order != orders[0]), None)
        if rank is not None:
            first = next(micro for micro, other in zip(orders[rank], orders[0]) if micro != other)
            raise Wrong(
                "order_differs",
                f"Rank 0 goes {name} in the order {orders[0]}, rank {rank} in the order {orders[rank]}. Who waits for "
                f"whom?{judge.evidence(rows)}",
                picture=lambda mark=(rank, kind, first): judge.drawn(rows, "Your schedule", [mark]),
                then=(
                    "What leaves a rank first should be what the next one expects first.",
                    "The same order on every rank: range(micro_batches).",
                ),
            )
    time = judge.timed(rows).makespan
    if time > 3 * (m + p - 1) + 1e-9:
        raise Wrong(
            "slow",
            f"Your step takes {time:g}, GPipe's takes {3 * (m + p - 1)}. Where does a rank wait without need?"
            + judge.evidence(rows),
            picture=lambda: judge.drawn(rows, "Your schedule"),
            then=("Each rank: the forwards in one order, then the backwards in one order.",),
        )


def achieved(outputs):
    case, output = outputs[-1]
    p, m = case.inputs["stages"], case.inputs["micro_batches"]
    rows = judge.read(output)
    time = judge.timed(rows).makespan
    return [
        (f"{p} stages, {m} micro-batches", f"{1 - 3 * m / time:.0%} idle; unsplit it would be {1 - 1 / p:.0%}"),
        ("activations that a rank holds at most", f"{max(judge.timed(rows).peaks)}"),
    ]


gpipe = Exercise("gpipe", "All forwards, then all backwards", 3, cases, run, verify, achieved=achieved)
