"""Exercise sort_ranks: the recursion over 2^k ranks, given a broken one."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, completed, short

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, keys, part="correct"):
        return Case(title, {"keys": np.asarray(keys, np.int64)}, part)

    def some(ranks, n):
        return rng.permutation(ranks * n).reshape(ranks, n)

    return [
        case("2 ranks, 6 keys each", some(2, 6)),
        case("4 ranks, 4 keys each, in reverse order", np.arange(16, 0, -1).reshape(4, 4)),
        case("4 ranks, 9 keys each", some(4, 9)),
        case("8 ranks, 5 keys each", some(8, 5)),
        case("8 ranks, 3 keys each, in reverse order", np.arange(24, 0, -1).reshape(8, 3)),
        case("6 ranks: refuse", some(6, 4)),
        case("3 ranks: refuse", some(3, 4)),
        case("1 rank", some(1, 7), "edge"),
        case("5 ranks: refuse", some(5, 2), "edge"),
        case("7 ranks: refuse", some(7, 2), "edge"),
        case("12 ranks: refuse", some(12, 1), "edge"),
        case("4 ranks, no keys", np.zeros((4, 0)), "edge"),
        case("4 ranks, all keys equal", np.full((4, 3), 9), "edge"),
        case("8 ranks, sorted already: bytes", np.sort(rng.integers(0, 10**6, 8 * 5000)).reshape(8, 5000), "budget"),
    ]


def run(answers, inputs):
    import torch

    from labs.kit.hardware import uniform
    from labs.kit.ranks import outcome

    rows = [torch.from_numpy(row.copy()) for row in inputs["keys"]]
    return outcome(answers[0], len(rows), args=lambda rank: (rows[rank],), topology=uniform(len(rows)))


def verify(case, output):
    keys = case.inputs["keys"]
    world_size, whole = len(keys), np.sort(keys, axis=None)
    failure = output.get("failure") if isinstance(output, dict) else None
    if world_size & (world_size - 1):
        refused = isinstance(failure, dict) and failure.get("exception") == "ValueError"
        if refused:
            return
        if isinstance(failure, dict):
            completed(output, **dict.fromkeys(("error", "deadlock", "mismatch", "unreceived"), _refuse(world_size)))
        hint, question, *then = _refuse(world_size)
        found = np.concatenate([np.asarray(part).reshape(-1) for part in output["results"]])
        said = "sorted, this time" if np.array_equal(found, whole) else f"not sorted: {short(found)}"
        raise Wrong(hint, f"{question}\nyour result: {said}", then=then)
    completed(
        output,
        deadlock=(
            "deadlock",
            "A rank waits in a swap for one that is not there. Do all ranks of a group call the same swaps, in the same order?",
            "Write down for each rank of four the swaps that it calls. The lists of two partners must fit together.",
        ),
        error=_error(failure, world_size),
    )
    parts = [np.asarray(part) for part in output["results"]]
    if any(part.shape != keys[0].shape for part in parts):
        raise Wrong("sizes", f"Each rank brought {keys.shape[1]} keys. How many does it return?\n{short(parts)}")
    if not np.array_equal(np.concatenate(parts), whole):
        raise _unsorted(keys, parts, whole, output)
    if "bytes" in case.title:
        searched = 64 * 16 * 7 * 3 * 4  # probes of the searches, all groups of a rank
        if max(output["bytes"]) > searched:
            names = {event[6] for event in output.get("events", ()) if event[1] == "collective"}
            if gathers := sorted(name for name in names if "gather" in name or "broadcast" in name):
                raise Wrong(
                    "gathered", f"dist.{gathers[0]} brings all keys to a rank. Would they fit there?",
                    then=(
                        "One device cannot hold what all devices hold. A swap moves only the keys on the wrong side.",
                        "Here every key lies right already: a search for the pivot finds that with a few probes.",
                    ),
                )  # fmt: skip
            raise Wrong("moved", "Sorted input, and keys travel. Who sends them?")


def _refuse(world_size):
    return (
        "power_of_two",
        f"{world_size} ranks cannot be halved down to one. Does your test say so?",
        f"Only a power of two has a single bit: n & (n - 1) clears the lowest one. For {world_size} it leaves "
        f"{world_size & (world_size - 1)}, for 8 it leaves 0.",
        "if size & (size - 1): raise ValueError(...). (In C++ write (n & (n - 1)) != 0: there n & (n - 1) != 0 means "
        "n & 1, and published code lets 6 devices through. In Python both mean the same.)",
    )


def _error(failure, world_size):
    if isinstance(failure, dict) and "of which it is none" in str(failure.get("message")):
        return (
            "not_in_group",
            f"{failure.get('message')}. In which half does it lie?",
            "A rank takes part in the swaps of its own half only, and in those of the whole.",
            "half = (first, middle) if rank < middle else (middle, end): recurse into that one.",
        )
    if isinstance(failure, dict) and failure.get("exception") == "ValueError":
        return (
            "refused",
            f"{world_size} is a power of two, and your program refuses it. What does n & (n - 1) give for it?",
            f"{world_size} & {world_size - 1} is {world_size & (world_size - 1)}.",
        )
    return None


def _unsorted(keys, parts, whole, output):
    world_size = len(keys)

    def draw():
        from labs.multi_gpu_sort.pictures import bars

        right = np.split(whole, world_size)
        wrong = [(r, k) for r, part in enumerate(parts) for k, key in enumerate(part) if key != right[r][k]]
        return bars([list(part) for part in parts], wrong=wrong, name="What your ranks returned")

    look = draw if keys.size <= 64 else None
    half = world_size // 2
    lower, upper = np.concatenate(parts[:half]), np.concatenate(parts[half:])
    evidence = "\n".join(f"rank {rank} returned {short(part)}" for rank, part in enumerate(parts[:8]))
    if not np.array_equal(np.sort(np.concatenate(parts)), whole):
        return Wrong("other_keys", f"These are not the keys that you were given. Where did some get lost?\n{evidence}")
    if any((np.diff(part) < 0).any() for part in parts):
        return Wrong(
            "local", f"A rank's own keys are not in order. What must happen before the first swap?\n{evidence}",
            picture=look, then=("keys = keys.sort().values comes first.",),
        )  # fmt: skip
    if not any(output["bytes"]):
        return Wrong(
            "no_swap", f"Nobody sent anything. Which call moves keys between the halves?\n{evidence}", picture=look
        )
    if lower.max() <= upper.min():
        sorted_halves = [np.array_equal(np.sort(side), side) for side in (lower, upper)]
        if any(sorted_halves):
            return Wrong(
                "one_half", f"One half is sorted, the other is not. Who sorts the other one?\n{evidence}",
                picture=look, then=("Each rank recurses into its own half, whichever it is.",),
            )  # fmt: skip
        return Wrong(
            "halves_once", f"Each half holds the right keys, in the wrong places. What did the swap do to the order within a half?\n{evidence}",
            picture=look,
            then=(
                "After the swap a half is no longer sorted: each rank has its own run, but the runs lie across each other.",
                "Sort the halves, swap, sort the halves again: three steps.",
            ),
        )  # fmt: skip
    return Wrong(
        "unsorted_halves", f"The larger keys are not all in the upper half. What did the swap need to know about the halves?\n{evidence}",
        picture=look,
        then=("The pivot search works on two sorted halves. So the halves are sorted first, by the same recursion.",),
    )  # fmt: skip


sort_ranks = Exercise("sort_ranks", "Halve, swap, halve again", 1.5, cases, run, verify, core=False)
