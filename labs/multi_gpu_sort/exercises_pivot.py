"""Exercise find_pivot: how many keys two sorted halves have to swap, found by bisection."""

from __future__ import annotations

import math

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, short

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, a, b, part="correct"):
        return Case(title, {"a": sorted(map(int, a)), "b": sorted(map(int, b))}, part)

    n = int(rng.integers(9, 15))
    large = rng.integers(0, 10**6, (2, 4096))
    return [
        case("8 keys each, half of them in the wrong place", (1, 3, 6, 7, 9, 12, 14, 15), (0, 2, 4, 5, 8, 10, 11, 13)),
        case("everything in a is larger: all keys swap", range(10, 16), range(6)),
        case("sorted already: nothing moves", range(6), range(6, 12)),
        case(f"{n} random keys each", rng.integers(0, 40, n), rng.integers(0, 40, n)),
        case(f"{n} keys each, only 3 different ones", rng.integers(0, 3, n), rng.integers(0, 3, n)),
        case("all keys are equal", [5] * 6, [5] * 6),
        case("no keys at all", [], [], "edge"),
        case("one key each, in order", [1], [2], "edge"),
        case("one key each, the wrong way round", [2], [1], "edge"),
        case("one key each, equal", [7], [7], "edge"),
        case("only the last of a and the first of b swap", (1, 2, 3, 9), (4, 5, 6, 7), "edge"),
        case("ties at the border", (1, 4, 4, 4), (4, 4, 4, 8), "edge"),
        case("all but one swap", (0, 6, 7, 8), (1, 2, 3, 9), "edge"),
        case("4,096 random keys each: how many were read?", *large, "budget"),
        case("4,096 keys each, everything swaps: how many were read?", large[0] + 10**6, large[1], "budget"),
    ]


def run(answers, inputs):
    """Call the answer with two sequences that count how often a key is read."""

    class Keys:
        """A sorted sequence: its length and its items, nothing else."""

        def __init__(self, keys):
            self.keys, self.read, self.last = keys, 0, []

        def __len__(self):
            return len(self.keys)

        def __getitem__(self, index):
            self.read += 1
            self.last.append(index)
            if not -len(self.keys) <= index < len(self.keys):
                raise IndexError(f"key {index} of {len(self.keys)}")
            return self.keys[index]

    a, b = Keys(inputs["a"]), Keys(inputs["b"])
    try:
        pivot = answers[0](a, b)
    except IndexError as error:
        pivot = f"IndexError: {error}"
    negative = [int(index) for keys in (a, b) for index in keys.last if index < 0]
    return {"pivot": pivot, "read": a.read + b.read, "negative": negative[:1]}


def right(a, b):
    """The smallest number that leaves nothing in the wrong half, by trying all: the halves' ends decide."""
    n = len(a)
    smallest, largest = [-math.inf], [math.inf]
    padded_a, padded_b = smallest + a + largest, smallest + b + largest  # key k of a half is at place k + 1
    for p in range(n + 1):
        lower = max(padded_a[n - p], padded_b[p])  # the last that stays in a, the last that came from b
        upper = min(padded_a[n - p + 1], padded_b[p + 1])  # the first that went to b, the first that stays there
        if lower <= upper:
            return p


