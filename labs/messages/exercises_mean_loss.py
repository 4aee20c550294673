"""Exercise: a collective that one rank skips."""

from functools import partial

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, short
from labs.messages.exercises_shared import completed_or_picture, not_the_module


def _cases(seed):
    r = np.random.default_rng(seed)

    def losses(*counts):
        return {"losses": [np.round(r.random(k) * 8, 2) for k in counts]}

    return [
        Case("3, 5, 2 and 4 losses", losses(3, 5, 2, 4)),
        Case("rank 1 has none", losses(3, 0, 4)),
        Case("only the last of 5 ranks has any", losses(0, 0, 0, 0, 2)),
        Case("a single rank", losses(3), "edge"),
        Case("nobody has any: the average is 0", losses(0, 0, 0), "edge"),
        Case("one loss each", losses(1, 1), "edge"),
        Case("8 ranks, 1,000 losses each: how much is sent?", losses(*[1000] * 8), "budget"),
    ]


def _run(answers, inputs):
    import torch

    from labs.kit.ranks import outcome

    losses = inputs["losses"]
    found = outcome(answers[0], len(losses), args=lambda rank: (torch.from_numpy(losses[rank].copy()),), timeout=10)
    found.pop("events", None)
    return found


def _verify(case, output):
    losses = case.inputs["losses"]
    output = _completed(output)
    everything = np.concatenate(losses)
    want = float(everything.mean()) if everything.size else 0.0
    results = output["results"]
    got = [_number(result) for result in results]
    if not np.allclose(got, want, rtol=1e-6, atol=1e-9):
        _explain(losses, want, got, results)
    if case.part == "budget" and max(output["bytes"]) > 200:
        raise Wrong(
            "sends_the_losses",
            f"A rank sent {max(output['bytes']):,.0f} bytes. How many numbers does an average need from each rank?"
            f"\nbytes sent by rank: {short(output['bytes'])}",
            then=("The sum and the count are enough.", "A tensor of two numbers: `[losses.sum(), len(losses)]`."),
        )


def _number(value):
    """`value` as a float if it is one number, else nan."""
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, np.ndarray) and value.size == 1:
        return float(value.reshape(-1)[0])
    return np.nan


def _completed(output):
    failure = output.get("failure") if isinstance(output, dict) else None
    text = str(failure.get("text", "")) if isinstance(failure, dict) else ""
    if "disagree about one" in text:
        mismatch = (
            "sizes_differ",
            "The ranks bring tensors of different size or type to one collective. What can every rank bring,"
            " however many losses it has?",
            "Tensors that are added number by number have one shape and one dtype, on every rank.",
            "Two numbers, the sum and the count, both as float64: also where the sum is 0 and the count is 0.",
        )
    else:
        mismatch = (
            "different_calls",
            "The ranks met in two different collectives. Which call does each rank make, and in which order?",
            "Collectives are matched by order: the first call of one rank meets the first call of the others.",
            "Make the same calls on every rank, with tensors of the same size.",
        )
    questions = {"mismatch": mismatch, "misuse": not_the_module(failure)}
    if "ZeroDivisionError" in text:
        questions["error"] = _NOTHING
    return completed_or_picture(
        output,
        deadlock=(
            "one_rank_skips",
            "A rank without losses went home early. Who is still waiting for it?",
            "Every rank of the group has to come to a collective, even with empty hands.",
            "A rank without losses brings the sum 0 and the count 0, and calls `all_reduce` as the others do.",
        ),
        **questions,
    )


_NOTHING = (
    "nothing_to_average",
    "Nobody has any loss, and you divided by their number. What shall the average be then?",
    "0 divided by 0 is nan, or an error. The task says what to return instead.",
    "If the count over all ranks is 0, return 0.0, on every rank.",
)


