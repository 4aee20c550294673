"""Exercise compress: gradients travel as fp16, and nothing overflows on the way."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, completed, short

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module

LARGEST = 65504.0  # of fp16


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, rows, part="correct"):
        return Case(title, {"gradients": [np.asarray(row, np.float32) for row in rows]}, part)

    return [
        case("4 ranks, gradients around 1", rng.normal(0, 1, (4, 3, 5))),
        case("2 ranks, gradients around 1000", rng.normal(0, 1000, (2, 20))),
        case("the sum is too large for fp16: four times about 40,000", 40000 + rng.integers(0, 50, (4, 6))),
        case("one gradient of 100,000 on rank 0 of 4", [[100_000.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]),
        case("a single rank", [[0.25, -3.0]], "edge"),
        case("zeros", np.zeros((3, 4)), "edge"),
        case("no elements", np.zeros((2, 0)), "edge"),
        case("10,000 elements on 4 ranks: how much is sent?", rng.normal(0, 1, (4, 10_000)), "budget"),
    ]


def run(answers, inputs):
    import torch

    from labs.kit.ranks import outcome

    gradients = inputs["gradients"]

    def program(gradient, dist):
        answers[0](gradient, dist)
        return gradient

    found = outcome(program, len(gradients), args=lambda rank: (torch.from_numpy(gradients[rank].copy()),), timeout=10)
    found.pop("events", None)
    return found


def verify(case, output):
    output = completed(output)
    given = np.stack(case.inputs["gradients"]).astype(np.float64)
    size = len(given)
    wanted = given.mean(axis=0)
    # each of `size` numbers is rounded once as it is cast, and each of the sums once more; 2^-25: half a subnormal step
    allowed = (np.abs(given).sum(axis=0) / size) * (size + 1) * 2.0**-11 + (size + 1) * 2.0**-25 + 1e-30
    got = [np.asarray(result, np.float64) for result in output["results"]]
    for rank, values in enumerate(got):
        if not np.all(np.abs(values - wanted) <= allowed):
            _explain(rank, values, given, wanted, size, output)
    if case.part == "budget":
        full = 2 * (size - 1) / size * 4 * wanted.size
        most = max(output["bytes"])
        if most > 0.52 * full:
            raise Wrong(
                "not_compressed",
                f"Right, but each rank sent {most / 1e3:.0f} kB. How many would fp16 need?\n"
                f"fp32: {full / 1e3:.0f} kB, fp16: {full / 2e3:.0f} kB",
                then=("What travels is the tensor that all_reduce gets. What is its dtype?", "small = gradient.half()"),
            )


def _explain(rank, got, given, wanted, size, output):
    first = int(np.argmax(~(np.abs(got - wanted) <= 1e-3 * np.abs(wanted) + 1e-6)))
    evidence = (
        f"\nrank {rank}, element {first}: {', '.join(f'{each:g}' for each in given.reshape(size, -1)[:, first][:4])} on the "
        f"ranks\nexpected {short(wanted.reshape(-1)[first])}\nyours    {short(got.reshape(-1)[first])}"
    )

    def wrong(hint, question, *then):
        raise Wrong(hint, question + evidence, then=then)

    if not np.isfinite(got).all():
        if np.abs(given).max() > LARGEST:
            wrong(
                "cast_first",
                "A gradient became infinite before it left its rank. What is the largest number in fp16?",
                "65,504. The gradient is larger, a quarter of it is not.",
                "Divide in fp32 by the number of ranks, then cast.",
            )
        wrong(
            "divided_after",
            "Each gradient fits into fp16, their sum does not. When do you divide?",
            "65,504 is the end of fp16. n numbers of 40,000 are beyond it, n quarters of them are not.",
            "Divide by the number of ranks before the all_reduce.",
        )
    if np.allclose(got, given.sum(axis=0), rtol=2e-2, atol=1e-3) and size > 1:
        wrong("sum_not_mean", "These are sums. Where do they become averages?", "Divide by dist.get_world_size().")
    if np.allclose(got, given[rank], rtol=2e-3):
        wrong(
            "not_written_back",
            "The gradient is as before. Which tensor holds the average?",
            "gradient.half() makes another tensor, and only that one was reduced.",
            "gradient.copy_(small)",
        )
    if np.allclose(got, given[rank] / size, rtol=2e-3):
        wrong(
            "not_written_back_2",
            "This rank's own gradient, divided. Which tensor holds the average?",
            "gradient.half() makes another tensor: copy it back with gradient.copy_(small).",
        )
    if np.allclose(got, wanted, rtol=2.0**-6, atol=0.05):
        wrong(
            "too_coarse",
            "About right, but with two or three digits only. Which format keeps so few?",
            "bfloat16 has 8 bits for the digits, fp16 has 11. bfloat16 cannot overflow here, that is its advantage.",
            "The task asks for fp16: torch.float16, or .half().",
        )
    wrong(
        "other_values",
        "Not the average. What happens to the gradient on its way, step by step?",
        "Divide, cast, all_reduce, copy back.",
    )


def achieved(outputs):
    case, output = outputs[-1]
    size, count = len(case.inputs["gradients"]), case.inputs["gradients"][0].size
    full = 2 * (size - 1) / size * 4 * count
    return [("sent by each rank", f"{max(output['bytes']) / 1e3:.0f} kB; in fp32 {full / 1e3:.0f} kB")]


compress = Exercise("compress", "Half the bytes, no overflow", 1.5, cases, run, verify, core=False, achieved=achieved)
