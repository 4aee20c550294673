"""Exercise two_paths: how to share a copy between two paths so that both end together."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from labs.all_reduce.exercises_words import amount
from labs.kit.exercise import Case, Exercise, Wrong

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)
    nvlink, host = [1.4e-6, 52.7e9], [12.7e-6, 20.6e9]  # the reference machine, one direction: peer access on and off

    def case(title, nbytes, first, second, part="correct"):
        return Case(title, {"nbytes": nbytes, "first": first, "second": second}, part)

    some = [[int(rng.integers(1, 50)) * 1e-6, int(rng.integers(2, 90)) * 1e9] for _ in range(2)]
    while abs(some[0][0] - some[1][0]) < 1e-6 or some[0][1] == some[1][1]:
        some[0] = [some[0][0] + 7e-6, some[0][1] + 3e9]
    return [
        case("equal latencies, 60 and 20 GB/s, 80 MB", 80_000_000, [5e-6, 60e9], [5e-6, 20e9]),
        case("NVLink and host memory, 64 MB", 64_000_000, nvlink, host),
        case("the slower path first", 64_000_000, host, nvlink),
        case("two other paths, 100 MB", 100_000_000, *some),
        case("so short that the slow path never starts", 100_000, nvlink, host, "edge"),
        case("so short, the slower path first", 100_000, host, nvlink, "edge"),
        case("nothing to send", 0, nvlink, host, "edge"),
        case("two equal paths", 10_000_000, nvlink, nvlink, "edge"),
    ]


def run(answers, inputs):
    return answers[0](inputs["nbytes"], tuple(inputs["first"]), tuple(inputs["second"]))


def exact_split(nbytes, first, second):
    """Bytes for the first path, exactly: both end together, or one of them is not worth starting."""
    (a1, b1), (a2, b2) = (map(Fraction, path) for path in (first, second))
    together = (nbytes / b2 + a2 - a1) / (1 / b1 + 1 / b2)
    return min(max(together, Fraction(0)), Fraction(nbytes))


def verify(case, output):
    nbytes, first, second = (case.inputs[name] for name in ("nbytes", "first", "second"))
    if type(output) not in (int, float) or not math.isfinite(output):
        raise Wrong("not_a_number", f"{case.title}: how many bytes? Your function returned {output!r}.")
    want = float(exact_split(nbytes, first, second))
    if abs(output - want) <= 1 + 1e-9 * nbytes:
        return
    (a1, b1), (a2, b2) = first, second
    rest = nbytes - output
    evidence = (
        f"{case.title}\nyours: {output:,.0f} of {nbytes:,} bytes\n"
        f"first path: {a1 * 1e6:g} µs, {b1 / 1e9:g} GB/s: done after {(a1 + output / b1) * 1e6:,.1f} µs\n"
        f"second path: {a2 * 1e6:g} µs, {b2 / 1e9:g} GB/s: done after {(a2 + rest / b2) * 1e6:,.1f} µs"
    )
    share = nbytes * b1 / (b1 + b2)
    shift = (a2 - a1) * b1 * b2 / (b1 + b2)
    slips = (
        ("clip", share + shift if not 0 <= share + shift <= nbytes else None,
         "Can a path carry less than nothing, or more than there is?",
         "When even the last byte is faster on one path, the other stays unused: between 0 and nbytes."),
        ("latency_forgotten", share,
         "In proportion to the bandwidths. Do both paths end at the same time then?",
         "The path that starts earlier can carry more: (a2 - a1) seconds' worth is to be shared out.",
         "a1 + x/B1 = a2 + (S - x)/B2, solved for x."),
        ("half", nbytes / 2 if b1 != b2 or a1 != a2 else None,
         "Half on each path: which one is done first, and what could it do meanwhile?",
         "Give the fast one more, until both end together."),
        ("swapped", nbytes * b2 / (b1 + b2) - shift,
         "Is that the share of the first path, or of the second?",
         "The faster path gets more. What is left, nbytes - x, goes over the other."),
        ("swapped", nbytes * b2 / (b1 + b2),
         "Is that the share of the first path, or of the second?",
         "The faster path gets more. What is left, nbytes - x, goes over the other."),
        ("latency_sign", share - shift,
         "The path that takes longer to start: should it carry more because of that, or less?",
         "a1 + x/B1 = a2 + (S - x)/B2: bring a1 to the other side with care."),
        ("latency_sign", min(max(share - shift, 0), nbytes),
         "The path that takes longer to start: should it carry more because of that, or less?",
         "a1 + x/B1 = a2 + (S - x)/B2: bring a1 to the other side with care."),
        ("fraction", want / nbytes if nbytes else None,
         "A share between 0 and 1. What was asked for?", "Multiply by nbytes."),
    )  # fmt: skip
    for hint, value, question, *then in slips:
        if value is not None and math.isclose(output, value, rel_tol=1e-6, abs_tol=1e-3 if hint == "fraction" else 1.5):
            raise Wrong(hint, f"{question}\n{evidence}", picture=_curves(case, output), then=then)
    raise Wrong(
        "not_together",
        f"Which path is done first, and what could it do meanwhile?\n{evidence}",
        picture=_curves(case, output),
        then=(
            "At the best split both paths end together. Write down both end times and set them equal.",
            f"a1 + x/B1 = a2 + (S - x)/B2 gives x = {want:,.0f} here.",
        ),
    )


def _curves(case, yours):
    def draw():
        from labs.kit.draw import curves

        nbytes, (a1, b1), (a2, b2) = (case.inputs[name] for name in ("nbytes", "first", "second"))
        xs = np.linspace(0, nbytes or 1, 33)
        lines = {"first path": (xs, a1 + xs / b1), "second path": (xs, a2 + (nbytes - xs) / b2)}
        marks = [(yours, "yours")] if 0 <= yours <= nbytes else []
        return curves(lines, xlabel="on the first path (B)", ylabel="done after (s)", name="Two paths", marks=marks)

    return draw


def achieved(outcomes):
    """What the second path saves on the reference machine."""
    case, share = outcomes[1]
    nbytes, (latency, bandwidth) = case.inputs["nbytes"], case.inputs["first"]
    gain = (latency + nbytes / bandwidth) / (latency + share / bandwidth)
    return [(case.title, f"{amount(share)} over NVLink: {gain:.2f} times as fast as NVLink alone")]


two_paths = Exercise(
    "two_paths", "Share a copy between two paths", 1, cases, run, verify, core=False,
    achieved=achieved,
)  # fmt: skip
