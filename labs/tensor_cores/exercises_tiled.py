"""Exercise tiled_grid: a tiled product that is right for one block, repaired for a grid of them."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, completed

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module
TILE = 16


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(down, across, part="correct"):
        height, width = TILE * down, TILE * across
        a, b = (rng.integers(-60, 61, shape).astype(np.float16) for shape in ((height, width), (width, width)))
        blocks = "1 block" if down * across == 1 else f"{down} x {across} blocks"
        title = f"{blocks}: A is {height} x {width}, B is {width} x {width}"
        return Case(title, {"a": a, "b": b}, part)

    return [
        case(1, 1),
        case(2, 2),
        case(4, 4),
        case(2, 5, "edge"),
        case(3, 2, "edge"),
        case(1, 3, "edge"),
    ]


def run(answers, inputs):
    """Launch the kernel on A and B; C is NaN before, so that elements that are never written show.

    Blocks that write the same elements of C are let through, because what they leave shows the mistake.
    """
    import numpy as np

    from labs.kit.gpu import KernelFailure, compile_cuda

    a, b, kernel = inputs["a"], inputs["b"], answers[0]
    if not hasattr(kernel, "source"):
        return kernel()  # a stub: raises NotImplementedError
    grid, block = (a.shape[1] // 16, a.shape[0] // 16), (16, 16)
    c = np.full(a.shape, np.nan, np.float32)
    try:
        try:
            kernel[grid, block](a, b, c)
        except KernelFailure as failure:
            if failure.kind != "race" or failure.as_data().get("array") == "shared":
                raise
            compile_cuda(kernel.source.text, kernel.name, races=False)[grid, block](a, b, c)
    except KernelFailure as failure:
        return {"failure": failure.as_data()}
    return {"c": c}


def fits(a, b, c, strides):
    """Whether the tiled kernel can have left `c` with these row strides of A, B and C.

    An element of C that several threads write may hold any of their sums, for nothing orders the blocks of a grid.
    """
    (height, width), (sa, sb, sc) = a.shape, strides
    rows, columns, depth = np.arange(height), np.arange(width), np.arange(width)
    from_a, from_b = rows[:, None] * sa + depth, depth[:, None] * sb + columns
    to_c = rows[:, None] * sc + columns
    if from_a.max() >= a.size or from_b.max() >= b.size or to_c.max() >= c.size:
        return False
    sums = a.ravel()[from_a].astype(np.float32) @ b.ravel()[from_b].astype(np.float32)
    explained = np.zeros(c.size, bool)
    explained[to_c[sums == c.ravel()[to_c]]] = True
    written = ~np.isnan(c.ravel())
    return np.array_equal(written, np.bincount(to_c.ravel(), minlength=c.size) > 0) and explained[written].all()


def strides_of(a, b, c):
    """The row strides of A, B and C with which the kernel would leave `c`; None if none of the usual ones does."""
    height, width = a.shape
    usual = list(dict.fromkeys((width, TILE, height)))
    for sc in usual:
        for sa in usual:
            for sb in usual:
                if fits(a, b, c, (sa, sb, sc)):
                    return sa, sb, sc
    return None


def verify(case, output):
    a, b = case.inputs["a"], case.inputs["b"]
    output = completed(
        output,
        race=(
            "race",
            "One thread still reads the tile while another one already writes it, or the other way round. What should"
            " stand between?",
            "All threads must have written the tile before anyone reads it, and all must have read it before anyone"
            " writes the next one.",
            "Two barriers in each turn of the loop: __syncthreads() after the two writes, and one after the sums.",
        ),
        out_of_bounds=(
            "beyond",
            "A thread reaches beyond an array. How long is a row of A, of B, of C, and how many turns does the loop take?",
            "Every row has TILE * gridDim.x elements, and each turn takes TILE of them.",
        ),
    )
    c, want = output["c"], (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
    if c.shape == want.shape and np.array_equal(c, want):
        return
    height, width = a.shape
    right, missing = int((c == want).sum()), int(np.isnan(c).sum())
    evidence = f"{right} of {c.size} elements of C are right; {missing} were never written."

    def wrong(hint, question, *then):
        raise Wrong(hint, f"{question}\n{evidence}", picture=_picture(c, want), then=then)

    if np.isnan(c).all():
        wrong(
            "not_set",
            "C holds no number at all. Does your kernel write C, or add to what was there?",
            "Before the launch C holds NaN, and NaN plus a number is NaN.",
            "C[row * width + column] = sum, once, behind the loop.",
        )
    if height == width and np.array_equal(c, want.T):
        wrong(
            "transposed",
            "This is the right product, transposed. Which of row and column is multiplied by the length of a row?",
            "Element (row, column) is at row * width + column.",
        )
    strides = strides_of(a, b, c)
    if strides is not None:
        _judge(strides, (height, width), evidence, wrong)
    if np.array_equal(c, a[:, :TILE].astype(np.float32) @ b[:TILE].astype(np.float32)):
        wrong(
            "one_tile_deep",
            f"Each element of C is a sum of {width} products. How many does yours add up?",
            "The loop walks over the tiles of a row of A and of a column of B: gridDim.x of them.",
            "for (int k = 0; k < TILE * gridDim.x; k += TILE)",
        )
    wrong(
        "value",
        "Which element of A, and which of B, does thread (tx, ty) bring into the tile in turn k?",
        "Element (r, c) of an array with rows of `width` elements is at r * width + c.",
        "a[ty][tx] is A's element (row, k + tx); b[ty][tx] is B's element (k + ty, column).",
    )


def _judge(strides, shape, evidence, wrong):
    """Name the stride, or strides, that are wrong."""
    height, width = shape
    off = [(name, stride) for name, stride in zip("ABC", strides) if stride != width]
    told = ", ".join(f"of {name} {stride}" for name, stride in off)
    seen = f"Your row strides: {told}; a row has {width} elements."
    if any(stride == height != TILE for _, stride in off):
        wrong(
            "height",
            f"{seen} Does gridDim.y count along a row?",
            "gridDim.x blocks lie side by side, gridDim.y one below the other.",
        )
    if len(off) == 3:
        wrong(
            "one_block",
            f"{seen} For which grids is a row as long as a tile?",
            "The kernel was tried with one block. With one block across, a row of the array is a row of the tile.",
            "The distance from one row to the next is TILE * gridDim.x, in A, in B and in C.",
        )
    name = off[0][0]
    where = {"A": "a[ty][tx] = A[row * ? + ...]", "B": "b[ty][tx] = B[(k + ty) * ? + ...]", "C": "C[row * ? + column]"}
    wrong(
        f"stride_of_{name.lower()}",
        f"{seen} How far is it from one row of {name} to the next?",
        f"Look at the line with {where[name]}.",
        f"TILE * gridDim.x = {width} here.",
    )


def _picture(c, want):
    def draw():
        from labs.tensor_cores.pictures import result

        return result(c, want, name="C as your kernel left it")

    return draw


def achieved(outcomes):
    case, output = outcomes[2]
    return [("4 x 4 blocks", f"{output['c'].size:,} elements, each a sum of {case.inputs['a'].shape[1]} products")]


tiled_grid = Exercise("tiled_grid", "Repair the tiled kernel", 2, cases, run, verify, achieved=achieved)
