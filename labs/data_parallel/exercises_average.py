"""Exercise average_gradients: the gradient of the whole batch from the gradients of its uneven shards."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, completed, short

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)
    drawn = [int(count) for count in rng.permutation(9)[:3] + 1]

    def case(title, samples, part="correct", shapes=((2, 3), (3,)), empty=None, dtype="float64"):
        values = [[rng.integers(1, 40, shape).astype(dtype) for shape in shapes] for _ in samples]
        for rank, count in enumerate(samples):
            if count == 0 and empty is not None:
                values[rank] = [np.full(shape, empty, dtype) for shape in shapes]
        return Case(title, {"values": values, "samples": list(samples)}, part)

    return [
        case("3, 5, 2 and 4 samples", (3, 5, 2, 4)),
        case("8 samples on each of 4 ranks", (8, 8, 8, 8)),
        case(f"{', '.join(map(str, drawn))} samples", drawn),
        case("float32, 21 samples on 2 ranks", (11, 10), dtype="float32"),
        case("rank 1 has no samples, and gradients of 0", (3, 0, 4), "edge", empty=0.0),
        case("rank 1 has no samples, and gradients of nan", (3, 0, 4), "edge", empty=np.nan),
        case("nobody has samples: gradients of 0", (0, 0), "edge", empty=np.nan),
        case("1 sample on each of 2 ranks", (1, 1), "edge"),
        case("a single rank", (5,), "edge"),
        case("no parameter at all", (2, 3), "edge", shapes=()),
        case("4 ranks, 40 kB of gradients: how much is sent?", (2, 3, 4, 5), "budget", shapes=((50, 90), (500,))),
        case("8 ranks, 40 kB of gradients", (1, 2, 3, 4, 5, 6, 7, 8), "budget", shapes=((50, 90), (500,))),
    ]


def run(answers, inputs):
    import torch

    from labs.kit.ranks import outcome

    values, samples = inputs["values"], inputs["samples"]

    def program(gradients, count, dist):
        kept = list(gradients)
        back = answers[0](gradients, count, dist)
        listed = isinstance(back, (list, tuple)) and all(isinstance(item, torch.Tensor) for item in back)
        return {"after": [each.detach().clone() for each in kept], "returned": list(back) if listed else None}

    found = outcome(
        program,
        len(samples),
        args=lambda rank: ([torch.from_numpy(each.copy()) for each in values[rank]], samples[rank]),
        timeout=10,
    )
    calls = [event[6] for event in found.pop("events", []) if event[0] == 0 and event[1] == "collective"]
    return found if "failure" in found else {**found, "calls": calls}


def verify(case, output):
    values, samples = case.inputs["values"], case.inputs["samples"]
    output = completed(
        output,
        deadlock=(
            "one_rank_skips",
            "A rank went home without meeting the others. Who is still waiting for it?",
            "A rank without samples has nothing to add. Still the others need it in every collective.",
            "Do not return early: bring zeros, and the count 0.",
        ),
        mismatch=(
            "different_calls",
            "The ranks do not bring the same thing to a collective. Do all call it for every gradient, in one order?",
            "Collectives are matched by order, and every rank brings the same shape and dtype.",
        ),
    )
    size, total = len(samples), sum(samples)
    after = [result["after"] for result in output["results"]]
    wanted = whole_batch(values, samples)
    if all(_close(tensors, wanted) for tensors in after):
        _budget(case, output)
        return
    _explain(values, samples, size, total, output, after, wanted)


def whole_batch(values, samples):
    """Gradients of the mean over all samples, in float64: each rank's mean counts as often as it has samples."""
    total = sum(samples)
    parts = range(len(values[0]))
    if not total:
        return [np.zeros(values[0][k].shape) for k in parts]
    return [
        sum(own[k].astype(np.float64) * (count / total) for own, count in zip(values, samples) if count) for k in parts
    ]


