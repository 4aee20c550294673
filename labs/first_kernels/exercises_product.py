"""Exercise tiled_product: one block multiplies two matrices tile by tile, and reads each number from memory once."""

from __future__ import annotations

import numpy as np

from labs.first_kernels.evidence import (
    addresses,
    decorated,
    elements,
    first_wrong,
    in_banks,
    lines,
    outside,
    race,
    source_line,
    total,
)
from labs.kit.exercise import Case, Exercise, Wrong, completed

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module

TILE = 16


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, inner, part="correct"):
        make = lambda *shape: rng.integers(-4, 5, shape).astype(np.float32)
        return Case(title, {"A": make(TILE, inner), "B": make(inner, TILE)}, part)

    return [
        case("one tile: inner size 16", 16),
        case("three tiles: inner size 48", 48),
        case("inner size 40: the last tile is half full", 40),
        case("inner size 0: the product is 0", 0, "edge"),
        case("inner size 1", 1, "edge"),
        case("inner size 15", 15, "edge"),
        case("inner size 17", 17, "edge"),
        case("inner size 31", 31, "edge"),
        case("inner size 33", 33, "edge"),
        case("inner size 256: what moves?", 256, "budget"),
    ]


def run(answers, inputs):
    import numpy as np

    from labs.kit.gpu import cuda, outcome, undecorated

    kernel = answers[0]
    if undecorated(kernel):
        return {"undecorated": True}

    def program():
        a, b = cuda.to_device(inputs["A"]), cuda.to_device(inputs["B"])
        c = cuda.to_device(np.full((16, 16), 1000, np.float32))
        kernel[1, (16, 16)](a, b, c)
        return c.copy_to_host()

    return outcome(program, hazards="report")


def verify(case, output):
    decorated(output)
    A, B = case.inputs["A"], case.inputs["B"]
    inner = A.shape[1]
    completed(
        output,
        out_of_bounds=_outside(outside(output), inner),
        divergent_barrier=(
            "barrier_in_branch",
            "Some threads wait at a barrier that the others never reach. Is the barrier inside an `if`?",
            "Let the `if` choose what is put into the tile, not whether a thread comes to the barrier.",
        ),
    )
    got, right = np.asarray(output["result"]), A.astype(np.float64) @ B
    picture = elements(got, right, "Elements of C")
    shown = first_wrong(got, right)

    def wrong(hint, question, *then, picture=picture, evidence=shown):
        raise Wrong(hint, f"{question}\n{evidence}", picture=picture, then=then)

    if output["findings"]:
        _hazard(output["findings"][0], inner, wrong)
    if not np.array_equal(got, right):
        _values(A, B, got, right, wrong)
    if case.part == "budget" and output["virtual"]:
        _costs(inner, output["launches"][0], wrong)


def _outside(array, inner):
    """(hint, question, *then) for a thread that leaves an array."""
    if array in ("a", "b"):
        return (
            "beyond_tile",
            "A thread reaches beyond a tile. How many products does a thread add for one tile?",
            f"A tile is 16 wide, whatever the inner size is (here {inner}). The loop over the tiles does the rest.",
            "for k in range(16):",
        )
    what, line = (
        ("rows of B", "b[row, column] = B[start + row, column] if start + row < A.shape[1] else np.float32(0)")
        if array == "B"
        else (
            "columns of A",
            "a[row, column] = A[row, start + column] if start + column < A.shape[1] else np.float32(0)",
        )
    )
    return (
        "no_tail_of_b" if array == "B" else "no_tail",
        f"A thread reads beyond the end of a matrix. The inner size is {inner}: which {what} has the last tile?",
        "Outside the matrix put 0 into the tile: it changes no sum.",
        line,
    )


def _hazard(finding, inner, wrong):
    text = finding["text"]
    if finding["kind"] == "uninitialised":
        wrong("tail_not_zero", "A thread multiplies an element of a tile that nobody has written. What is in it?",
              "Where the matrix has ended, the tile needs a 0.", picture=None, evidence=text)  # fmt: skip
    if finding["space"] == "global":
        wrong("same_element", "Two threads write one element of C. Which element is thread (x, y)'s own?",
              "C[threadIdx.y, threadIdx.x]: x counts columns, y counts rows.", picture=race(finding), evidence=text)  # fmt: skip
    if inner <= TILE:  # a single tile is never reused
        wrong(
            "no_barrier_before_reading",
            "A thread reads an element of a tile that another thread may not have put there yet. When is the tile full?",
            "All 256 threads fill it. A barrier waits for all of them.",
            "cuda.syncthreads() between filling the tiles and the loop over k.",
            picture=race(finding), evidence=text,
        )  # fmt: skip
    wrong(
        "no_barrier_before_reuse",
        "A thread fills the tile for the next round while another one still reads the old one. Who has to wait for whom?",
        "A tile may be overwritten when every thread is done with it.",
        "A second cuda.syncthreads(), after the loop over k.",
        picture=race(finding), evidence=text,
    )  # fmt: skip


