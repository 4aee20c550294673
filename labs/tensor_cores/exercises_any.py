"""Exercise wmma_any: products by tensor cores for matrices that are stored row by row or column by column."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, completed

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module
SHAPES = [[m, n, k] for m in range(16, 65, 16) for n in range(16, 49, 16) for k in range(16, 81, 16)]
"""Every M x N x K in multiples of 16 up to 64 x 48 x 80."""
ORDERS = [[0, 0], [0, 1], [1, 0], [1, 1]]
"""Whether A, and whether B, is stored column by column."""


def cases(seed):
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(-60, 61, shape).astype(np.float16) for shape in ((64, 80), (80, 48)))

    def case(title, shapes, orders, part="correct"):
        return Case(title, {"a": a, "b": b, "shapes": shapes, "orders": orders}, part)

    m, n, k = SHAPES[int(rng.integers(len(SHAPES)))]
    return [
        case("one tile, all four ways", [[16, 16, 16]], ORDERS),
        case("32 x 32 x 32, all four ways", [[32, 32, 32]], ORDERS),
        case("64 x 48 x 80, A and B row by row", [[64, 48, 80]], [[0, 0]]),
        case("64 x 48 x 80, A column by column", [[64, 48, 80]], [[1, 0]]),
        case("64 x 48 x 80, B column by column", [[64, 48, 80]], [[0, 1]]),
        case("64 x 48 x 80, both column by column", [[64, 48, 80]], [[1, 1]]),
        case("64 x 16 x 16 and 16 x 48 x 16, all four ways", [[64, 16, 16], [16, 48, 16]], ORDERS, "edge"),
        case(f"drawn: {m} x {n} x {k}, all four ways", [[m, n, k]], ORDERS, "edge"),
        case("all 60 shapes, all four ways", SHAPES, ORDERS, "edge"),
    ]


def run(answers, inputs):
    """Compile the learner's template for the four ways, and launch it on the leading parts of A and B."""
    import numpy as np

    from labs.kit.gpu import KernelFailure, compile_cuda

    answer = answers[0]
    if not hasattr(answer, "source") or getattr(answer, "unsolved", False):
        return answer()  # a stub: raises NotImplementedError
    names = ["wmma_any<0, 0>", "wmma_any<0, 1>", "wmma_any<1, 0>", "wmma_any<1, 1>"]
    kernels = compile_cuda(answer.source.text, *names, races=False)
    found = []
    for m, n, k in inputs["shapes"]:
        for i, j in inputs["orders"]:
            a, b = inputs["a"][:m, :k], inputs["b"][:k, :n]
            a, b = np.ascontiguousarray(a.T if i else a), np.ascontiguousarray(b.T if j else b)
            c = np.full((m, n), np.nan, np.float32)
            try:
                kernels[2 * i + j][(n // 16, m // 16), 32](a, b, c, m, n, k)
            except KernelFailure as failure:
                return {"failure": failure.as_data(), "at": [m, n, k, i, j]}
            found.append(c)
    return {"c": found}


def misread(array, by_columns, ld):
    """The matrix that a loader with leading dimension `ld` sees in `array`; None where it would leave it."""
    flat = np.ascontiguousarray(array.T if by_columns else array).ravel()
    row, column = np.indices(array.shape)
    at = column * ld + row if by_columns else row * ld + column
    return flat[at] if at.max() < flat.size else None


def right_ld(m, n, k, i, j):
    """Leading dimensions of A, B and C."""
    return {"A": m if i else k, "B": k if j else n, "C": n}


def verify(case, output):
    if "failure" in output and type(output.get("at")) is list:
        array, at = output["failure"].get("array"), output["at"]
        asked = _ld(array, at) if array in ("A", "B", "C") else None
        try:
            output = completed(output, **({"out_of_bounds": asked} if asked else {}))
        except Wrong as wrong:
            picture = _outside(array, at) if asked else None
            raise Wrong(wrong.hint, wrong.message, picture=picture, then=wrong.then) from None
    output = completed(output)
    every = [(*shape, *order) for shape in case.inputs["shapes"] for order in case.inputs["orders"]]
    for at, c in zip(every, output["c"], strict=True):
        m, n, k, _, _ = at
        a, b = (case.inputs[name].astype(np.float32) for name in "ab")
        a, b = a[:m, :k], b[:k, :n]
        want = a @ b
        if c.shape == want.shape and np.array_equal(c, want):
            continue
        _judge(at, a, b, c, want)


def _ways(at):
    m, n, k, i, j = at
    ways = ("row by row", "column by column")
    return f"A is {m} x {k}, {ways[i]}; B is {k} x {n}, {ways[j]}; C is {m} x {n}, row by row."


def _ld(name, at, found=None):
    """(hint, question, further hints) for a wrong leading dimension."""
    m, n, k, i, j = at
    rows, columns = {"A": (m, k), "B": (k, n), "C": (m, n)}[name]
    column = {"A": i, "B": j, "C": 0}[name]
    line = "column" if column else "row"
    yours = f" You used {found}." if found else " Yours leads out of it."
    return (
        f"ld_{name.lower()}",
        f"{name} is {rows} x {columns}, stored {line} by {line}: how far is it from one {line} to the next?{yours}",
        f"ld is the length of a {line} of the array that holds the tile, whatever the product is called.",
        f"A {line} of {name} has {rows if column else columns} elements. With M = N = K you would never notice.",
    )


def _outside(name, at):
    """A callable that draws what a tile of `name` takes with the other leading dimension, or with one of another array."""
    m, n, k, i, j = at
    rows, columns = {"A": (m, k), "B": (k, n), "C": (m, n)}[name]
    column = {"A": i, "B": j, "C": 0}[name]
    guess = columns if column else rows

    def draw():
        from labs.tensor_cores.pictures import tile_in_memory

        return tile_in_memory(rows, columns, "col" if column else "row", 0, guess, wanted=(0, 0))

    return draw


def _judge(at, a, b, c, want):
    m, n, k, i, j = at
    right = right_ld(*at)
    evidence = f"{_ways(at)}\n{int((c == want).sum())} of {c.size} elements of C are right."

    def wrong(hint, question, *then):
        raise Wrong(hint, f"{question}\n{evidence}", picture=_picture(c, want), then=then)

    from_a = {ld: misread(a, i, ld) for ld in dict.fromkeys((right["A"], m, k, n, 16))}
    from_b = {ld: misread(b, j, ld) for ld in dict.fromkeys((right["B"], n, k, m, 16))}
    for la, seen_a in from_a.items():
        for lb, seen_b in from_b.items():
            if seen_a is None or seen_b is None or not np.array_equal(c, seen_a @ seen_b):
                continue
            name, found = ("A", la) if la != right["A"] else ("B", lb)
            hint, question, *then = _ld(name, at, found)
            wrong(hint, question, *then)
    if np.isnan(c).any():
        wrong(
            "store",
            f"{int(np.isnan(c).sum())} elements of C were never written. Where does a warp's tile begin in C, and how"
            " far is it to the next row?",
            "C is always row by row: C + row * N + column, ld = N.",
        )
    if m == n == k == 16:
        wrong(
            "one_tile",
            "Not even one tile is right. Is c zero before the loop, and are the fragments of the type that the array has?",
            "Layout<A_COLUMNS>::type belongs to A, Layout<B_COLUMNS>::type to B.",
        )
    wrong(
        "offset",
        "Which element of the array is the first of the tile: how many whole columns lie before it, or whole rows?",
        "Element (r, c) is at r * ld + c row by row, and at c * ld + r column by column.",
        "A's tile begins at element (row, k): column by column that is A + k * M + row.",
    )


def _picture(c, want):
    def draw():
        from labs.tensor_cores.pictures import result

        return result(c, want, name="C as your kernel left it")

    return draw


def achieved(outcomes):
    return [("products", f"{len(SHAPES)} shapes, each in {len(ORDERS)} ways")]


wmma_any = Exercise("wmma_any", "Any multiple of 16, any order", 1, cases, run, verify, core=False, achieved=achieved)
