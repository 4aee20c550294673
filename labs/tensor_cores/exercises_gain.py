"""Exercise gain: how many times as fast a matrix unit can make a product, from its intensity."""

from __future__ import annotations

import math

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, short

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module
TOLERANCE = 0.02
SCALAR, TENSOR, BANDWIDTH = 19.5e12, 312e12, 1.555e12


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, m, n, k, peaks=(SCALAR, TENSOR, BANDWIDTH), part="correct"):
        names = ("M", "N", "K", "scalar", "tensor", "bandwidth")
        return Case(title, dict(zip(names, (m, n, k, *map(float, peaks)))), part)

    drawn = [int(x) for x in 16 * rng.integers(4, 200, 3)]
    return [
        case("4096 x 512 x 1024", 4096, 512, 1024),  # A, B and C differ in bytes, so each slip is told apart
        case("4096 x 4096 x 4096", 4096, 4096, 4096),
        case("a matrix times a vector: 4096 x 1 x 4096", 4096, 1, 4096),
        case("a matrix times 16 vectors: 4096 x 16 x 4096", 4096, 16, 4096),
        case("256 x 256 x 256", 256, 256, 256),
        case(f"drawn: {' x '.join(map(str, drawn))}", *drawn),
        case("another device, 512 x 64 x 1024", 512, 64, 1024, (60e12, 900e12, 3e12), "edge"),
        case("one number: 1 x 1 x 1", 1, 1, 1, part="edge"),
    ]


def run(answers, inputs):
    names = ("M", "N", "K", "scalar", "tensor", "bandwidth")
    found = answers[0](*[inputs[name] for name in names])
    return [float(x) for x in found] if isinstance(found, (list, tuple)) and len(found) == 2 else found


def counted(inputs):
    """Operations and bytes, each matrix counted once."""
    m, n, k = inputs["M"], inputs["N"], inputs["K"]
    bytes_of = {"A": 2 * m * k, "B": 2 * k * n, "C": 4 * m * n}
    return 2 * m * n * k, sum(bytes_of.values()), bytes_of


def right(inputs):
    """Intensity, and the time on the scalar units over that on the matrix unit."""
    flops, nbytes, _ = counted(inputs)
    move = nbytes / inputs["bandwidth"]
    return [flops / nbytes, max(move, flops / inputs["scalar"]) / max(move, flops / inputs["tensor"])]


def verify(case, output):
    inputs = case.inputs
    if type(output) is not list or not all(math.isfinite(x) for x in output):
        raise Wrong("two_numbers", f"Two numbers are asked for, intensity and gain, not {short(output)}.")
    want = right(inputs)
    names = ("intensity", "gain")
    off = [i for i in (0, 1) if not math.isclose(output[i], want[i], rel_tol=TOLERANCE)]
    if not off:
        return
    evidence = f"yours: intensity {output[0]:.4g} FLOP/B, gain {output[1]:.4g}"
    flops, nbytes, of = counted(inputs)
    peaks = inputs["tensor"] / inputs["scalar"]
    slips = [
        ("one_flop", 0, flops / 2 / nbytes, "A multiply-add: how many operations does the data sheet count?",
         "Two. A product of M x K and K x N takes 2 M N K operations."),
        ("elements", 0, flops / (of["A"] / 2 + of["B"] / 2 + of["C"] / 4), "Operations per byte. Did you count bytes, or elements?",
         "A half has 2 bytes, a float 4."),
        ("all_halves", 0, flops / (nbytes - of["C"] / 2), "In which type does C leave the unit?",
         "A and B are halves (2 bytes), C is float (4 bytes)."),
        ("all_floats", 0, flops / (nbytes + of["A"] + of["B"]), "In which type do A and B come?",
         "A and B are halves (2 bytes), C is float (4 bytes)."),
        ("no_result", 0, flops / (nbytes - of["C"]), "A and B are read. What happens to C?", "It is written: 4 M N bytes."),
        ("read_too", 0, flops / (nbytes + of["C"]), "C is written once. Is it read as well?",
         "Not in A times B: 4 M N bytes, once."),
        ("inverse", 0, nbytes / flops, "Operations per byte, or bytes per operation?", "Intensity is FLOP/B."),
        ("peaks", 1, peaks, "Is the product waiting for the unit, or for the memory?",
         "A device takes the longer of the two: flops / peak and bytes / bandwidth.",
         "time = max(flops / peak, bytes / bandwidth), once with each peak; the gain is their ratio."),
        ("added", 1, (nbytes / inputs["bandwidth"] + flops / inputs["scalar"]) / (nbytes / inputs["bandwidth"] + flops / inputs["tensor"]),
         "Does the device stop computing while it loads?", "The roofline lets both happen at once: take the longer one, not the sum."),
        ("upside_down", 1, 1 / want[1], "Which of the two times is the longer one?", "gain = scalar time / tensor time, at least 1."),
    ]  # fmt: skip
    first = off[0]
    for hint, which, value, question, *then in slips:
        if which == first and math.isclose(output[which], value, rel_tol=1e-3):
            raise Wrong(hint, f"{question}\n{evidence}", picture=_picture(inputs), then=then)
    question = {
        0: "How many operations, and how many bytes if A and B are read once and C is written once?",
        1: "What is the shortest possible time with either unit?",
    }[first]
    steps = {
        0: ("2 M N K operations; 2 M K + 2 K N + 4 M N bytes.",),
        1: ("time = max(flops / peak, bytes / bandwidth), once with each peak; the gain is their ratio.",),
    }[first]
    raise Wrong(names[first], f"{question}\n{evidence}", picture=_picture(inputs), then=steps)


def _picture(inputs):
    def draw():
        from labs.tensor_cores.roofs import product_on_roofs

        return product_on_roofs(*[inputs[name] for name in ("M", "N", "K", "scalar", "tensor", "bandwidth")])

    return draw


def achieved(outcomes):
    return [(case.title, f"{output[0]:.4g} FLOP/B, at most {output[1]:.3g} times") for case, output in outcomes[1:5]]


gain = Exercise("gain", "Predict when it pays", 1, cases, run, verify, core=False, achieved=achieved)
