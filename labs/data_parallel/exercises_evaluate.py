"""Exercise evaluate: every image is scored once, by one rank, however many ranks there are."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, completed

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(count, size, part="correct"):
        labels = rng.integers(0, 10, count)
        predicted = labels.copy()
        # First and last image are right: whoever counts them twice or drops them is seen. Two in five are wrong, many
        # more than agree by chance, so that who mixes images up never seems to have counted the wrong ones.
        if count > 2:
            missed = rng.choice(np.arange(1, count - 1), 2 * count // 5, replace=False)
            predicted[missed] = (labels[missed] + 1) % 10
        title = f"{count:,} image{'s' * (count != 1)} on {size} rank{'s' * (size != 1)}"
        return Case(title, {"predicted": predicted, "labels": labels, "size": size}, part)

    size = int(rng.integers(3, 7))
    return [
        case(21, 2),
        case(20, 4),
        case(size * int(rng.integers(5, 12)) + int(rng.integers(1, size)), size),
        case(3, 4, "edge"),
        case(4, 4, "edge"),
        case(5, 4, "edge"),
        case(1, 2, "edge"),
        case(0, 2, "edge"),
        case(7, 1, "edge"),
        case(2007, 8, "budget"),
    ]


def run(answers, inputs):
    import torch

    from labs.kit.ranks import outcome

    predicted, size = torch.from_numpy(inputs["predicted"]), inputs["size"]
    count = len(predicted)
    looked = [0] * size

    def program(images, labels, dist):
        def predict(batch):
            looked[dist.get_rank()] += len(batch)
            return predicted[batch[:, 0].long()]

        back = answers[0](predict, images, labels, dist)
        if back is None or back is ...:
            return back
        return [float(number) for number in back]

    found = outcome(
        program,
        size,
        args=(torch.arange(count, dtype=torch.float64).reshape(count, 1), torch.from_numpy(inputs["labels"])),
        timeout=10,
    )
    found.pop("events", None)
    return found if "failure" in found else {**found, "looked": looked}


def verify(case, output):
    predicted, labels, size = (case.inputs[name] for name in ("predicted", "labels", "size"))
    output = completed(
        output,
        deadlock=(
            "one_rank_skips",
            "A rank without images went home early. Who is still waiting for it?",
            "It has 0 right of 0, and the others need to hear that.",
        ),
    )
    count, right = len(labels), int((predicted == labels).sum())
    results = output["results"]
    if any(result is None for result in results):
        raise Wrong("nothing_returned", "A rank returned None. Who should know the score?", then=("Everybody.",))
    if any(len(result) != 2 for result in results):
        raise Wrong("wrong_count", "Two numbers are asked for: how many are right, and how many were scored?")
    wanted = [right, count]
    shown = "; ".join(f"rank {rank}: {a:g} of {b:g}" for rank, (a, b) in enumerate(results[:6]))
    evidence = f"\n{case.title}: expected {right} of {count} on every rank\nyours: {shown}"

    def wrong(hint, question, *then):
        raise Wrong(hint, question + evidence, then=then)

    if any(result != wanted for result in results):
        _explain(results, wanted, right, count, size, wrong)
    most, share = max(output["looked"]), -(-count // size)
    if min(output["looked"]) >= count > 1 and size > 1:
        wrong(
            "everybody_everything",
            f"Right, but every rank scored all {count} images. Which work did you share?",
            "Each rank needs its own part only: images[rank::size].",
        )
    if case.part == "budget":
        if most > share:
            wrong(
                "uneven",
                f"Right, but one rank scored {most} images where {share} would do. Who waits for whom?",
                "images[rank::size] differ by at most one image.",
            )
        if max(output["bytes"]) > 64 * size:
            wrong(
                "too_many_bytes",
                f"Right, but a rank sent {max(output['bytes']):,.0f} bytes. How many numbers does a score consist of?",
                "The ranks need not exchange predictions. Two numbers from each are enough.",
                "torch.tensor([right, seen]), and one all_reduce.",
            )


def _explain(results, wanted, right, count, size, wrong):
    each = -(-count // size)
    same = all(result == results[0] for result in results)
    seen = [result[1] for result in results]
    if size > 1 and results[0] == wanted:
        wrong(
            "only_rank_0",
            "Rank 0 knows the score, the others do not. What if each of them decides whether to stop training?",
            "reduce brings the sum to one rank, all_reduce to all.",
        )
    if all(0 <= result[0] <= 1 for result in results) and any(result[0] % 1 for result in results):
        wrong(
            "a_share",
            "You returned shares. Can shares of unequal parts be put together again?",
            "Return how many were right and how many were scored: two whole numbers.",
        )
    if not same and sum(seen) in (count, each * size, count // size * size):
        wrong(
            "own_part_only",
            "Every rank knows its own part of the score. How does it hear of the others?",
            "dist.all_reduce adds up a tensor over all ranks.",
            "counts = torch.tensor([right, seen]); dist.all_reduce(counts)",
        )
    if same and seen[0] == count * size and size > 1:
        wrong(
            "scored_by_all",
            f"You scored {seen[0]:g} images, and there are {count}. Which rank should look at image 0?",
            "One of them. Take a part of the images on each rank.",
        )
    if same and seen[0] == each * size:
        wrong(
            "padding_scored",
            f"You scored {seen[0]:g} images, and there are {count}. Which one counted twice?",
            "Padding makes the parts equal by repeating images. For training that hardly matters; a score becomes wrong.",
            "No padding: images[rank::size], and some ranks have one image fewer.",
        )
    if same and seen[0] == count // size * size:
        wrong(
            "remainder_dropped",
            f"You scored {seen[0]:g} images, and there are {count}. What about the remainder?",
            "Parts need not be equal here: nobody waits for a partner in each step.",
            "images[rank::size] leaves none out.",
        )
    if same and seen[0] == count and results[0][0] == count - right:
        wrong("wrong_ones", "You counted the wrong answers. What is asked for?", "(predicted == labels).sum()")
    if same and seen[0] == count and size > 1:
        wrong(
            "mixed_up",
            "The right number of images, but another number of right ones. Do predictions and labels belong together?",
            "Cut images and labels in the same places.",
        )
    wrong(
        "other_score",
        "This is not the score of all images. Which images does each rank look at, and who adds up?",
        "Each rank scores images[rank::size] against labels[rank::size].",
        "All-reduce a tensor of two numbers, right and seen.",
    )


def achieved(outputs):
    case, output = outputs[-1]
    return [
        ("scored by the busiest of 8 ranks", f"{max(output['looked']):,} of {len(case.inputs['labels']):,} images"),
        ("sent by each", f"{max(output['bytes']):,.0f} bytes"),
    ]


evaluate = Exercise("evaluate", "Score every image once", 1.5, cases, run, verify, core=False, achieved=achieved)
