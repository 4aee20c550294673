"""Exercises on collectives: name them from their pictures, and repair one that a rank skips."""

from functools import partial

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, completed, short

# ---- name the collective ---------------------------------------------------------------------------------------

NAMES = ("broadcast", "scatter", "gather", "all_gather", "reduce", "all_reduce", "reduce_scatter", "all_to_all")

SHOWN = dict(
    zip(
        "ABCDEFGH",
        ("all_gather", "reduce", "scatter", "all_to_all", "broadcast", "reduce_scatter", "gather", "all_reduce"),
    )
)
"""Which collective each picture of the lesson shows."""

# Two names that are taken for each other -> hint, question, pointer.
_CONFUSED = {
    frozenset(("gather", "all_gather")): (
        "one_or_all",
        "Who holds all the pieces afterwards: one rank, or everybody?",
        "`all_` in a name says that every rank ends with the whole result.",
    ),
    frozenset(("reduce", "all_reduce")): (
        "one_or_all",
        "Who holds the sum afterwards: one rank, or everybody?",
        "`all_` in a name says that every rank ends with the whole result.",
    ),
    frozenset(("broadcast", "scatter")): (
        "same_or_parts",
        "Does every rank get the same thing, or each its own part?",
        "A broadcast repeats one thing for everybody. A scatter deals out a deck of cards.",
    ),
    frozenset(("gather", "reduce")): (
        "sum_or_pieces",
        "Look at the plus signs. Are the pieces kept side by side, or added up?",
        "`gather` keeps them apart, `reduce` adds them.",
    ),
    frozenset(("all_gather", "all_reduce")): (
        "sum_or_pieces",
        "Look at the plus signs. Are the pieces kept side by side, or added up?",
        "`gather` keeps them apart, `reduce` adds them.",
    ),
    frozenset(("reduce_scatter", "all_reduce")): (
        "part_or_whole",
        "Does each rank end with the whole sum, or with one part of it?",
        "A reduce_scatter adds up, then deals the sum out in parts. An all_gather of these parts makes it an all_reduce.",
    ),
    frozenset(("all_to_all", "all_gather")): (
        "rows_or_columns",
        "Does every rank end with the same pieces, or with different ones?",
        "In an all_to_all each rank has a different parcel for each other rank: rows become columns.",
    ),
    frozenset(("scatter", "gather")): (
        "which_way",
        "From one rank to all, or from all ranks to one? Compare before and after.",
        "A scatter read backwards is a gather.",
    ),
}


def _collectives_cases(seed):
    return [
        Case("from one rank to all: C and E", {"pictures": ["C", "E"]}),
        Case("from all ranks to one: B and G", {"pictures": ["B", "G"]}),
        Case("everybody ends with everything: A and H", {"pictures": ["A", "H"]}),
        Case("everybody ends with a part: D and F", {"pictures": ["D", "F"]}, "edge"),
    ]


def _run_collectives(answers, inputs):
    named = answers[0]()
    if not isinstance(named, dict):
        named = dict(zip("ABCDEFGH", named))
    return {str(letter): name if isinstance(name, str) else str(name) for letter, name in named.items()}


def _verify_collectives(case, output):
    for letter in case.inputs["pictures"]:
        right = SHOWN[letter]
        said = output.get(letter, "").strip().lower().replace("-", "_").replace(" ", "_")
        if said == right:
            continue
        evidence = f"\npicture {letter}: you said {said or 'nothing'}"
        picture = partial(_named_picture, letter)
        if said in ("", "?", "...", "none"):
            raise Wrong(
                "missing", f"Picture {letter} has no name yet. What changes from left to right?{evidence}", picture
            )
        if said not in NAMES:
            text = f"`{said}` is not one of the eight. Which of {', '.join(NAMES)} is it?{evidence}"
            raise Wrong("unknown_name", text, picture)
        pair = frozenset((said, right))
        if pair in _CONFUSED:
            hint, question, pointer = _CONFUSED[pair]
            raise Wrong(hint, f"Picture {letter}: {question}{evidence}", picture, then=(pointer,))
        text = f"Picture {letter} shows something else than {said}. Where do the pieces start, and where do they end?{evidence}"
        then = (
            "Three questions find the name: from one, from all? to one, to all? added up or kept apart?",
            f"In picture {letter}: read rank 0's row on the left, then everybody's row on the right.",
        )
        raise Wrong("another_one", text, picture, then=then)