def _close(found, wanted):
    if len(found) != len(wanted):
        return False
    for got, want in zip(found, wanted):
        tolerance = 1e-12 if np.asarray(got).dtype == np.float64 else 1e-5
        if np.shape(got) != np.shape(want) or not np.allclose(got, want, rtol=tolerance, atol=tolerance):
            return False
    return True


def _explain(values, samples, size, total, output, after, wanted):
    first = next(rank for rank in range(size) if not _close(after[rank], wanted))
    part = next(k for k in range(len(wanted)) if not _close(after[first][k : k + 1], wanted[k : k + 1]))
    evidence = (
        f"\nsamples by rank: {', '.join(map(str, samples))}"
        f"\nrank {first}, tensor {part}: expected {short(np.round(wanted[part].reshape(-1)[:4], 4).tolist())} ..."
        f"\nrank {first}, tensor {part}: yours    {short(np.round(after[first][part].reshape(-1)[:4], 4).tolist())} ..."
    )

    def wrong(hint, question, *then):
        raise Wrong(hint, question + evidence, then=then)

    if any(np.isnan(tensor).any() for tensor in after[first]):
        if total == 0:
            wrong(
                "nothing_at_all",
                "Nobody has any sample, and the result is nan. By what did you divide?",
                "0 divided by 0 is nan. The task says what to leave instead.",
                "With no sample anywhere, fill the gradients with zeros on every rank.",
            )
        wrong(
            "nan_of_nothing",
            "A rank without samples brought nan, and now everybody has it. What is 0 times nan?",
            "The mean of no losses is 0 / 0. A weight of 0 does not remove a nan.",
            "if samples == 0: gradient.zero_(), before anything is added up.",
        )
    untouched = all(_close([got], [own]) for rank in range(size) for got, own in zip(after[rank], values[rank]))
    if untouched and any(result["returned"] and _close(result["returned"], wanted) for result in output["results"]):
        wrong(
            "not_in_place",
            "You returned the right averages, but the gradients you were given are as before. Which ones will the "
            "optimiser use?",
            "The optimiser reads parameter.grad: the very tensors of the list.",
            "gradient.copy_(average), or an operation that ends in _ or =, such as gradient /= total.",
        )
    if untouched and not any(output["messages"]):
        wrong(
            "nothing_sent",
            "Every rank kept its own gradients, and nobody sent anything. How does a rank hear of the others?",
            "dist.all_reduce(tensor) adds a tensor up over all ranks, in place.",
        )
    if untouched and size > 1:
        wrong(
            "reduced_a_copy",
            "Messages went around, but the gradients are as before. Which tensor did you give to all_reduce?",
            "all_reduce changes the tensor that it is given. An expression such as gradient / size is a new tensor, which "
            "nobody keeps.",
            "gradient *= samples first, then dist.all_reduce(gradient).",
        )
    right = [_close(tensors, wanted) for tensors in after]
    if right[0] and not any(right[1:]):
        wrong(
            "only_rank_0",
            "Rank 0 has the average, the others do not. Which ranks take a step with it?",
            "reduce brings the sum to one rank, all_reduce to everyone.",
        )
    if part > 0:
        wrong(
            "first_tensor_only",
            f"Tensor 0 is right on rank {first}, tensor {part} is not. Does your loop reach every tensor of the list?",
            "gradients is a list with a tensor for each parameter.",
        )
    for hint, slip, question, *then in _slips(values, samples, size, total):
        if all(_close(after[rank], slip(rank)) for rank in range(size)):
            wrong(hint, question, *then)
    wrong(
        "other_values",
        "These are not the gradients of the whole batch. Where does each sample get its weight, and is it once?",
        "Rank r's gradient is a mean over its samples. Times their number it is a sum, and sums can be added up.",
        "gradient *= samples; all_reduce it; divide by the number of samples on all ranks.",
    )


