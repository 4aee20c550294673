"""Exercise cut: where the merge of two runs stands after so many keys, found without merging."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, short

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, a, b, diagonals=None, part="correct"):
        a, b = sorted(map(int, a)), sorted(map(int, b))
        return Case(title, {"a": a, "b": b, "diagonals": diagonals or list(range(len(a) + len(b) + 1))}, part)

    many = rng.integers(0, 10**6, (2, 3000))
    return [
        case("6 and 5 keys, every diagonal", (1, 3, 4, 7, 9, 12), (2, 5, 6, 8, 10)),
        case("7 and 7 random keys", rng.integers(0, 30, 7), rng.integers(0, 30, 7)),
        case("6 and 8 keys, only 3 different ones", rng.integers(0, 3, 6), rng.integers(0, 3, 8)),
        case("all keys equal: a's come first", [4] * 4, [4] * 5),
        case("a is empty", [], [1, 2, 3], part="edge"),
        case("b is empty", [1, 2, 3], [], part="edge"),
        case("both are empty", [], [], part="edge"),
        case("everything in a is larger", [7, 8, 9], [1, 2, 3, 4], part="edge"),
        case("everything in b is larger", [1, 2], [7, 8, 9, 10], part="edge"),
        case("3,000 keys each: how many were read?", *many, [1500, 3000, 5999], "budget"),
    ]


def run(answers, inputs):
    class Keys:
        def __init__(self, keys):
            self.keys, self.read = keys, 0

        def __len__(self):
            return len(self.keys)

        def __getitem__(self, index):
            self.read += 1
            if index < 0:
                raise IndexError(f"key {index}: a negative index counts from the end")
            return self.keys[index]

    found, read = [], []
    for diagonal in inputs["diagonals"]:
        a, b = Keys(inputs["a"]), Keys(inputs["b"])
        try:
            found.append(answers[0](a, b, diagonal))
        except IndexError as error:
            found.append(f"IndexError: {error}")
        read.append(a.read + b.read)
    return {"cuts": found, "read": read}


def right(a, b, diagonal):
    """How many of the first keys come from a, by merging with a mark on each key."""
    marked = sorted([(key, 0) for key in a] + [(key, 1) for key in b])
    return sum(run == 0 for _, run in marked[:diagonal])


def verify(case, output):
    a, b, diagonals = case.inputs["a"], case.inputs["b"], case.inputs["diagonals"]
    if len(a) > 100:
        merged = np.argsort(np.concatenate([a, b]), kind="stable")
        want = [int(np.count_nonzero(merged[:diagonal] < len(a))) for diagonal in diagonals]
    else:
        want = [right(a, b, diagonal) for diagonal in diagonals]
    cuts = output["cuts"]
    wrong = [k for k, (got, due) in enumerate(zip(cuts, want)) if got != due or type(got) is not int]

    def say(hint, question, *then, k=0):
        shown = f"a = {short(a)}\nb = {short(b)}\nafter {diagonals[k]} keys: yours {cuts[k]}, right {want[k]}"
        raise Wrong(hint, f"{question}\n{shown}", then=then)

    if not wrong:
        limit = 2 * (max(len(a), len(b)).bit_length() + 1)
        if len(a) > 100 and max(output["read"]) > limit:
            k = int(np.argmax(output["read"]))
            say(
                "linear", f"Right, after reading {output['read'][k]:,} keys. Is that still a part for one of many threads?",
                f"Along a diagonal the comparison turns from true to false once: bisect, {limit} reads are enough.", k=k,
            )  # fmt: skip
        return
    k = wrong[0]
    got, diagonal = cuts[k], diagonals[k]
    if isinstance(got, str):
        say(
            "beyond", f"{got}. How many of the first {diagonal} keys can come from a at least, and at most?",
            f"At most all {len(a)} of a and never more than {diagonal}; at least {diagonal} - {len(b)}, if b gives all it has.",
            "low, high = max(0, diagonal - len(b)), min(diagonal, len(a)).", k=k,
        )  # fmt: skip
    if all(cuts[j] == diagonals[j] - want[j] for j in range(len(cuts))):
        say("from_b", "That is how many come from b. How many come from a?", k=k)
    first_b = [right(b, a, d) for d in diagonals]
    if all(cuts[j] == diagonals[j] - first_b[j] for j in range(len(cuts))):
        say(
            "ties", "Of equal keys yours takes b's first. Which must come first if the merge is to be stable?",
            "a's. When a[i] equals b[j], a[i] belongs to the first part.", "a[middle] <= b[diagonal - middle - 1]: then take more of a.", k=k,
        )  # fmt: skip
    if type(got) is not int:
        say("not_a_count", f"How many keys come from a? A number, not {got!r}.", k=k)
    if abs(got - want[k]) == 1:
        say(
            "off_by_one", "One too many or too few. Which two keys decide whether key `middle` of a is among the first?",
            "If middle + 1 keys come from a, then diagonal - middle - 1 come from b. So compare a[middle] with b[diagonal - middle - 1].", k=k,
        )  # fmt: skip
    say(
        "other", f"Merge by hand: which are the first {diagonal} keys, and whose are they?",
        "Count those that come from a.", k=k,
    )  # fmt: skip


cut = Exercise("cut", "Cut a merge into parts", 1.5, cases, run, verify, core=False)
