"""Exercise wmma_product: a product by tensor cores, a warp for each tile of the result."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, completed

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module
SHAPES = [[m, n, k] for m in range(16, 65, 16) for n in range(16, 49, 16) for k in range(16, 81, 16)]
"""Every M x N x K in multiples of 16 up to 64 x 48 x 80."""


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, shapes, part="correct"):
        a, b = (rng.integers(-60, 61, shape).astype(np.float16) for shape in ((64, 80), (80, 48)))
        return Case(title, {"a": a, "b": b, "shapes": shapes}, part)

    drawn = SHAPES[int(rng.integers(len(SHAPES)))]
    return [
        case("one tile: 16 x 16 x 16", [[16, 16, 16]]),
        case("one tile of C, five deep: 16 x 16 x 80", [[16, 16, 80]]),
        case("64 x 48 x 80", [[64, 48, 80]]),
        case("16 x 48 x 32", [[16, 48, 32]]),
        case(f"drawn: {' x '.join(map(str, drawn))}", [drawn], "edge"),
        case(f"all {len(SHAPES)} shapes up to 64 x 48 x 80", SHAPES, "edge"),
    ]


def run(answers, inputs):
    """Launch the kernel on the leading parts of A and B; C is NaN before.

    Blocks that write the same elements of C are let through, because what they leave shows the mistake.
    """
    import numpy as np

    from labs.kit.gpu import KernelFailure, compile_cuda

    kernel, found = answers[0], []
    if not hasattr(kernel, "source"):
        return kernel()  # a stub: raises NotImplementedError
    for m, n, k in inputs["shapes"]:
        a, b = np.ascontiguousarray(inputs["a"][:m, :k]), np.ascontiguousarray(inputs["b"][:k, :n])
        c = np.full((m, n), np.nan, np.float32)
        grid = (n // 16, m // 16)
        try:
            try:
                kernel[grid, 32](a, b, c, m, n, k)
            except KernelFailure as failure:
                if failure.kind != "race":
                    raise
                kernel = compile_cuda(kernel.source.text, kernel.name, races=False)
                kernel[grid, 32](a, b, c, m, n, k)
        except KernelFailure as failure:
            return {"failure": failure.as_data(), "shape": [m, n, k]}
        found.append(c)
    return {"c": found, "filled": "fill_fragment" in kernel.source.text}


def stored_with(want, ld, offsets=True):
    """C after each tile of `want` was stored with leading dimension `ld`; None where that would leave the array."""
    rows, columns = want.shape
    c = np.full(want.size, np.nan, np.float32)
    for i in range(0, rows, 16):
        for j in range(0, columns, 16):
            begin = i * columns + j if offsets else 0
            to = begin + np.arange(16)[:, None] * ld + np.arange(16)
            if to.max() >= c.size:
                return None
            c[to] = want[i : i + 16, j : j + 16]
    return c.reshape(want.shape)


def turned(want):
    """`want` with each tile of 16 x 16 transposed."""
    rows, columns = want.shape
    return want.reshape(rows // 16, 16, columns // 16, 16).transpose(0, 3, 2, 1).reshape(rows, columns)


def verify(case, output):
    failure = output.get("failure")
    if failure and failure.get("array") == "C":
        m, n, k = output["shape"]
        try:
            output = completed(output, out_of_bounds=_store_ld(m, n, k))
        except Wrong as wrong:
            picture = _outside(m, n, [ld for ld in (k, m) if ld != n])
            raise Wrong(wrong.hint, wrong.message, picture=picture, then=wrong.then) from None
    output = completed(
        output,
        wmma=("fragment", "The unit refuses this. What does the explanation below ask for?"),
        misaligned=("alignment", "A tile must begin at a multiple of 32 bytes, and ld must be a multiple of 8 halves or 4"
                    " floats. Which pointer or ld is it?"),
    )  # fmt: skip
    for shape, c in zip(case.inputs["shapes"], output["c"], strict=True):
        m, n, k = shape
        a, b = (case.inputs[name].astype(np.float64) for name in "ab")
        a, b = a[:m, :k], b[:k, :n]
        want = (a @ b).astype(np.float32)
        if c.shape == want.shape and np.array_equal(c, want):
            continue
        _judge(shape, (a, b), c, want, output["filled"])


def _store_ld(m, n, k):
    return (
        "store_ld",
        f"C is {m} x {n}, row by row. How far is it from one row of C to the next? (Your store left C.)",
        "The leading dimension belongs to the array that holds the tile: not to the tile, and not to A.",
        f"C has {n} elements in a row, so ld = N = {n}. M is {m}, K is {k}.",
    )


def _outside(m, n, guesses):
    """A callable that draws where a tile goes that is stored with another leading dimension; None without a guess."""
    if not guesses:
        return None

    def draw():
        from labs.tensor_cores.pictures import tile_in_memory

        return tile_in_memory(m, n, "row", 0, guesses[0], wanted=(0, 0))

    return draw


def _judge(shape, inputs, c, want, filled):
    m, n, k = shape
    a, b = inputs
    right, missing = int((c == want).sum()), int(np.isnan(c).sum())
    evidence = f"{m} x {n} x {k}: {right} of {c.size} elements of C are right; {missing} were never written."

    def wrong(hint, question, *then):
        raise Wrong(hint, f"{question}\n{evidence}", picture=_picture(c, want), then=then)

    if np.isnan(c).all():
        wrong(
            "not_stored",
            "C is as it was before the launch. Which call takes a fragment back to memory?",
            "wmma::store_matrix_sync(pointer to the tile in C, c, ld, wmma::mem_row_major)",
        )
    if not filled:
        wrong(
            "not_filled",
            "mma_sync adds to c. What is in c before the first turn?",
            "A fragment lives in registers, and they hold whatever was there before. Here it is the tile before.",
            "wmma::fill_fragment(c, 0.0f); before the loop.",
        )
    for ld, name in ((m, "M"), (k, "K"), (16, "16")):
        if ld != n and np.array_equal(stored := stored_with(want, ld), c, equal_nan=True) and stored is not None:
            hint, question, *then = _store_ld(m, n, k)
            wrong(hint, question.replace("Your store left C", f"You stored with {name} = {ld}"), *then)
    if np.array_equal(c, stored_with(want, n, offsets=False), equal_nan=True) and c.size > 256:
        wrong(
            "one_place",
            "Every warp stores its tile at the same place. Where does this warp's tile begin in C?",
            "At element (row, column) of C, as the loads do it for A and B.",
            "C + row * N + column",
        )
    last = (a[:, -16:] @ b[-16:]).astype(np.float32)
    if np.array_equal(c, last):
        wrong(
            "only_the_last",
            f"C holds the product of the last 16 columns of A and the last 16 rows of B only. Where are the other {k - 16}?",
            "c collects over all turns of the loop. What sets it back, or what is not passed on?",
            "fill_fragment belongs before the loop. And mma_sync(d, a, b, c) is d = a b + c: d and c are both your c.",
        )
    if np.array_equal(c, turned(want)):
        wrong(
            "transposed",
            "Each tile of C is its own mirror image. In which order did you store it?",
            "The accumulator has no layout of its own; the last argument of the store decides.",
            "C lies row by row: wmma::mem_row_major.",
        )
    if np.isfinite(c).all() and np.ptp(c - want) == 0:
        wrong(
            "filled_with",
            f"Every element is off by {float((c - want).flat[0]):g}. What is in c before the first turn?",
            "mma_sync adds to c, so c begins with 0.",
            "wmma::fill_fragment(c, 0.0f); before the loop.",
        )
    if not c.any():
        wrong(
            "no_product",
            "C is zero. Which instruction multiplies?",
            "In every turn of the loop: wmma::mma_sync(c, a, b, c);",
        )
    wrong(
        "value",
        "Not the product. Which tile of A and which of B meet in turn k, and where does the sum go?",
        "c = a b + c in every turn; c is zero before the first and is stored after the last.",
    )


def _picture(c, want):
    def draw():
        from labs.tensor_cores.pictures import result

        return result(c, want, name="C as your kernel left it")

    return draw


def achieved(outcomes):
    return [("64 x 48 x 80", "12 warps, each 5 matrix products of 16 x 16 x 16"), ("shapes", f"{len(SHAPES)} right")]


wmma_product = Exercise("wmma_product", "A product by tensor cores", 3, cases, run, verify, achieved=achieved)