def _slips(values, samples, size, total):
    """Misconceptions: name, the tensors that rank r would end with, question, further hints."""
    parts = range(len(values[0]))
    some = max(total, 1)
    sums = [sum(own[k].astype(np.float64) for own in values) for k in parts]
    weighted = [sum(own[k].astype(np.float64) * count for own, count in zip(values, samples)) for k in parts]

    def over(tensors, number):
        return [tensor / number for tensor in tensors]

    return [
        (
            "sum_not_mean",
            lambda rank: sums,
            f"These are the sums. How much longer is a step with them on {size} ranks?",
            "DDP averages. A sum over n ranks is about n times as long as a mean.",
            "Weight each by its samples, and divide by all samples.",
        ),
        (
            "unweighted",
            lambda rank: over(sums, size),
            "Every rank counts the same here. Should a sample count less because it shares its rank with many others?",
            "Count samples, not ranks: a mean of 2 and a mean of 5 are not worth the same.",
            "gradient *= samples before the all_reduce; divide by the samples of all ranks after it.",
        ),
        (
            "divided_twice",
            lambda rank: over(sums, size * size),
            "Everything is too small by the number of ranks. Where do you divide a second time?",
            "Dividing before the all_reduce or after it is the same. Both is once too often.",
        ),
        (
            "divided_twice",
            lambda rank: over(weighted, some * size),
            "Weighted rightly, then divided by the number of ranks as well. Which of the two divisions is too many?",
            "The number of all samples contains the number of ranks already.",
        ),
        (
            "not_divided",
            lambda rank: weighted,
            "These are sums over all samples. What turns them into means?",
            "The samples of all ranks, added up, are what to divide by.",
        ),
        (
            "own_count",
            lambda rank: over(weighted, max(samples[rank], 1)),
            "The sum over all samples, divided by this rank's own number. Which samples are in that sum?",
            "Everybody's. So their number must be added up, too, with an all_reduce of its own or in the same tensor.",
        ),
        (
            "divided_by_ranks",
            lambda rank: over(weighted, size),
            f"Sums over {total} samples, divided by {size} ranks. What are you averaging over?",
            "Over samples. Reduce their number as well.",
        ),
        (
            "weight_forgotten",
            lambda rank: over(sums, some),
            "You divide by the number of samples, but what you added up were means. How many samples is a mean worth?",
            "Multiply by samples first, so that a mean becomes a sum again.",
        ),
    ]


def _budget(case, output):
    size = len(case.inputs["samples"])
    if case.part != "budget" or size == 1:
        return
    nbytes = sum(tensor.nbytes for tensor in case.inputs["values"][0])
    tensors = len(case.inputs["values"][0])
    ring = 2 * (size - 1) / size * nbytes
    allowed = 1.02 * ring + 2 * (size - 1) * 16 * (tensors + 1)  # the counts, and chunks rounded up
    most = max(output["bytes"])
    if most > allowed:
        raise Wrong(
            "too_many_bytes",
            f"The numbers are right, but a rank sent {most / 1e3:.0f} kB for {nbytes / 1e3:.0f} kB of gradients. How few "
            f"would do?\nan all_reduce sends 2(n-1)/n of them from each of {size} ranks: {ring / 1e3:.0f} kB\n"
            f"you called: {', '.join(dict.fromkeys(map(str, output['calls'][:20]))) or 'no collective'}",
            then=(
                "A gather brings everybody's numbers to everybody, and only their sum is needed.",
                "One dist.all_reduce for each gradient, and one for the number of samples.",
            ),
        )


def achieved(outputs):
    case, output = outputs[-1]
    nbytes = sum(tensor.nbytes for tensor in case.inputs["values"][0])
    return [
        ("sent by each of 8 ranks", f"{max(output['bytes']) / 1e3:.1f} kB for {nbytes / 1e3:.0f} kB of gradients"),
        ("collectives", f"{len(output['calls'])} for {len(case.inputs['values'][0])} tensors"),
    ]


average_gradients = Exercise("average_gradients", "Average, weighted", 3, cases, run, verify, achieved=achieved)
