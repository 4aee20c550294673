"""Exercise accumulate: a batch that does not fit, in pieces, with one all_reduce at the end."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, completed, short

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, sizes, part="correct", width=3):
        batches = [[rng.integers(1, 30, (count, width)).astype(float) for count in own] for own in sizes]
        return Case(title, {"batches": batches, "width": width}, part)

    drawn = [[int(count) for count in rng.permutation(6)[:3] + 1] for _ in range(3)]
    return [
        case("batches of 4, 4 and 2 on one rank, 4, 3 and 1 on the other", [[4, 4, 2], [4, 3, 1]]),
        case("3 batches of 5 on each of 4 ranks", [[5, 5, 5]] * 4),
        case("3 ranks, 3 uneven batches each", drawn),
        case("one batch each", [[3], [5]], "edge"),
        case("rank 0 has a batch more than the others", [[2, 2, 2], [2, 3], [4, 1]], "edge"),
        case("rank 1 has no batch", [[2, 1], []], "edge"),
        case("nobody has a batch: zeros", [[], []], "edge"),
        case("a single rank", [[4, 2, 1]], "edge"),
        case("8 batches on each of 4 ranks, gradients of 40 kB: how much is sent?", [[1] * 8] * 4, "budget", 5000),
    ]


def run(answers, inputs):
    import torch

    from labs.kit.ranks import outcome

    batches, width = inputs["batches"], inputs["width"]
    longest = [[] for _ in batches]

    def program(total, own, dist):
        def gradient(batch):
            longest[dist.get_rank()].append(len(batch))
            return (batch * batch).mean(dim=0)

        answers[0](total, gradient, own, dist)
        return total

    found = outcome(
        program,
        len(batches),
        args=lambda rank: (
            torch.zeros(width, dtype=torch.float64),
            [torch.from_numpy(batch.copy()) for batch in batches[rank]],
        ),
        timeout=10,
    )
    found.pop("events", None)
    return found if "failure" in found else {**found, "longest": longest}


def verify(case, output):
    batches, width = case.inputs["batches"], case.inputs["width"]
    in_loop = (
        "reduced_in_the_loop",
        "The ranks did not meet in the same calls. What if one rank has more batches than another?",
        "A collective inside the loop is called once for each batch, and ranks may have different numbers of them.",
        "Add up on each rank first; after the loop one all_reduce for the sums and one for the number of samples.",
    )
    output = completed(output, deadlock=in_loop, mismatch=in_loop)
    size = len(batches)
    samples = [sum(len(batch) for batch in own) for own in batches]
    squares = [np.concatenate([np.zeros((0, width)), *own]) ** 2 for own in batches]
    whole = np.concatenate(squares)
    wanted = whole.mean(axis=0) if len(whole) else np.zeros(width)
    got = [np.asarray(result) for result in output["results"]]
    if not all(_close(one, wanted) for one in got):
        _explain(batches, squares, samples, wanted, got, output)
    for own, lengths in zip(batches, output["longest"]):
        if own and max(lengths, default=0) > max(len(batch) for batch in own):
            raise Wrong(
                "one_big_batch",
                f"Right, but you computed the gradient of {max(lengths)} samples at once. Why were they in pieces?",
                then=("The whole batch does not fit into memory. Call gradient(batch) for one piece at a time.",),
            )
    if case.part == "budget":
        ring = 2 * (size - 1) / size * 8 * width
        most = max(output["bytes"])
        if most > 1.02 * ring + 2 * (size - 1) * 32:
            raise Wrong(
                "too_many_bytes",
                f"Right, but each rank sent {most / 1e3:.0f} kB for a gradient of {8 * width / 1e3:.0f} kB. How often must "
                f"the ranks talk?\none all_reduce sends {ring / 1e3:.0f} kB from each rank; you sent {most / ring:.1f} "
                "times as much",
                then=(
                    "Sums can be added up at home. Only their total has to travel.",
                    "Move the all_reduce behind the loop.",
                ),
            )


def _close(found, wanted):
    return found.shape == wanted.shape and np.allclose(found, wanted, rtol=1e-12, atol=1e-12)


def _explain(batches, squares, samples, wanted, got, output):
    size, total = len(batches), max(sum(samples), 1)
    bad = next(rank for rank in range(size) if not _close(got[rank], wanted))
    evidence = (
        f"\nsamples by rank: {', '.join(map(str, samples))}"
        f"\nrank {bad}: expected {short(np.round(wanted[:3], 4).tolist())}"
        f"\nrank {bad}: yours    {short(np.round(got[bad][:3], 4).tolist())}"
    )
    sums = [own.sum(axis=0) for own in squares]
    means = [[(batch * batch).mean(axis=0) for batch in own] for own in batches]
    added = [sum(own, np.zeros_like(wanted)) for own in means]
    counts = [len(own) for own in batches]
    everywhere = sum(added)
    slips = [
        (
            "nothing_at_all",
            lambda rank: np.full_like(wanted, np.nan),
            "Nobody has a sample, and you divide by their number. What shall be left in total?",
            "Zeros, as before: divide only if there is something to divide by.",
        ),
        (
            "not_reduced",
            lambda rank: sums[rank] / max(samples[rank], 1),
            "Each rank has the average of its own samples. Who told it about the others?",
            "After the loop: dist.all_reduce(total), and the number of samples as well.",
        ),
        (
            "nothing_stored",
            lambda rank: np.zeros_like(wanted),
            "total is still zero. Into which tensor did you add?",
            "total += ... changes the caller's tensor; total = total + ... makes another one.",
        ),
        (
            "not_divided",
            lambda rank: sum(sums),
            "These are sums over all samples. What turns them into a mean?",
            "Divide by the number of samples on all ranks, once, at the end.",
        ),
        (
            "means_added",
            lambda rank: everywhere,
            f"You added up {sum(counts)} means. How much longer is the step that follows?",
            "A sum of k means is about k times as long as a mean.",
            "total += gradient(batch) * len(batch), and at the end divide by all samples.",
        ),
        (
            "mean_of_means",
            lambda rank: everywhere / max(sum(counts), 1),
            "Every batch counts the same here. Should a sample in a short last batch count more than the others?",
            "Weight each batch by its length, and divide by the number of samples.",
            "total += gradient(batch) * len(batch)",
        ),
        (
            "last_batch_only",
            lambda rank: (
                sum(own[-1] * len(b[-1]) for own, b in zip(means, batches) if own)
                / max(sum(len(b[-1]) for b in batches if b), 1)
            ),
            "Only the last batch of each rank is in the result. What happens to total in your loop?",
            "Accumulate: += instead of = or copy_.",
        ),
        (
            "own_count",
            lambda rank: sum(sums) / max(samples[rank], 1),
            "The sums of all ranks, divided by this rank's own number of samples. Which samples are in the sum?",
            "Add up the numbers of samples over the ranks, too.",
        ),
        (
            "divided_twice",
            lambda rank: sum(sums) / total / size,
            "Too small by the number of ranks. Which of your two divisions is too many?",
            "The number of all samples contains the number of ranks already.",
        ),
        (
            "mean_of_ranks",
            lambda rank: sum(own / max(count, 1) for own, count in zip(sums, samples)) / size,
            "Every rank counts the same here, however many samples it has. What should each sample count?",
            "Reduce the sums and the numbers of samples, then divide once.",
        ),
        *(
            (
                "ranks_added",
                lambda rank, averages=averages: sum(averages),
                f"Each rank averaged at home, and you added up {size} averages. How much longer is the step that follows?",
                "Averages of unequal parts can be neither added nor averaged. Sums can.",
                "Reduce the sums and the numbers of samples, then divide once.",
            )
            for averages in (
                [own / max(count, 1) for own, count in zip(sums, samples)],
                [own / max(count, 1) for own, count in zip(added, counts)],
            )
        ),
    ]
    for hint, slip, question, *then in slips:
        if all(np.allclose(got[rank], slip(rank), rtol=1e-9, equal_nan=True) for rank in range(size)):
            raise Wrong(hint, question + evidence, then=then)
    raise Wrong(
        "other_values",
        "This is not the average over all samples. By how much do you weight a batch, and by what do you divide?"
        + evidence,
        then=(
            "gradient(batch) is a mean over len(batch) samples.",
            "In the loop: total += gradient(batch) * len(batch). After it: all_reduce total and the count, and divide.",
        ),
    )


accumulate = Exercise("accumulate", "Many small batches, one step", 1.5, cases, run, verify, core=False)
