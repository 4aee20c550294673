"""The exercises and questions of lesson 00: return your rank's square, average over ranks."""

from functools import partial

import numpy as np

from labs.kit.exercise import Case, Exercise, Question, Wrong, completed, short

# ---- square ----------------------------------------------------------------------------------------------------


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

    return outcome(answers[0], inputs["world_size"])


def _number(value):
    """`value` as a float if it is one number, else None (a learner may return 9, 9.0 or a tensor with one element)."""
    if type(value) in (int, float):
        return float(value)
    if isinstance(value, np.ndarray) and value.size == 1 and value.dtype.kind in "iuf":
        return float(value.reshape(-1)[0])
    return None


def _verify_square(case, output):
    n = case.inputs["world_size"]
    results = completed(output)["results"]
    got = [_number(v) for v in results]
    want = [float(r**2) for r in range(n)]
    if got == want:
        return
    evidence = f"\nexpected {short([r**2 for r in range(n)])}\nyours    {short(results)}"

    def wrong(hint, question, *then):
        raise Wrong(hint, question + evidence, picture=partial(_values_picture, want, got), then=then)

    if all(v is None for v in results):
        wrong(
            "nothing_returned",
            "Every rank returned None. Did your function print its number, or return it?",
            "What a function prints is for people; what it returns is what `run` collects.",
            "End the function with `return`, followed by the square.",
        )
    if any(isinstance(v, list) for v in results):
        wrong(
            "all_at_once",
            "Each rank returned a whole list. Which one of these numbers is this rank's own?",
            "Nobody loops over the ranks: the function already runs once on each of them.",
            "Rank 3 returns 9, and nothing else.",
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
        "Compare the two rows below, rank by rank.",
        "The first rank is 0 and returns 0; the last is one less than `dist.get_world_size()`.",
    )


def _values_picture(want, got):
    """Bars for what was expected, crosses for what came: one pair a rank."""
    from labs.kit.draw import curves

    ranks = list(range(len(want)))
    shown = [(r, v) for r, v in zip(ranks, got, strict=True) if v is not None]
    series = {"expected": (ranks, want)}
    if shown:
        series["yours"] = ([r for r, _ in shown], [v for _, v in shown])
    return curves(series, xlabel="rank", ylabel="value returned", name="What each rank returned")


square = Exercise("square", "Your rank's square", 3, _square_cases, _run_square, _verify_square)


# ---- average ---------------------------------------------------------------------------------------------------


def _average_cases(seed):
    r = np.random.default_rng(seed)

    def values(world_size, numel):
        return r.integers(-50, 50, (world_size, numel)).astype(np.float64)

    return [
        Case("4 ranks, one number each", {"values": values(4, 1)}),
        Case("3 ranks, 5 numbers each", {"values": values(3, 5)}),
        Case("8 ranks, 100 numbers each", {"values": values(8, 100)}),
        Case("a single rank", {"values": values(1, 3)}, "edge"),
        Case("no numbers at all", {"values": values(4, 0)}, "edge"),
        Case("2 ranks that cancel", {"values": np.array([[7.0, -1.0], [-7.0, 2.0]])}, "edge"),
        Case("8 ranks, 80,000 bytes each: how much is sent?", {"values": values(8, 10_000)}, "budget"),
    ]


def _run_average(answers, inputs):
    import torch

    from labs.kit.ranks import outcome

    values = inputs["values"]
    found = outcome(answers[0], len(values), args=lambda rank: (torch.from_numpy(values[rank].copy()),))
    found.pop("events", None)
    return found


