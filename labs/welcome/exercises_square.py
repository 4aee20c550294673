"""Exercise: return your rank's square, the first program of the course."""

from functools import partial

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, short
from labs.welcome.exercises_shared import completed_here, values_picture


def _square_cases(seed):
    sizes = sorted(np.random.default_rng(seed).choice(np.arange(5, 17), 2, replace=False).tolist())
    return [
        Case("4 ranks", {"world_size": 4}),
        *(Case(f"{n} ranks", {"world_size": n}) for n in sizes),
        Case("a single rank", {"world_size": 1}, "edge"),
        Case("2 ranks", {"world_size": 2}, "edge"),
    ]


def _run_square(answers, inputs):
    from labs.kit.ranks import outcome

    return outcome(answers[0], inputs["world_size"], timeout=10)


def _number(value):
    """`value` as a float if it is one number, else None (a learner may return 9, 9.0 or a tensor with one element)."""
    if type(value) in (int, float):
        return float(value)
    if isinstance(value, np.ndarray) and value.size == 1 and value.dtype.kind in "iuf":
        return float(value.reshape(-1)[0])
    return None


def _verify_square(case, output):
    n = case.inputs["world_size"]
    results = completed_here(output)["results"]
    got = [_number(v) for v in results]
    want = [float(r**2) for r in range(n)]
    if got == want:
        return
    evidence = f"\nexpected {short([r**2 for r in range(n)])}\nyours    {short(results)}"

    def wrong(hint, question, *then):
        raise Wrong(hint, question + evidence, picture=partial(values_picture, want, got), then=then)

    if all(v is None for v in results):
        wrong(
            "nothing_returned",
            "Every rank returned None. Did your function print its number, or return it?",
            "What a function prints is for people; what it returns is what `run` collects.",
            "End the function with `return`, followed by the square.",
        )
    if any(isinstance(v, str) for v in results):
        wrong(
            "text_not_number",
            f"Rank {n - 1} returned the text {results[-1]!r}. What is the difference between '9' and 9?",
            "Text is for reading, a number is for calculating: `'9' + 1` fails.",
            "Leave out the `str(...)` or the quotes.",
        )
    many = [np.asarray(v, dtype=object).reshape(-1).tolist() if np.size(v) > 1 else None for v in results]
    if all(many) and all(m == many[0] for m in many):
        wrong(
            "all_at_once",
            "Each rank returned all the squares. Which one of them is this rank's own?",
            "Nobody loops over the ranks: the function already runs once on each of them.",
            "Rank 3 returns 9, and nothing else.",
        )
    if any(isinstance(v, list) or np.size(v) > 1 for v in results):
        wrong(
            "more_than_a_number",
            f"Rank {n - 1} returned {short(results[-1])}. Which single number is its square?",
            "One number per rank. Did a comma or a pair of brackets make a tuple or a list of it?",
            f"`return dist.get_rank() ** 2`, and rank {n - 1} returns {(n - 1) ** 2}.",
        )
    if any(v is None for v in results):
        missing = results.index(None)
        wrong(
            "some_return_nothing",
            f"Rank {missing} returned None. Is your `return` inside an `if`?",
            "All ranks run the same line, so no rank needs an `if`.",
            "One line does it for every rank: `return`, then the square of `dist.get_rank()`.",
        )
    if got == [float(r ^ 2) for r in range(n)] and n > 1:
        wrong(
            "xor",
            "`^` is not a power in Python: what is `3 ^ 2`?",
            "`^` flips bits. Try `3 ^ 2` and `3 ** 2` in a cell of their own.",
            "3 in bits is 11, 2 is 10; where they differ is 01, so `3 ^ 2` is 1. `3 ** 2` is 9.",
        )
    if got == [float(r) for r in range(n)]:
        wrong(
            "not_squared",
            "These are the ranks themselves. Where does the square come in?",
            "`dist.get_rank()` is this rank's number; multiply it by itself.",
            "On rank 3 `dist.get_rank()` is 3, and 3 * 3 is 9.",
        )
    if got == [float(2 * r) for r in range(n)]:
        wrong(
            "doubled",
            "Right for ranks 0 and 2 only. What is the difference between 3 * 2 and 3 squared?",
            "0 and 2 are the numbers whose double is their square, so look at rank 3.",
            "Rank 3: doubled 6, squared 9.",
        )
    if got == [float((r + 1) ** 2) for r in range(n)]:
        wrong(
            "counted_from_one",
            "You returned 1, 4, 9 ... What number does the first rank have?",
            "Ranks count from 0, like positions in a Python list.",
            "With 4 ranks they are 0, 1, 2, 3, so the squares are 0, 1, 4, 9.",
        )
    if n > 2 and got == [float(2**r) for r in range(n)]:
        wrong(
            "power_the_wrong_way",
            "These are powers of two. What is the square of 3: `3 ** 2` or `2 ** 3`?",
            "The first number is multiplied by itself, as often as the second one says.",
            "`3 ** 2` is 3 * 3 = 9; `2 ** 3` is 2 * 2 * 2 = 8.",
        )
    if n > 2 and got == [float(r * n) for r in range(n)]:
        wrong(
            "times_world_size",
            f"You multiplied each rank by {n}, the number of ranks. By what is a square multiplied?",
            "The square of a number is that number times itself.",
            "`dist.get_rank() * dist.get_rank()`.",
        )
    start = round(abs(got[0]) ** 0.5)
    if n > 1 and start > 1 and got == [float((start + r) ** 2) for r in range(n)]:
        wrong(
            "counts_on",
            f"This time the first rank returned {short(results[0])}. Who keeps counting from one run to the next?",
            "A variable outside the function lives longer than a run, and on real ranks nobody shares it.",
            "The number of a rank comes from `dist.get_rank()`, every time anew.",
        )
    if len(set(got)) == 1 and n > 1:
        wrong(
            "same_everywhere",
            f"Every rank returned {short(results[0])}. What is different from rank to rank?",
            "All ranks run the same code. The one thing that differs is what `dist.get_rank()` answers.",
            "`dist.get_world_size()` is the same everywhere; `dist.get_rank()` is 0, 1, 2 ... in turn.",
        )
    wrong(
        "other_values",
        "Some ranks did not return their square. What do you expect rank 3 to return?",
        "Compare the two rows, expected and yours, rank by rank.",
        "The first rank is 0 and returns 0; the last is one less than `dist.get_world_size()`.",
    )


square = Exercise("square", "Your rank's square", 3, _square_cases, _run_square, _verify_square)
