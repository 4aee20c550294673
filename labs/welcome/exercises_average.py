"""Exercise: the average over all ranks, with one collective."""

from functools import partial

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, short
from labs.welcome.exercises_shared import completed_here, values_picture


def _average_cases(seed):
    r = np.random.default_rng(seed)

    def values(world_size, numel):
        return r.integers(-50, 50, (world_size, numel)).astype(np.float64)

    # One number each says little: these are alike, so that no number is near their sum, a quarter of it or zero.
    one = r.integers(20, 50, (4, 1)).astype(np.float64)
    one[3] += one.sum() % 4 == 0  # a quarter that is no whole number shows who rounds
    thirds = values(3, 5)
    thirds[0, 0] += thirds[:, 0].sum() % 3 == 0  # and a third of it who lost digits
    return [
        Case("4 ranks, one number each", {"values": one}),
        Case("3 ranks, 5 numbers each", {"values": thirds}),
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
    found = outcome(answers[0], len(values), args=lambda rank: (torch.from_numpy(values[rank].copy()),), timeout=10)
    found.pop("events", None)
    return found


def _completed_average(output):
    failure = output.get("failure") if isinstance(output, dict) else None
    text = str(failure.get("text", "")) if isinstance(failure, dict) else ""
    questions = {}
    if "NoneType" in text:
        questions["error"] = (
            "works_in_place",
            "`dist.all_reduce` gave you None, and you calculated with it. Where is the sum?",
            "It changes the tensor that you hand to it, and returns nothing.",
            "Call it on a line of its own; afterwards `value` holds the sum.",
        )
    return completed_here(
        output,
        deadlock=(
            "one_rank_skips",
            "Some ranks wait in a collective for a rank that never comes. Does every rank call it?",
            "A collective is a meeting: it ends when everybody has come. Is yours inside an `if`?",
            "Call `dist.all_reduce(value)` on every rank, outside any `if`.",
        ),
        **questions,
    )


def _verify_average(case, output):
    values = case.inputs["values"]
    world_size = len(values)
    output = _completed_average(output)
    mean = values.mean(axis=0)
    results = output["results"]
    got = [r if isinstance(r, np.ndarray) else np.asarray(np.nan) for r in results]
    same = [np.shape(g) == mean.shape and np.allclose(g, mean, rtol=1e-12, atol=1e-12) for g in got]
    if all(same):
        return _verify_bytes(output["bytes"], world_size, values[0].nbytes)
    _explain_average(values, output, got, same)


def _explain_average(values, output, got, same):
    world_size, numel = values.shape
    mean, total = values.mean(axis=0), values.sum(axis=0)
    results = output["results"]
    bad = same.index(False)
    evidence = (
        f"\nvalues by rank: {short(values[:, :4])}\nrank {bad}: expected {short(mean[:6])}"
        f"\nrank {bad}: yours    {short(results[bad])}"
    )

    def matches(expected):
        return all(
            np.shape(g) == np.shape(e) and np.allclose(g, e, equal_nan=True) for g, e in zip(got, expected, strict=True)
        )

    def wrong(hint, question, *then):
        raise Wrong(hint, question + evidence, picture=partial(_average_picture, mean, got), then=then)

    if all(r is None for r in results):
        wrong(
            "nothing_returned",
            "Every rank returned None. Which tensor should the caller get?",
            "`dist.all_reduce` works in place and returns None; the result is in the tensor that you gave it.",
            "End with `return value`.",
        )
    if all(same[:1]) and not any(same[1:]) and world_size > 1:
        if all(r is None for r in results[1:]):
            wrong(
                "returns_on_rank_0",
                "Rank 0 returned the average, the others None. Is your `return` inside an `if`?",
                "All ranks run the same function, and all of them should hand back the average.",
                "Let the last line be the same for every rank.",
            )
        wrong(
            "only_rank_0",
            "Rank 0 has the average, the others do not. Who needs it?",
            "`reduce` brings the sum to one rank; its sister brings it to all.",
            "Use `dist.all_reduce` on every rank.",
        )
    own_means = [v.mean() for v in values] if numel else []
    if numel and (matches(own_means) or (numel > 1 and matches([np.array([m]) for m in own_means]))):
        wrong(
            "own_values_only",
            "Each rank averaged its own numbers. Over what should you average?",
            "`value.mean()` looks at one rank's tensor. The other ranks' numbers are on the other ranks.",
            "The first number of the result is the average of everybody's first number.",
        )
    if numel and matches([total.mean()] * world_size):
        wrong(
            "mean_of_the_sum",
            "You averaged the numbers inside the summed tensor. Over what should you average?",
            "`mean()` makes one number of a tensor. The result has as many numbers as `value`.",
            "Sum over ranks with all_reduce, then divide by how many ranks there are.",
        )
    if any(isinstance(r, (list, int, float)) or np.shape(r) != mean.shape for r in results):
        wrong(
            "not_like_value",
            f"Rank {bad} returned {_form(results[bad])}. What shape has `value`, and what should the result have?",
            "Number by number: the result is a tensor of the shape of `value`, here " + f"{mean.shape}.",
            "No `item()`, no `sum`, no `tolist()`: divide the tensor as it is.",
        )
    if matches(list(values / world_size)) or matches(list(values)):
        _explain_own(wrong, sum(output["bytes"]) > 0 or not numel)
    again = [total * float(world_size) ** k for k in range(world_size)]
    if any(matches([a] * world_size) for a in again) and sum(output["bytes"]) > 3 * (world_size - 1) * values[0].nbytes:
        wrong(
            "reduced_again",
            "Too large, and the all-reduce was called more than once. How often did you add everything up?",
            "A second all_reduce adds up sums that are already complete.",
            "One `dist.all_reduce(value)`, outside any loop.",
        )
    if matches([total] * world_size):
        wrong(
            "sum_not_mean",
            f"Every rank has the sum {short(total[:3])}. How does a sum become an average?",
            "`all_reduce` adds unless you ask for something else.",
            f"There are {world_size} ranks here, so divide by {world_size}: ask `dist.get_world_size()`.",
        )
    with np.errstate(all="ignore"):
        by_rank = [total / r for r in range(world_size)]
    if matches(by_rank):
        wrong(
            "divided_by_rank",
            "Each rank divided by its own number, rank 0 by 0. By what does everybody divide?",
            "`dist.get_rank()` says which rank this is. Which function says how many there are?",
            f"Divide by `dist.get_world_size()`, which is {world_size} here.",
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
    if all(np.allclose(g, mean, rtol=1e-6, atol=1e-5) for g in got):
        wrong(
            "lost_digits",
            "The first seven digits are right, the others are not. Which dtype did you calculate in?",
            "`value` comes as float64, with about 16 digits; float32 keeps about 7.",
            "Leave out `float()`: the result has the dtype of `value`.",
        )
    for operation, other in (("the largest", values.max(axis=0)), ("the smallest", values.min(axis=0))):
        if matches([other] * world_size):
            wrong(
                "largest_or_smallest",
                f"You found {operation} number of all ranks. Which operation makes an average?",
                "`ReduceOp.MAX` and `ReduceOp.MIN` choose one of the numbers. An average needs all of them.",
                "Sum, then divide: leave `op` out, and the numbers are added.",
            )
    if matches([values[0]] * world_size) or matches([values[0] / world_size] * world_size):
        wrong(
            "copied_rank_0",
            "All ranks have what rank 0 had. Where did the others' numbers go?",
            "`broadcast` hands one rank's tensor to everybody. Nothing is added up.",
            "Use `dist.all_reduce(value)`, which adds everybody's tensor.",
        )
    for guess in {2, 3, 4, 8} - {world_size}:
        if matches([total / guess] * world_size):
            wrong(
                "fixed_number_of_ranks",
                f"You divided by {guess}, but here are {world_size} ranks. Who knows how many there are?",
                "The same program runs on 1, 3 or 1,000 ranks: it has to ask.",
                "`dist.get_world_size()` answers with the number of ranks.",
            )
    firsts = " + ".join(f"({v[0]:g})" if v[0] < 0 else f"{v[0]:g}" for v in values if numel)
    wrong(
        "other_values",
        f"Rank {bad} does not hold the average. What should its first number be?",
        "Add up everybody's first number by hand and divide by how many ranks there are.",
        f"By hand: ({firsts}) / {world_size}" + (f" = {mean[0]:g}." if numel else "."),
    )


def _explain_own(wrong, reduced):
    """Each rank returned its own numbers: because nothing was added up, or because the sum went elsewhere."""
    if not reduced:
        wrong(
            "nothing_added_up",
            "No bytes were sent: each rank only saw its own numbers. How do the others' numbers get here?",
            "The ranks share nothing. A rank knows only what it holds and what it is sent.",
            "Before you divide, call `dist.all_reduce(value)` on every rank.",
        )
    wrong(
        "sum_went_elsewhere",
        "An all-reduce took place, but you returned numbers from before it. Which tensor holds the sum, and since when?",
        "It changes the tensor that it is given, not a copy of it. With `async_op=True` it only starts.",
        "`dist.all_reduce(value)`, without `clone()` and without `async_op`, then use `value`.",
    )


def _form(value):
    if isinstance(value, list):
        return "a list or a tuple"
    return f"a tensor of shape {np.shape(value)}" if isinstance(value, np.ndarray) else "a plain number"


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
    return values_picture([float(mean[0]) if mean.size else 0.0] * len(got), [v if v == v else None for v in first])


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