def verify(case, output):
    a, b = case.inputs["a"], case.inputs["b"]
    got, n = output["pivot"], len(a)
    want = right(a, b)
    shown = f"a = {short(a)}\nb = {short(b)}"

    def wrong(hint, question, *then, picture=True):
        raise Wrong(
            hint, f"{question}\n{shown}\nyours: {got}", picture=_swapped(a, b, got) if picture else None, then=then
        )

    if isinstance(got, str):
        wrong(
            "beyond", f"{got}. Which p makes a[n - p - 1] or b[p] a key that does not exist?",
            "For p = n there is nothing left to compare: it is right if every smaller p is too small.",
            "Bisect with low, high = 0, n and while low < high: then middle is never n.",
            picture=False,
        )  # fmt: skip
    if type(got) is not int or not 0 <= got <= n:
        wrong(
            "not_a_count",
            f"How many keys should each half give away? A number from 0 to {n}, not {got!r}.",
            picture=False,
        )
    if got == want:
        if output["negative"] and n:
            wrong(
                "minus_one", f"Right, but your search read key {output['negative'][0]}. What does Python give you there?",
                "A negative index counts from the end: a[-1] is the largest key, and no error warns you.",
                "For p = n, n - p - 1 is -1. Never compare there: let high = n and while low < high.",
            )  # fmt: skip
        limit = 2 * (n.bit_length() + 1)
        if output["read"] > limit:
            wrong(
                "linear", f"Right, with {output['read']:,} keys read; each may be a message to another device. Do you need so many?",
                f"If a[n - p - 1] <= b[p] holds for a p, it holds for every larger one. So half of the candidates go with every comparison: "
                f"{n.bit_length()} comparisons, {limit} keys at most.",
                "low, high = 0, n; while low < high: look at the middle, and keep the half that can hold the answer.",
                picture=False,
            )  # fmt: skip
        return
    for hint, value, question, *then in _slips(a, b, n, want):
        if got == value:
            wrong(hint, question, *then)
    if output["negative"]:
        wrong(
            "minus_one", f"Your search compared key {output['negative'][0]}. Which key is that in Python, and which did you mean?",
            "For p = n nothing stays in a, so there is no largest key that stays; a[-1] is the largest of those that go.",
            "n - p - 1 is -1 for p = n. With high = n and while low < high, middle is never n.",
        )  # fmt: skip
    if got < want:
        left, arrived = max(a[: n - got]), min(b[got:])
        wrong(
            "too_few", f"With p = {got}, a still holds {left} and b still holds {arrived}. Which of them is in the wrong half?",
            "p is large enough when the largest key that stays in a is not larger than the smallest that stays in b.",
            f"After a swap of {got}: a keeps up to a[{n - got - 1}] = {left}, b keeps from b[{got}] = {arrived}.",
        )  # fmt: skip
    gone, arrived = a[n - got], b[got - 1]
    wrong(
        "too_many",
        f"With p = {got}, a gives {gone} away and gets {arrived} for it. Which of them is the smaller one?"
        if gone < arrived
        else f"{want} keys are enough. What do you gain by moving {got}?",
        "The smallest p with a[n - p - 1] <= b[p] is asked for. Beyond it go keys that may stay, or have to.",
        f"p = {want} fits already: a[{n - want - 1}] <= b[{want}].",
    )


def _slips(a, b, n, want):
    """(hint, the value to which it leads, question, further hints) of the usual slips."""
    strict = next((p for p in range(n) if a[n - p - 1] < b[p]), n)
    yield (
        "ties_move", strict if strict > want else None,
        f"{want} keys are enough; you move {strict}. Which of the keys that move are equal to those they are exchanged for?",
        "Equal keys may stay where they are. What does your comparison say about them?",
        "a[n - p - 1] <= b[p], with =: then all-equal keys move nothing.",
    )  # fmt: skip
    yield (
        "never_all", n - 1 if want == n and n > 0 else None,
        f"All {n} keys of a are larger than all of b. How many have to swap?",
        "p can be n. Does your search ever try it?",
        "There are n + 1 answers, from 0 to n: high starts at n, not at n - 1.",
    )  # fmt: skip
    yield (
        "kept", n - want,
        f"{n - want} is how many stay. How many go?",
        "p counts the keys that each half gives away.",
    )  # fmt: skip
    front = next((p for p in range(n) if a[p] <= b[p]), n)
    yield (
        "wrong_end", front,
        "Which keys of a go first, the small ones or the large ones?",
        "a gives its LAST p keys. So the largest key that stays is a[n - p - 1], not a[p].",
    )  # fmt: skip
    beside = next((p for p in range(1, n + 1) if a[n - p] <= b[p - 1]), n + 1)
    yield (
        "one_more", beside if beside == want + 1 else None,
        f"{want} keys are enough. Which two keys do you compare for p = {want}?",
        "After a swap of p keys the largest that stays in a is a[n - p - 1], the smallest that stays in b is b[p].",
    )  # fmt: skip


def _swapped(a, b, pivot):
    """A callable that draws both halves after a swap of `pivot` keys; None when that is no such number or too wide."""
    if type(pivot) is not int or not 0 <= pivot <= len(a) or not 0 < len(a) <= 16:
        return None

    def draw():
        from labs.multi_gpu_sort.pictures import swap

        return swap(a, b, pivot, name=f"After a swap of p = {pivot}")

    return draw


def achieved(outcomes):
    case, output = outcomes[-1]
    return [(f"{len(case.inputs['a']):,} keys each", f"{output['read']} keys read, {output['pivot']:,} to swap")]


find_pivot = Exercise("find_pivot", "Find the pivot", 3, cases, run, verify, achieved=achieved)
