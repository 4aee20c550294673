"""Exercise interleave: several thin stages on each rank, so that the pipeline fills sooner."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong
from labs.pipeline_parallel import exercises_judge as judge

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def case(title, ranks, chunks, micro_batches, part="correct"):
    """A case with some stages on each rank."""
    return Case(title, {"ranks": int(ranks), "chunks": int(chunks), "micro_batches": int(micro_batches)}, part)


def cases(seed):
    rng = np.random.default_rng(seed)
    p, v = int(rng.integers(3, 6)), int(rng.integers(3, 5))
    return [
        case("4 ranks with 2 stages each, 4 micro-batches", 4, 2, 4),
        case("2 ranks with 3 stages each, 6 micro-batches", 2, 3, 6),
        case(f"{p} ranks with {v} stages each, {2 * p} micro-batches", p, v, 2 * p),
        case("one stage on each rank", 3, 1, 5, "edge"),
        case("one rank", 1, 3, 2, "edge"),
        case("micro-batches that do not divide by the ranks", 3, 2, 5, "edge"),
        case("fewer micro-batches than ranks: only right, not quick", 4, 2, 2, "edge"),
        case("8 ranks with 4 stages each, 16 micro-batches: how much bubble?", 8, 4, 16, "budget"),
    ]


def run(answers, inputs):
    rows = []
    for rank in range(inputs["ranks"]):
        row = answers[0](rank, inputs["ranks"], inputs["chunks"], inputs["micro_batches"])
        rows.append(None if row is None else [list(entry) if isinstance(entry, tuple) else entry for entry in row])
    return {"rows": rows}


def verify(case, output):
    p, v, m = (case.inputs[name] for name in ("ranks", "chunks", "micro_batches"))
    rows = judge.read(output, whole=True)

    def wrong(hint, question, *then, draw=True):
        picture = (lambda: judge.drawn(rows, "Your schedule")) if draw else (lambda: judge.listed(rows))
        raise Wrong(hint, question + judge.evidence(rows), then=then, picture=picture)

    own = [sorted({stage for _, stage, _ in row}) for row in rows]
    right = [[rank + chunk * p for chunk in range(v)] for rank in range(p)]
    if own != right:
        if own == [[rank * v + chunk for chunk in range(v)] for rank in range(p)]:
            wrong(
                "neighbours",
                f"Rank 0 has the stages {own[0]}, one after the other. When does rank 1 get its first work?",
                "After all of rank 0's stages: then nothing is gained against thick stages.",
                "Deal them out like cards: stage s lies on rank s % ranks, so rank r has r, r + ranks, r + 2 * ranks, ...",
                draw=False,
            )
        if v > 1 and all(stages == list(range(v)) for stages in own):
            wrong(
                "local_numbers",
                "Every rank says stages 0, 1, ... Which stage of the whole model is that?",
                "A stage has one number for all: chunk c of rank r is stage r + c * ranks.",
                draw=False,
            )
        if v > 1 and own == [[rank] for rank in range(p)]:
            wrong(
                "one_stage_each",
                f"Every rank uses one stage. There are {p * v} in all: who computes the others?",
                draw=False,
            )
        wrong(
            "wrong_stages",
            f"Rank 0 has the stages {own[0]}. Which should it have?",
            f"{right[0]}: chunk c of rank r is stage r + c * ranks.",
            draw=False,
        )
    for rank, row in enumerate(rows):
        every = [(kind, stage, k) for kind in "FB" for stage in right[rank] for k in range(m)]
        missing = next((action for action in every if action not in row), None)
        if missing:
            kind, stage, k = missing
            wrong(
                "missing",
                f"Rank {rank} never computes the {judge.WORDS[kind]} of micro-batch {k} on stage {stage}. Who waits for it?",
                f"Every rank has {2 * v * m} actions: forward and backward, {v} stages, {m} micro-batches. Yours has {len(row)}.",
                draw=False,
            )
        if len(row) > len(every):
            wrong(
                "twice", f"Rank {rank} has {len(row)} actions, {len(every)} would do. Which are too many?", draw=False
            )
    for rank, row in enumerate(rows):
        for stage in right[rank]:
            if any(row.index(("B", stage, k)) < row.index(("F", stage, k)) for k in range(m)):
                wrong(
                    "backward_first",
                    f"Rank {rank} has a backward before its forward, on stage {stage}. Which?",
                    draw=False,
                )
    order = [stage for kind, stage, _ in rows[-1] if kind == "B"]
    if judge.timed(rows).stuck and v > 1 and order == sorted(order):
        wrong(
            "first_stage_first",
            f"Backward begins on stage {order[0]} of the last rank. Where does backward begin?",
            "At the loss, that is on the last stage of all.",
            "Backward goes through the chunks in reverse: for chunk in reversed(range(chunks)).",
        )
    judge.check_runs(rows)
    timeline = judge.timed(rows)
    ideal = 3 * (v * m + p - 1)
    if m >= p and m % p == 0 and timeline.makespan > ideal + 1e-9:
        first = [stage for kind, stage, _ in rows[0] if kind == "F"]
        if v > 1 and first[: v * 2] == right[0] * 2:
            wrong(
                "depth_first",
                f"Rank 0 takes micro-batch 0 through stage {right[0][0]} and then wants to take it through stage {right[0][1]}. "
                "Where is micro-batch 0 then?",
                f"On its way through the other ranks. Meanwhile rank 0 could do the next micro-batches on stage {right[0][0]}.",
                "Take at least p micro-batches through the first stage before you begin with the second.",
            )
        if all(row[k][0] != row[k + 1][0] for row in rows for k in range(len(row) - 1)):
            wrong("one_by_one", "Forward and backward in turn from the start: how many ranks work at a time?")
        wrong(
            "bubble",
            f"Your step takes {timeline.makespan:g}, it could take {ideal:g}: {timeline.share:.0%} idle instead of "
            f"{(p - 1) / (v * m + p - 1):.0%}. Who waits where?",
            "p micro-batches on the first stage, then the same on the second, ...; then the next p, or all m at once.",
            "All forwards: for chunk in range(chunks): for k in range(m). Then all backwards, the chunks in reverse.",
        )


def achieved(outputs):
    case, output = outputs[-1]
    p, v, m = (case.inputs[name] for name in ("ranks", "chunks", "micro_batches"))
    timeline = judge.timed(judge.read(output, whole=True))
    return [
        (
            f"{p} ranks with {v} stages each, {m} micro-batches",
            f"{timeline.share:.1%} idle; with one thick stage each {(p - 1) / (m + p - 1):.1%}",
        ),
        (
            "activations held at most",
            f"{max(timeline.peaks)} thin ones, as large as {max(timeline.peaks) / v:g} thick ones",
        ),
    ]


interleave = Exercise("interleave", "Interleave thin stages", 1.5, cases, run, verify, core=False, achieved=achieved)
