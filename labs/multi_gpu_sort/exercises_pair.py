"""Exercise sort_pair: sort the keys of two ranks, and move no key that may stay."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, completed, short

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, keys, part="correct", dtype="float32"):
        return Case(title, {"keys": np.asarray(keys, dtype), "dtype": dtype}, part)

    reverse = np.arange(16, 0, -1)
    far = np.finfo("float32").max
    return [
        case("2 x 8 keys", _mixed(rng)),
        case("2 x 6 keys with many ties", rng.integers(0, 4, (2, 6))),
        case("reverse order: all keys change sides", reverse.reshape(2, 8)),
        case("sorted already", np.arange(12).reshape(2, 6)),
        case("2 x 57 keys", rng.standard_normal((2, 57))),
        case("no keys", np.zeros((2, 0)), "edge"),
        case("one key each, the wrong way round", [[2], [1]], "edge"),
        case("one key each, in order", [[1], [2]], "edge"),
        case("infinities and the largest finite numbers", [[np.inf, far, 0, -far], [-np.inf, np.inf, 1, far]], "edge"),
        case("int64, beyond what float32 can tell apart", rng.integers(0, 3, (2, 5)) + 2**40, "edge", "int64"),
        case("one rank alone", rng.permutation(7).reshape(1, 7), "edge"),
        case("2 x 5,000 random keys: bytes", rng.standard_normal((2, 5000)), "budget"),
        case("2 x 5,000 keys, sorted already: bytes", np.sort(rng.standard_normal(10_000)).reshape(2, 5000), "budget"),
        case("2 x 5,000 equal keys: bytes", np.ones((2, 5000)), "budget"),
        case("2 x 5,000 keys in reverse order: bytes", np.arange(10_000, 0, -1).reshape(2, 5000), "budget"),
    ]


def _mixed(rng):
    """2 x 8 keys, 3 of which have to swap (half of them would hide which end); afterwards both ranks must merge."""
    while True:
        small, large = rng.permutation(8), 8 + rng.permutation(8)
        keys = np.array([rng.permutation([*small[:5], *large[:3]]), rng.permutation([*small[5:], *large[3:]])])
        if not any(_sorted_after_the_swap(keys, rank) for rank in (0, 1)):
            return keys


def run(answers, inputs):
    import torch

    from labs.kit.hardware import uniform
    from labs.kit.ranks import outcome

    keys = inputs["keys"]
    rows = [torch.from_numpy(row.copy()) for row in keys]
    return outcome(answers[0], len(rows), args=lambda rank: (rows[rank],), topology=uniform(len(rows)))


def pivot(keys):
    """How many keys must change sides: those of the smaller half of the whole that rank 1 holds, ties left alone."""
    a, b = np.sort(keys[0]), np.sort(keys[1])
    return next((p for p in range(len(a)) if a[len(a) - p - 1] <= b[p]), len(a))


def verify(case, output):
    completed(
        output,
        deadlock=(
            "deadlock",
            "Both ranks wait for each other, and nothing moves. Which of them could receive first?",
            "A send ends when its receiver is there. isend starts a message and goes on.",
            "handle = dist.isend(mine, dst=other); dist.recv(theirs, src=other); handle.wait()",
        ),
        mismatch=(
            "lengths",
            "One rank sends more keys than the other makes room for. Do both know the same pivot?",
            "Both must give away equally many keys. Let both compute the pivot from the same two keys in every step.",
        ),
    )
    keys = case.inputs["keys"]
    parts = [np.asarray(part) if part is not None else None for part in output["results"]]
    shown = "\n".join(
        f"rank {rank} got {short(row)} and returned {short(part)}" for rank, (row, part) in enumerate(zip(keys, parts))
    )

    def wrong(hint, question, *then, picture=None):
        raise Wrong(hint, f"{question}\n{shown}", picture=picture, then=then)

    if any(part is None or part.ndim != 1 for part in parts):
        wrong("nothing_returned", "What is a rank left with? Return its sorted keys, a tensor with one dimension.")
    if any(part.dtype != keys.dtype for part in parts):
        wrong(
            "dtype",
            f"The keys came as {keys.dtype}. What are they now?",
            "torch.empty(n) is float32; torch.empty_like(mine) is like mine.",
        )
    _same_keys(keys, parts, wrong)
    if any(len(part) != keys.shape[1] for part in parts):
        wrong(
            "sizes", f"Each rank brought {keys.shape[1]} keys. Why does one leave with {max(map(len, parts))}?",
            "A swap is fair: p keys go, p keys come.",
        )  # fmt: skip
    whole = np.sort(keys, axis=None)
    halves = np.split(whole, len(keys))
    look = _after(keys, parts)
    if len(keys) == 2 and not all(np.array_equal(np.sort(part), half) for part, half in zip(parts, halves)):
        if np.array_equal(np.sort(parts[0]), halves[1]) and np.array_equal(np.sort(parts[1]), halves[0]):
            wrong(
                "reversed", "Rank 0 holds the larger half. Which end of its keys did it give away?",
                "Rank 0 gives its LAST p keys, the largest, for the FIRST p of rank 1, the smallest.", picture=look,
            )  # fmt: skip
        if not any(output["bytes"]):
            wrong("nothing_sent", "No rank sent anything. Where are the smallest keys of all?", picture=look)
        a, b = (np.sort(row) for row in keys)
        p, n = pivot(keys), keys.shape[1]
        if np.array_equal(np.sort(parts[0]), np.sort(np.concatenate([a[p:], b[n - p :]]))):
            wrong(
                "wrong_end", "Rank 0 gave away its smallest keys. Which of its keys belong to rank 1?",
                "After a sort the largest are at the end.",
                f"keys[n - p:] on rank 0, keys[:p] on rank 1; here p = {p}.", picture=look,
            )  # fmt: skip
        moved = int((~np.isin(parts[1], b)).sum())
        wrong(
            "pivot", f"The right number of keys to swap is {p}. How many changed sides with you?"
            if len(np.unique(keys)) < keys.size else f"{p} keys have to change sides; with you it was {moved}. What is your pivot?",
            "Swap the smallest p for which the largest key that stays on rank 0 is not above the smallest that stays on rank 1.",
            "Check the two keys that both ranks compare: a[n - p - 1], with a from rank 0, and b[p], with b from rank 1.",
            picture=look,
        )  # fmt: skip
    unsorted = [rank for rank, (part, half) in enumerate(zip(parts, halves)) if not np.array_equal(part, half)]
    if len(unsorted) == 1 and len(keys) == 2 and not _sorted_after_the_swap(keys, 1 - unsorted[0]):
        wrong(
            "one_side", f"Rank {1 - unsorted[0]} has merged its two runs, rank {unsorted[0]} has not. Who does it there?",
            "Every rank runs the whole program. What stands under an `if rank == ...` only one of them does.",
            "Both ranks: torch.cat([kept, received]).sort().values", picture=look,
        )  # fmt: skip
    for rank, (part, half) in enumerate(zip(parts, halves)):
        if not np.array_equal(part, half):
            wrong(
                "not_merged", f"Rank {rank} holds the right keys in the wrong order. What did the swap leave there?",
                "Two sorted runs, one behind the other. They still have to become one.",
                "torch.cat([kept, received]).sort().values", picture=look,
            )  # fmt: skip
    if len(keys) == 2:
        _budget(keys, output, wrong)


def _sorted_after_the_swap(keys, rank):
    """Whether a rank's keys are in order already when what it received stands behind what it kept."""
    (a, b), n, p = np.sort(keys, axis=1), keys.shape[1], pivot(keys)
    behind = np.concatenate([a[: n - p], b[:p]] if rank == 0 else [b[p:], a[n - p :]])
    before = np.concatenate([b[:p], a[: n - p]] if rank == 0 else [a[n - p :], b[p:]])
    return any((np.diff(run) >= 0).all() for run in (behind, before))