def _explain(losses, want, got, results):
    counts = [len(x) for x in losses]
    sums = np.array([x.sum() for x in losses])
    n, count, total = len(losses), sum(counts), float(sums.sum())
    evidence = (
        f"\nlosses by rank: {short(counts)} of them\nexpected {want:.4f} on every rank\nyours    {short(results)}"
    )

    def wrong(hint, question, *then):
        raise Wrong(hint, question + evidence, picture=partial(_picture, losses, want, got), then=then)

    def all_close(expected):
        return np.allclose(got, expected, rtol=1e-6, atol=1e-9)

    if all(r is None for r in results):
        wrong(
            "nothing_returned",
            "Every rank returned None. Which number should the caller get?",
            "To compute a number is not to return it.",
            "End with `return`, on every rank.",
        )
    if any(isinstance(r, list) or np.size(r) > 1 for r in results):
        wrong(
            "several_numbers",
            "A rank returned more than one number. Which of them is the average?",
            "Sum and count are what you reduce. One number comes out of the two.",
            "Return the sum divided by the count, and nothing beside it.",
        )
    if count == 0:
        wrong(*_NOTHING)
    own = np.array([float(x.mean()) if len(x) else 0.0 for x in losses])
    right = [np.isclose(g, want, rtol=1e-6, atol=1e-9) for g in got]
    if any(right) and all(ok or not k for ok, k in zip(right, counts, strict=True)):
        who = [r for r, ok in enumerate(right) if not ok]
        wrong(
            "not_on_empty_ranks",
            f"The ranks with losses have the average; rank {who[0]}, without any, does not. Who wanted to know it?",
            "Everybody wants the average over all losses, also those who add nothing to it.",
            f"Rank {who[0]} returns {want:.4f}, too: no `return` of its own for a rank without losses.",
        )
    if right[0] and not any(right[1:]) and n > 1:
        wrong(
            "only_rank_0",
            "Rank 0 has the average, the others do not. Who wanted to know it?",
            "`reduce` brings the sum to one rank; its sister brings it to all.",
            "`dist.all_reduce`, on every rank.",
        )
    if n > 1 and all(np.isclose(g, m) for g, m, k in zip(got, own, counts, strict=True) if k):
        wrong(
            "own_average",
            "Each rank returned the average of its own losses. When is the sum over all ranks there?",
            "`all_reduce` changes the tensor that it is given. What did you divide, and was that before or after?",
            "First `dist.all_reduce(total)`, then divide; with `async_op=True` wait for the request in between.",
        )
    if any(all_close(a) for a in (own.mean(), own.sum() / max(1, sum(k > 0 for k in counts)))):
        wrong(
            "mean_of_means",
            "You averaged the ranks' averages. Does a rank with 2 losses count as much as one with 5?",
            "Each loss has to count once, wherever it lies.",
            "Add up all sums, add up all counts, then divide once.",
        )
    if all_close(total):
        wrong(
            "not_divided",
            "That is the sum of all losses. By what do you divide?",
            "The number of losses over all ranks is a sum, too.",
            "Reduce the pair (sum, count), then divide one by the other.",
        )
    if all_close(total / n):
        wrong(
            "divided_by_ranks",
            "You divided by the number of ranks. Is that how many losses there are?",
            "Ranks hold different numbers of losses.",
            "Count the losses with the same all_reduce that adds them up.",
        )
    if all_close(total / np.maximum(counts, 1)):
        wrong(
            "divided_by_own_count",
            "Each rank divided the sum of all by its own count. How many losses are in that sum?",
            "The sum is over all ranks. The count has to be, too.",
            "Reduce the pair (sum, count) in one tensor.",
        )
    empty = sum(k == 0 for k in counts)
    if empty and all_close(total / (count + empty)):
        wrong(
            "counted_the_empty",
            f"You divided by {count + empty}, but there are {count} losses. What does a rank without losses add?",
            "A made-up loss of 0 is a loss, too: it pulls the average down.",
            "A rank without losses brings the sum 0 and the count 0.",
        )
    if all_close(float(np.trunc(sums).sum()) / count):
        wrong(
            "cut_off",
            "Nearly right: the fractions of the sums are missing. Where did they go?",
            "A tensor of whole numbers, or `int(...)`, cuts off what comes after the point.",
            "`torch.tensor([losses.sum().item(), float(len(losses))], dtype=torch.float64)`.",
        )
    wrong(
        "other_values",
        "Not the average of all losses. What do you get when you put all of them in one list?",
        "Work out sum and count by hand, rank by rank, for the case above.",
        f"All losses together: {count} of them, sum {total:.4f}.",
    )


def _picture(losses, want, got):
    """What each rank returned, beside the average of its own losses and the one over all."""
    from labs.kit.draw import curves

    ranks = list(range(len(losses)))
    series = {"average over all losses": (ranks, [want] * len(ranks))}
    own = [(r, float(x.mean())) for r, x in enumerate(losses) if len(x)]
    if own:
        series["average of the rank's own"] = ([r for r, _ in own], [m for _, m in own])
    finite = [(r, g) for r, g in enumerate(got) if np.isfinite(g)]
    if finite:
        series["yours"] = ([r for r, _ in finite], [g for _, g in finite])
    counts = ", ".join(str(len(x)) for x in losses)
    name = f"What each rank returned; it has {counts} losses"
    return curves(series, xlabel="rank", ylabel="value returned", name=name, points=list(series))


mean_loss = Exercise("mean_loss", "The rank that went home early", 1.5, _cases, _run, _verify, core=False)