def _named_picture(letter):
    from labs.messages.figures import picture

    return picture(letter)


collectives = Exercise(
    "collectives", "Name the collective from its picture", 1, _collectives_cases, _run_collectives, _verify_collectives
)


# ---- a collective that one rank skips --------------------------------------------------------------------------


def _mean_cases(seed):
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


def _run_mean(answers, inputs):
    import torch

    from labs.kit.ranks import outcome

    losses = inputs["losses"]
    found = outcome(answers[0], len(losses), args=lambda rank: (torch.from_numpy(losses[rank].copy()),))
    found.pop("events", None)
    return found


def _verify_mean(case, output):
    losses = case.inputs["losses"]
    output = completed(
        output,
        deadlock=(
            "one_rank_skips",
            "A rank without losses went home early. Who is still waiting for it?",
            "Every rank of the group has to come to a collective, even with empty hands.",
            "A rank without losses brings the sum 0 and the count 0, and calls `all_reduce` as the others do.",
        ),
        mismatch=(
            "different_calls",
            "The ranks met in two different collectives. Which call does each rank make, and in which order?",
            "Collectives are matched by order: the first call of one rank meets the first call of the others.",
            "Make the same calls on every rank, with tensors of the same size.",
        ),
    )
    everything = np.concatenate(losses)
    want = float(everything.mean()) if everything.size else 0.0
    results = output["results"]
    got = [
        float(np.asarray(g).reshape(-1)[0]) if isinstance(g, (int, float, np.ndarray)) and np.size(g) else np.nan
        for g in results
    ]
    if not np.allclose(got, want, rtol=1e-6, atol=1e-9):
        _explain_mean(losses, want, got, results)
    if case.part == "budget" and max(output["bytes"]) > 200:
        raise Wrong(
            "sends_the_losses",
            f"A rank sent {max(output['bytes']):,.0f} bytes. How many numbers does an average need from each rank?"
            f"\nbytes sent by rank: {short(output['bytes'])}",
            then=("The sum and the count are enough.", "A tensor of two numbers: `[losses.sum(), len(losses)]`."),
        )


def _explain_mean(losses, want, got, results):
    counts = [len(x) for x in losses]
    n = len(losses)
    evidence = (
        f"\nlosses by rank: {short(counts)} of them\nexpected {want:.4f} on every rank\nyours    {short(results)}"
    )

    def wrong(hint, question, *then):
        raise Wrong(hint, question + evidence, then=then)

    if sum(counts) == 0:
        wrong(
            "nothing_to_average",
            "Nobody has any loss, and you divided by their number. What shall the average be then?",
            "0 divided by 0 is nan. The task says what to return instead.",
            "If the count over all ranks is 0, return 0.0, on every rank.",
        )
    own = [float(x.mean()) if len(x) else 0.0 for x in losses]
    averages = [float(np.mean(own)), float(np.sum(own) / max(1, sum(k > 0 for k in counts)))]
    if any(np.allclose(got, a) for a in averages):
        wrong(
            "mean_of_means",
            "You averaged the ranks' averages. Does a rank with 2 losses count as much as one with 5?",
            "Each loss has to count once, wherever it lies.",
            "Add up all sums, add up all counts, then divide once.",
        )
    if np.allclose(got, float(np.concatenate(losses).sum())):
        wrong(
            "not_divided",
            "That is the sum of all losses. By what do you divide?",
            "The number of losses over all ranks is a sum, too.",
            "Reduce the pair (sum, count), then divide one by the other.",
        )
    if np.allclose(got, float(np.concatenate(losses).sum()) / n):
        wrong(
            "divided_by_ranks",
            "You divided by the number of ranks. Is that how many losses there are?",
            "Ranks hold different numbers of losses.",
            "Count the losses with the same all_reduce that adds them up.",
        )
    wrong(
        "other_values",
        "Not the average of all losses. What do you get when you put all of them in one list?",
        "Compare with the expected value below, for the smallest case.",
        f"All losses together: {sum(counts)} of them, sum {float(np.concatenate(losses).sum()):.4f}.",
    )


mean_loss = Exercise(
    "mean_loss", "The rank that went home early", 1.5, _mean_cases, _run_mean, _verify_mean, core=False
)