def _tiles(A, B, function):
    """The sum over tiles of `function(a, b)`, with the last tile padded by zeros."""
    inner = A.shape[1]
    full = -(-inner // TILE) * TILE
    a, b = np.zeros((TILE, full)), np.zeros((full, TILE))
    a[:, :inner], b[:inner] = A, B
    return sum((function(a[:, k : k + TILE], b[k : k + TILE]) for k in range(0, full, TILE)), np.zeros((TILE, TILE)))


def _values(A, B, got, right, wrong):
    inner = A.shape[1]
    whole, last = inner // TILE * TILE, max(0, (inner - 1) // TILE * TILE)
    if (got == 1000).all():
        wrong("not_written", "C was never written. When does a thread know its element, also when there is no tile at all?",
              "After the last tile: behind the loop, not in it.")  # fmt: skip
    if np.array_equal(got, right + 1000):
        wrong("added_to_old", "Every element is 1000 too large, and 1000 is what C held before. What did you add to?",
              "Keep the sum in a variable of the thread that begins with np.float32(0).", "C[row, column] = total, once, at the end.")  # fmt: skip
    if np.array_equal(got, right.T):
        wrong("transposed_result", "This is the right product, transposed. Which of x and y counts the rows?",
              "x runs along a row, so it counts columns: C[threadIdx.y, threadIdx.x].")  # fmt: skip
    for one, other, what in (
        (lambda m: m, lambda m: m.T, "the tile of B"),
        (lambda m: m.T, lambda m: m, "the tile of A"),
    ):
        if np.array_equal(got, _tiles(A, B, lambda a, b, one=one, other=other: one(a) @ other(b))):
            wrong("transposed_read", f"You multiplied by {what} transposed. Which index of it moves with k?",
                  "In a row of A the column moves; in a column of B the row moves.", "total += a[row, k] * b[k, column]")  # fmt: skip
    if inner > whole and np.array_equal(got, A[:, :whole].astype(np.float64) @ B[:whole]):
        wrong("last_tile_lost", f"Your product ends after {whole} of {inner} columns of A. How many tiles are there?",
              f"{inner} // 16 is {inner // TILE}, and something remains.", "range(0, A.shape[1], 16), or (A.shape[1] + 15) // 16 tiles.")  # fmt: skip
    if inner > TILE and np.array_equal(got, A[:, last:].astype(np.float64) @ B[last:]):
        wrong("only_the_last_tile", "This is the product of the last tiles alone. What happened to the sum of the tiles before?",
              "total begins with 0 once, before the loop over the tiles.")  # fmt: skip
    if inner > TILE and np.array_equal(got, -(-inner // TILE) * (A[:, :TILE].astype(np.float64) @ B[:TILE])):
        wrong("same_tile", "The first tiles were multiplied again and again. What moves from tile to tile?",
              "A tile of A begins at column `start`, a tile of B at row `start`.")  # fmt: skip
    row, column = np.argwhere(got != right)[0]
    wrong("values", f"C[{row}, {column}] is {got[row, column]:g} and should be {right[row, column]:g}. Which products are in your sum?",
          "Row of A times column of B: total += a[row, k] * b[k, column].")  # fmt: skip


def _costs(inner, launch, wrong):
    loads = lines(launch, "load")
    once = 2 * TILE * inner
    told = "\n".join(f"{line['accesses']:,} x {source_line(line)}" for line in loads)
    if total(loads, "accesses") > once:
        wrong(
            "no_reuse",
            f"The product is right, but your threads read {total(loads, 'accesses'):,} numbers from global memory, and A"
            f" and B hold {once:,}. Who reads the same row of A?",
            "All 16 threads of a row need it. One read into shared memory serves them all.",
            "Each thread brings ONE element of A and ONE of B into the tiles; the loop over k reads the tiles only.",
            picture=addresses(max(loads, key=lambda line: line["accesses"]), "One warp's request"), evidence=told,
        )  # fmt: skip
    for line in loads:
        if line["sectors"] > 1.5 * line["ideal_sectors"]:
            wrong(
                "strided",
                f"The product is right, but a warp's request touches {line['sectors'] / line['requests']:.0f} sectors where"
                f" {line['ideal_sectors'] / line['requests']:.0f} would do. Which element does the neighbour in x read?",
                "Neighbours in x should read neighbours in a row of the matrix.",
                "A[row, start + column], with column = threadIdx.x",
                picture=addresses(line, "One warp's request"), evidence=source_line(line),
            )  # fmt: skip
    if launch["flops"].get("float64"):
        wrong(
            "in_doubles",
            f"The product is right, but {launch['flops']['float64']:,} operations were done in float64. Which of your numbers is"
            " no float32?",
            "A sum that begins with Python's 0 becomes a float64 when a float32 is added. On many GPUs float64 runs at"
            " 1/32 or 1/64 of the rate.",
            "total = np.float32(0)",
            picture=None, evidence=f"operations: {launch['flops']}",
        )  # fmt: skip
    shared = [line for op in ("load", "store") for line in lines(launch, op, "shared")]
    if total(shared, "bank_conflicts") > total(shared, "wavefronts") // 4:
        worst = max(shared, key=lambda line: line["bank_conflicts"])
        wrong(
            "bank_conflicts",
            f"The product is right, but {total(shared, 'bank_conflicts'):,} of {total(shared, 'wavefronts'):,} passes over"
            " shared memory are there only because threads of a warp want the same bank. Which index moves with x?",
            "Rows of a tile are 16 elements long. Down a column, every second element lies in the same bank.",
            "Let threadIdx.x be the last index of a tile.",
            picture=in_banks(worst, "A warp's request"), evidence=source_line(worst),
        )  # fmt: skip


def achieved(outcomes):
    if not outcomes[-1][1]["virtual"]:
        return "Values checked on your GPU. Bytes and races are seen on the virtual device only (LABS_GPU=virtual)."
    case, output = outcomes[-1]
    launch, inner = output["launches"][0], case.inputs["A"].shape[1]
    plain = (2 * TILE * TILE * inner + TILE * TILE) * 4
    return [
        (f"moved; threads that fetch their own numbers ask for {plain:,} B", f"{launch['bytes']:,} B"),
        ("operations for each byte", f"{launch['flops'].get('float32', 0) / launch['bytes']:.2f} FLOP/B"),
    ]


tiled_product = Exercise("tiled_product", "A tiled product", 3, cases, run, verify, achieved=achieved)