def _verify_average(case, output):
    values = case.inputs["values"]
    world_size, numel = values.shape
    output = completed(
        output,
        deadlock=(
            "one_rank_skips",
            "Some ranks wait in a collective for a rank that never comes. Does every rank call it?",
            "A collective is a meeting: it ends when everybody has come. Is yours inside an `if`?",
            "Call `dist.all_reduce(value)` on every rank, outside any `if`.",
        ),
    )
    mean, total = values.mean(axis=0), values.sum(axis=0)
    results = output["results"]
    got = [r if isinstance(r, np.ndarray) else np.asarray(np.nan) for r in results]
    same = [np.shape(g) == mean.shape and np.allclose(g, mean, rtol=1e-12, atol=1e-12) for g in got]
    if all(same):
        return _verify_bytes(output["bytes"], world_size, values[0].nbytes)
    bad = same.index(False)
    evidence = f"\nvalues by rank: {short(values[:, :4])}\nrank {bad}: expected {short(mean[:6])}\nrank {bad}: yours    {short(results[bad])}"

    def matches(expected):
        return all(np.shape(g) == np.shape(e) and np.allclose(g, e) for g, e in zip(got, expected, strict=True))

    def wrong(hint, question, *then):
        raise Wrong(hint, question + evidence, picture=partial(_average_picture, mean, got), then=then)

    if all(r is None for r in results):
        wrong(
            "nothing_returned",
            "Every rank returned None. Which tensor should the caller get?",
            "`dist.all_reduce` works in place and returns None; the result is in the tensor that you gave it.",
            "End with `return value`.",
        )
    if matches([total] * world_size):
        wrong(
            "sum_not_mean",
            f"Every rank has the sum {short(total[:3])}. How does a sum become an average?",
            "`all_reduce` adds unless you ask for something else.",
            f"There are {world_size} ranks here, so divide by {world_size}: ask `dist.get_world_size()`.",
        )
    if numel and matches([v.mean(keepdims=True) for v in values]) or numel and matches([v.mean() for v in values]):
        wrong(
            "own_values_only",
            "Each rank averaged its own numbers. Over what should you average?",
            "`value.mean()` looks at one rank's tensor. The other ranks' numbers are on the other ranks.",
            "The first number of the result is the average of everybody's first number.",
        )
    if matches([total / world_size**2] * world_size):
        wrong(
            "divided_twice",
            f"Too small by a factor of {world_size}. How often did you divide?",
            "`ReduceOp.AVG` divides for you. So does dividing before the sum.",
            f"Sum {short(total[:2])}, divided once by {world_size}: {short(mean[:2])}.",
        )
    if matches([np.floor_divide(total, world_size)] * world_size):
        wrong(
            "rounded_down",
            "Whole numbers came out where there should be fractions. Which division did you use?",
            "`//` rounds down; `/` does not.",
            f"{short(total[:1])} / {world_size} is {short(mean[:1])}.",
        )
    if all(same[:1]) and not any(same[1:]) and world_size > 1:
        wrong(
            "only_rank_0",
            "Rank 0 has the average, the others do not. Who needs it?",
            "`reduce` brings the sum to one rank; its sister brings it to all.",
            "Use `dist.all_reduce` on every rank.",
        )
    for guess in {2, 3, 4, 8} - {world_size}:
        if matches([total / guess] * world_size):
            wrong(
                "fixed_number_of_ranks",
                f"You divided by {guess}, but here are {world_size} ranks. Who knows how many there are?",
                "The same program runs on 1, 3 or 1,000 ranks: it has to ask.",
                "`dist.get_world_size()` answers with the number of ranks.",
            )
    wrong(
        "other_values",
        f"Rank {bad} does not hold the average. What should its first number be?",
        "Add up everybody's first number by hand and divide by how many ranks there are.",
        f"By hand: {' + '.join(short(v[0]) for v in values[:4] if numel)} and so on.",
    )


def _verify_bytes(sent, world_size, nbytes):
    """All ranks together send no more than an all-reduce has to: 2 (n - 1) tensors."""
    least = 2 * (world_size - 1) * nbytes
    if sum(sent) > least:
        raise Wrong(
            "gathers_everything",
            f"The right average, but {sum(sent) / least:.1f} times the bytes that it takes. Does everybody need everybody's numbers?"
            f"\nbytes sent by rank: {short(sent)}\nall together {sum(sent):,.0f}; {least:,} would do: 2 x (n - 1) tensors",
            then=(
                "To hand all tensors to all ranks costs n - 1 tensors per rank. Only the sum is needed.",
                "One call does both, adding on the way: `dist.all_reduce(value)`.",
            ),
        )


def _average_picture(mean, got):
    """Expected and found first numbers, rank by rank."""
    first = [float(g.reshape(-1)[0]) if g.size else float("nan") for g in got]
    return _values_picture([float(mean[0]) if mean.size else 0.0] * len(got), [v if v == v else None for v in first])


def _achieved_average(outputs):
    _, big = outputs[-1]
    return [
        ("bytes sent by all ranks", f"{sum(big['bytes']):,.0f}, the least possible"),
        ("virtual time", f"{big['time'] * 1e6:.1f} µs on 8 ranks"),
    ]


average = Exercise(
    "average",
    "The average over all ranks",
    3,
    _average_cases,
    _run_average,
    _verify_average,
    achieved=_achieved_average,
)


# ---- check yourself --------------------------------------------------------------------------------------------

numbering = Question(
    "numbering",
    "A program runs with world_size=8. Which ranks are there?",
    {"a": "1 to 8", "b": "0 to 7", "c": "0 to 8"},
    right="b",
    why={
        "a": "Ranks count from 0, like positions in a list.",
        "b": "Eight ranks, the first of which is 0.",
        "c": "0 to 8 are nine numbers.",
    },
)

collective = Question(
    "collective",
    "Rank 0 already knows the average of all ranks. Should it still call all_reduce, as the others do?",
    {"a": "No, it saves time", "b": "Yes, or the others wait for it", "c": "Only if it has numbers to add"},
    right="b",
    why={
        "a": "The others would wait for rank 0. Nobody tells them that it is not coming.",
        "b": "A collective ends when every rank of the group has called it.",
        "c": "Even a rank with nothing to add has to come: with a tensor of zeros, say.",
    },
)

waiting = Question(
    "waiting",
    "Both ranks call send first and recv second, and both hang. Which change is enough?",
    {"a": "Wait a little before the send", "b": "Let one of the two receive first", "c": "Send twice as fast"},
    right="b",
    why={
        "a": "However long they wait: each send still ends only when the other side receives.",
        "b": "Then one sends while the other receives, and afterwards the other way round.",
        "c": "Speed is not the matter. Nobody is receiving.",
    },
)
