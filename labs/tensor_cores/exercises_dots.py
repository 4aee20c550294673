"""Exercise dot_rows: long sums of products of halves, without losing them."""

from __future__ import annotations

import math

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, completed

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module
LONG = 1 << 18
TOLERANCE = 5e-6


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, a, x, part="correct"):
        return Case(title, {"a": np.asarray(a, np.float16), "x": np.asarray(x, np.float16)}, part)

    return [
        case("4 products, to look at", [[1, 2, 3, 4]], [1, 10, 100, 200]),
        case("1,024 numbers between 0 and 1", rng.random((8, 1024)), rng.random(1024)),
        case("32 products of 300 and 300", np.full((2, 32), 300), np.full(32, 300)),
        case("1,000 numbers between 0 and 1", rng.random((8, 1000)), rng.random(1000), "edge"),
        case("1 product", [[3], [4]], [0.5], "edge"),
        case("no products at all", np.zeros((2, 0)), np.zeros(0), "edge"),
        case(f"{LONG:,} numbers between 0 and 1", *_long(rng), "budget"),
    ]


def _long(rng):
    """A and x whose products one running float sum misses by more than is allowed; by chance it may hit a sum."""
    while True:
        a, x = rng.random((2, LONG)).astype(np.float16), rng.random(LONG).astype(np.float16)
        one_by_one = (a.astype(np.float32) * x.astype(np.float32)).cumsum(axis=1, dtype=np.float32)[:, -1]
        if np.max(np.abs(one_by_one / (a.astype(np.float64) @ x.astype(np.float64)) - 1)) > 2 * TOLERANCE:
            return a, x


def run(answers, inputs):
    """Launch the kernel, a thread for each row of A; y is NaN before."""
    import numpy as np

    from labs.kit.gpu import KernelFailure

    a, x, kernel = inputs["a"], inputs["x"], answers[0]
    if not hasattr(kernel, "source"):
        return kernel()  # a stub: raises NotImplementedError
    y = np.full(len(a), np.nan, np.float32)
    try:
        kernel[len(a), 1](a.reshape(-1), x, y, len(x))
    except KernelFailure as failure:
        return {"failure": failure.as_data()}
    return {"y": y}


def verify(case, output):
    output = completed(output)
    a, x, y = case.inputs["a"], case.inputs["x"], output["y"]
    exact = a.astype(np.float64) @ x.astype(np.float64)
    if y.shape == exact.shape and np.allclose(y, exact, rtol=TOLERANCE, atol=0):
        return
    with np.errstate(all="ignore"):
        error = np.abs(y - exact) / np.abs(exact)
    worst = float(np.max(error)) if np.isfinite(error).all() else math.inf
    k = len(x)
    evidence = f"row 0: yours {y[0]:.8g}, exactly {exact[0]:.8g}; largest relative error {worst:.2g}, K = {k:,}"

    def wrong(hint, question, *then, picture=None):
        raise Wrong(hint, f"{question}\n{evidence}", picture=picture or _digits(y, exact), then=then)

    if np.isnan(y).all() and k == 0:
        wrong("nothing", "What is a sum of no products?", "y is written in any case: 0.")
    for length in (64, 128, 256, 512, 1024, 2048, 4096) if k == LONG and worst > 0.5 else ():
        if np.allclose(y, a[:, -length:].astype(float) @ x[-length:].astype(float), rtol=1e-3):
            wrong(
                "only_the_last",
                f"This is the sum of the last {length:,} products. Where are the chunks before?",
                "sum collects the parts of all chunks.",
                "sum += part;",
            )
    if k == LONG:
        wrong(
            "one_long_sum" if worst < 0.01 else "half_sum_long",
            "A float has 24 bits. What is left of a product below 1 when it is added to a sum of 60,000?",
            "Its last bits, and they are lost 262,144 times. When do they count? While the sum is small.",
            "Sum 1,024 products at a time from zero, and add these sums up; split-K kernels do the same for speed.",
            picture=_picture(),
        )
    if k >= 1000 and worst < 0.02 and np.array_equal(y, y.astype(np.float16)):
        wrong(
            "half_sum",
            "A half has 11 bits. What is left of a product below 1 when it is added to a sum of 256?",
            "From 256 on neighbouring halves are 0.25 apart; from 512 on 0.5.",
            "Let the sum be a float.",
            picture=_picture(),
        )
    if not np.isfinite(y).all():
        wrong(
            "overflow",
            "300 times 300 is 90,000. What is the largest half?",
            "65,504. In which type is the product computed?",
            "__half2float(a) * __half2float(x): convert first, then multiply. A product of two halves fits a float exactly.",
        )
    if np.allclose(y, _rounded(a, x), rtol=3e-6, atol=0):
        wrong(
            "half_product",
            "Your sum is a float. In which type is each product?",
            "A half times a half is a half: rounded to 11 bits before it reaches your float.",
            "__half2float(a) * __half2float(x): convert first, then multiply.",
        )
    if any(k % length and _cut(a, x, y, length) for length in (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)):
        wrong(
            "lost_tail",
            f"K = {k}: your sum lacks the last products. Does every chunk have its full length?",
            "The last chunk ends at K.",
            "for (int i = k; i < min(k + CHUNK, K); i++)",
        )
    wrong(
        "value",
        "Which products does row r add up, and in which type?",
        "y[row] is the sum over k of A[row * K + k] * x[k].",
    )


def _cut(a, x, y, length):
    stop = len(x) // length * length
    return np.allclose(y, a[:, :stop].astype(float) @ x[:stop].astype(float), rtol=1e-3)


def _rounded(a, x):
    """Sums in float64 of products that were rounded to half."""
    with np.errstate(over="ignore"):
        return (a * x).astype(np.float64).sum(axis=1)


def _digits(y, exact):
    def draw():
        from labs.tensor_cores.pictures import digits

        return digits(y, exact, TOLERANCE)

    return draw


def _picture():
    def draw():
        from labs.tensor_cores.accumulation import error_curves

        return error_curves("uniform", 65536)

    return draw


def achieved(outcomes):
    found = []
    for case, output in outcomes:
        if len(case.inputs["x"]) in (1024, LONG):
            exact = case.inputs["a"].astype(np.float64) @ case.inputs["x"].astype(np.float64)
            found.append((case.title, f"largest relative error {float(np.max(np.abs(output['y'] / exact - 1))):.1g}"))
    return found


dot_rows = Exercise("dot_rows", "Accumulate safely", 1, cases, run, verify, core=False, achieved=achieved)