def _same_keys(keys, parts, wrong):
    before, after = np.sort(keys, axis=None), np.sort(np.concatenate(parts))
    if np.array_equal(before, after):
        return
    if len(before) != len(after):
        wrong(
            "lost" if len(after) < len(before) else "copied",
            f"There were {len(before)} keys, now there are {len(after)}. Which came from nowhere, or went there?",
            "What a rank gives away it no longer keeps, and what it receives it does keep.",
        )  # fmt: skip
    changed = next(key for key in after if np.count_nonzero(after == key) != np.count_nonzero(before == key))
    wrong(
        "other_keys", f"{changed} is there {np.count_nonzero(after == changed)} times, and it was {np.count_nonzero(before == changed)} times. Sorted, but are these the same keys?",
        "A check that only looks at the order would accept a row of zeros. Was a buffer read before its message was there?",
        "irecv returns at once; only after wait() is the message in the buffer. And a tensor that isend has taken may not change until wait().",
    )  # fmt: skip


def _budget(keys, output, wrong):
    """Each rank may send p keys, and two for every step of a bisection."""
    n, size, p = keys.shape[1], keys.dtype.itemsize, pivot(keys)
    allowed = p * size + 8 * 2 * (n.bit_length() + 2)
    sent = max(output["bytes"])
    if sent <= allowed:
        return
    evidence = f"sent {sent:,} bytes; {p:,} keys are {p * size:,}"
    if sent >= n * size and p < n:
        ties = len(np.unique(keys)) < keys.size
        hint = "ties_moved" if ties and sent < 2 * n * size and len(np.unique(keys)) < 3 else "everything"
        question = (
            f"All keys are equal, and a rank {evidence}. Why does any of them travel?" if hint == "ties_moved"
            else f"A rank {evidence}. Which keys did not need to travel?"
        )  # fmt: skip
        wrong(
            hint, question,
            "Equal keys may stay: a[n - p - 1] <= b[p]." if hint == "ties_moved" else "Find the pivot first, with one key from each side a step. Then send p keys.",
        )  # fmt: skip
    wrong(
        "too_many_bytes", f"A rank {evidence}, and the search needs about {n.bit_length()} messages of one key. Where do the others come from?",
        "Send single keys while you search, and the p keys once.",
    )  # fmt: skip


def _after(keys, parts):
    """A callable that draws where the keys of the two halves are; None when there are too many."""
    if len(keys) != 2 or not 0 < keys.shape[1] <= 16:
        return None

    def draw():
        from labs.multi_gpu_sort.pictures import halves

        return halves(keys, parts, name="What your ranks returned")

    return draw


def achieved(outcomes):
    found = []
    for case, output in outcomes[-4:]:
        p = pivot(case.inputs["keys"])
        found.append(
            (
                case.title.removesuffix(": bytes"),
                f"{p:,} keys moved each way, {max(output['bytes']):,} B sent by a rank",
            )
        )
    return found


sort_pair = Exercise("sort_pair", "Sort two ranks", 3, cases, run, verify, achieved=achieved)
