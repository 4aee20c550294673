"""Exercise crossover: from which message size on the ring beats the binomial tree."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from labs.all_reduce.exercises_words import amount
from labs.kit.exercise import Case, Exercise, Wrong

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)
    n, latency, bandwidth = (
        2 ** int(rng.integers(4, 9)),
        int(rng.integers(2, 30)) * 1e-6,
        int(rng.integers(5, 200)) * 1e9,
    )

    def case(world_size, latency=5e-6, bandwidth=50e9, part="correct"):
        title = f"{world_size:,} rank{'s' * (world_size > 1)}, {latency * 1e6:g} µs, {bandwidth / 1e9:g} GB/s"
        return Case(title, {"world_size": world_size, "latency": latency, "bandwidth": bandwidth}, part)

    found = [case(8), case(64), case(1024), case(n, latency, bandwidth)]
    return found + [case(k, part="edge") for k in (4, 2, 3, 5, 6, 12, 1)]


def run(answers, inputs):
    try:
        return answers[0](inputs["world_size"], inputs["latency"], inputs["bandwidth"])
    except ZeroDivisionError:
        return "ZeroDivisionError"


def ring_time(n, nbytes, latency, bandwidth):
    """Seconds of a ring, counted: 2(n-1) messages of an nth of the bytes. Exact for Fractions."""
    return 2 * (n - 1) * (latency + nbytes / n / bandwidth)


def tree_time(n, nbytes, latency, bandwidth):
    """Seconds of a binomial tree up and down, counted: 2 ceil(log2 n) messages of all bytes. Exact for Fractions."""
    return 2 * (n - 1).bit_length() * (latency + nbytes / bandwidth)


def exact_crossover(n, latency, bandwidth):
    """Where the two straight lines meet, found from two exact points of each, not from a formula."""
    if n == 1:
        return Fraction(0)
    latency, bandwidth = Fraction(latency), Fraction(bandwidth)
    at_0, at_1 = (
        ring_time(n, Fraction(size), latency, bandwidth) - tree_time(n, Fraction(size), latency, bandwidth)
        for size in (0, 1)
    )
    return at_0 / (at_0 - at_1)


def verify(case, output):
    n, latency, bandwidth = (case.inputs[name] for name in ("world_size", "latency", "bandwidth"))
    if output == "ZeroDivisionError":
        raise Wrong(
            "one_rank",
            f"{case.title}: your function divides by zero. How long do ring and tree take on one rank?\n"
            "nobody sends anything, both take no time: 0 bytes is the answer asked for",
            then=("Handle world_size == 1 before you divide.",),
        )
    if type(output) not in (int, float) or not math.isfinite(output):
        raise Wrong("not_a_number", f"{case.title}: which number of bytes? Your function returned {output!r}.")
    want = exact_crossover(n, latency, bandwidth)
    if math.isclose(output, want, rel_tol=1e-6, abs_tol=1e-3):
        return
    rounds = (n - 1).bit_length()
    evidence = f"{case.title}\nyours: {output:.6g} bytes"
    if n > 1 and output >= 0:
        ring, tree = ring_time(n, output, latency, bandwidth), tree_time(n, output, latency, bandwidth)
        evidence += f"\nthere the ring takes {ring * 1e6:.4g} µs and the tree {tree * 1e6:.4g} µs; they should be equal"
    look = _curves(n, latency, bandwidth, output) if n > 1 else None
    for hint, value, question, *then in _slips(n, latency, bandwidth, rounds, float(want)):
        if value is not None and math.isclose(output, value, rel_tol=1e-6):
            raise Wrong(hint, f"{question}\n{evidence}", picture=look, then=then)
    raise Wrong(
        "not_equal",
        f"At which size do ring and tree take equally long?\n{evidence}",
        picture=look,
        then=(
            "Both times are straight lines in S: write them as a + b S. They meet where the two are equal.",
            f"Here: ring {2 * (n - 1)} alpha + {2 * (n - 1)}/{n} S/B, tree {2 * rounds} alpha + {2 * rounds} S/B. "
            f"Subtract: ({n - 1} - {rounds}) alpha = ({rounds} - {n - 1}/{n}) S/B.",
        ),
    )


def _slips(n, latency, bandwidth, rounds, want):
    """(hint, the value it leads to, question, further hints) of the usual slips."""
    ab = latency * bandwidth

    def meet(latencies, share, depth=rounds, up=rounds):
        below = depth - share
        return (latencies - up) * ab / below if below else None

    natural, binary = math.log(n), math.log2(n)
    yield (
        "natural_log", meet(n - 1, (n - 1) / n, natural, natural) if n > 1 else None,
        f"{n} ranks: how often can you halve {n} before one is left? math.log({n}) is {natural:.3g}.",
        "math.log is the natural logarithm. A tree doubles the ranks that are reached in each round: base 2.",
    )  # fmt: skip
    yield (
        "part_of_a_round", meet(n - 1, (n - 1) / n, binary, binary) if rounds != binary else None,
        f"log2({n}) is {binary:.3g}. Can a tree do {binary % 1:.2g} of a round?",
        "Rounds are whole: after k rounds at most 2^k ranks are reached. Which k is enough?",
        f"2^{rounds - 1} = {2 ** (rounds - 1) if rounds else 1} is too few for {n}, 2^{rounds} = {2**rounds} is enough: "
        "math.ceil(math.log2(n)), or (n - 1).bit_length().",
    )  # fmt: skip
    yield (
        "whole_tensor_in_the_ring", -ab if want else None,
        "A negative size? How many bytes does the ring send in each of its rounds?",
        "A ring moves chunks: S/n bytes a round, not S.",
        f"Ring: {2 * (n - 1)} (alpha + S/({n} B)).",
    )  # fmt: skip
    yield (
        "ring_counted_once", meet((n - 1) / 2, (n - 1) / 2 / n),
        "Reduce-scatter and all-gather: how many rounds has a ring all-reduce in all?",
        "n - 1 rounds to sum, n - 1 rounds to hand out. The tree goes up and down as well.",
    )  # fmt: skip
    yield (
        "tree_counted_once", meet(2 * (n - 1), 2 * (n - 1) / n),
        "The sum is on rank 0 after log2 n rounds. How do the others get it?",
        "A tree all-reduce is a reduce and a broadcast: the rounds count twice, like the ring's.",
    )  # fmt: skip
    yield (
        "n_rounds", meet(n, 1.0),
        f"{n} ranks in a ring: after how many rounds has a chunk met everyone?",
        "It starts somewhere: n - 1 hops are left.",
    )  # fmt: skip
    yield (
        "upside_down", (rounds - (n - 1) / n) / (n - 1 - rounds) * ab if n - 1 > rounds else None,
        "With more ranks a ring has more rounds. Should the tree then win up to larger sizes, and does your formula say so?",
        "Solve (n-1-L) alpha = (L - (n-1)/n) S/B for S once more: which bracket comes below the line?",
    )  # fmt: skip
    yield "sign", -want if want else None, "A negative size? Which of the two grows faster with S?", (
        "The tree costs more per byte, the ring more per message. Subtract the smaller from the larger on both sides."
    )  # fmt: skip
    yield (
        "chunk_size", want / n if want else None,
        "Is that the size of the message, or of one chunk?",
        "S is what every rank brings to the all-reduce; a chunk is S/n.",
    )  # fmt: skip
    for scale, unit in ((1e6, "MB"), (1e9, "GB"), (1e3, "kB"), (2**20, "MiB"), (4, "float32 numbers")):
        yield (
            "unit", want / scale if want else None,
            f"The right size, in {unit}. Which unit was asked for?",
            "Bandwidth is in bytes per second and latency in seconds, so bytes come out by themselves.",
        )  # fmt: skip


def _curves(n, latency, bandwidth, yours):
    def draw():
        from labs.kit.draw import curves

        best = float(exact_crossover(n, latency, bandwidth))
        sizes = np.linspace(0, 2 * max(best, yours, latency * bandwidth, 1.0), 33)
        lines = {
            name: (sizes, [time(n, size, latency, bandwidth) for size in sizes])
            for name, time in (("ring", ring_time), ("tree", tree_time))
        }
        marks = [(yours, "yours")] if yours >= 0 else []
        return curves(lines, xlabel="message size (B)", ylabel="time (s)", name="Ring and tree", marks=marks)

    return draw


def achieved(outcomes):
    """The sizes for 8, 64 and 1,024 ranks."""
    return [(case.title, amount(output)) for case, output in outcomes[:3]]


crossover = Exercise(
    "crossover", "From which size on the ring wins", 1, cases, run, verify,
    achieved=achieved,
)  # fmt: skip
