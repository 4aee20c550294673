"""Exercise tile_at: where a tile begins in the array that holds it, and how far apart its lines are."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(rows, columns, order, part="correct", tiles=None):
        words = "row by row" if order == "row" else "column by column"
        every = [[i, j] for i in range(rows // 16) for j in range(columns // 16)]
        inputs = {"rows": rows, "columns": columns, "order": order, "tiles": tiles or every}
        return Case(f"{rows} x {columns}, stored {words}", inputs, part)

    rows, columns = (16 * int(x) for x in rng.permutation([2, 3, 5])[:2])
    return [
        case(32, 48, "row"),
        case(32, 48, "col"),
        case(rows, columns, "row" if rows > columns else "col"),
        case(rows + 16, columns + 64, "col"),
        case(16, 16, "row", "edge"),
        case(16, 16, "col", "edge"),
        case(4096, 11008, "col", "edge", [[0, 0], [255, 687], [3, 500]]),
    ]


def run(answers, inputs):
    found = []
    for i, j in inputs["tiles"]:
        pair = answers[0](inputs["rows"], inputs["columns"], inputs["order"], i, j)
        found.append(list(pair) if isinstance(pair, (list, tuple)) else pair)
    return found


def right(rows, columns, order, i, j):
    """Offset and leading dimension, read from the addresses that NumPy gives the elements."""
    array = np.empty((rows, columns), np.int8, order="C" if order == "row" else "F")
    down, across = array.strides  # one byte an element, so strides are elements
    return [16 * i * down + 16 * j * across, down if order == "row" else across]


def verify(case, output):
    inputs = case.inputs
    rows, columns, order = inputs["rows"], inputs["columns"], inputs["order"]
    for (i, j), got in zip(inputs["tiles"], output, strict=True):
        whole = isinstance(got, list) and len(got) == 2 and all(type(x) is int for x in got)
        want = right(rows, columns, order, i, j)
        if got == want:
            continue
        words = "row by row" if order == "row" else "column by column"
        shown = f"{rows} x {columns}, stored {words}; the tile in tile row {i}, tile column {j}\nyours: {got}"
        if not whole:
            raise Wrong("two_numbers", f"Two whole numbers are asked for: an offset and a leading dimension.\n{shown}")
        _judge(inputs, (i, j), got, want, shown)


def _judge(inputs, tile, got, want, shown):
    rows, columns, order = inputs["rows"], inputs["columns"], inputs["order"]
    (i, j), (offset, ld) = tile, got
    line, lines = ("row", "rows") if order == "row" else ("column", "columns")
    picture = _picture(inputs, tile, got)

    def wrong(hint, question, *then):
        raise Wrong(hint, f"{question}\n{shown}", picture=picture, then=then)

    if ld == 16 and want[1] != 16:
        wrong(
            "ld_of_the_tile",
            f"From the first element of a {line} of the tile to the first of the next: is that 16 elements in memory?",
            f"The tile is a window into a larger array. Its {lines} are 16 elements long, but they lie further apart.",
            f"A whole {line} of the array lies between them: {want[1]} elements.",
        )
    if ld == {"row": rows, "col": columns}[order] and ld != want[1]:
        wrong(
            "ld_across",
            f"The array is stored {line} by {line}. How many elements are there in one {line}?",
            f"The leading dimension is the distance between neighbouring {lines}, so the length of a {line}.",
            f"A {line} of a {rows} x {columns} array has {want[1]} elements.",
        )
    if ld != want[1]:
        wrong("ld", f"How far is it in memory from one {line} of the array to the next?", f"{want[1]} elements.")
    if offset == right(rows, columns, "col" if order == "row" else "row", i, j)[0]:
        wrong(
            "other_order",
            "Your offset is right for an array stored the other way round. What lies next to element (0, 0) here?",
            "Row by row, element (r, c) is at r * columns + c. And column by column?",
            "Column by column, element (r, c) is at c * rows + r.",
        )
    if 16 * offset == want[0]:
        wrong(
            "tile_numbers",
            "i and j count tiles. How many elements does one tile take?",
            "The tile's first element is (16 * i, 16 * j).",
        )
    if offset == right(rows, columns, order, j, i)[0]:
        wrong("swapped", "Which of i and j counts down, and which across?", "i counts tile rows, j tile columns.")
    if offset == 2 * want[0]:
        wrong("bytes", "Bytes or elements? The pointer is one to half.", "A + 1 is the next half, not the next byte.")
    wrong(
        "offset",
        "Where is the first element of the tile, (16 * i, 16 * j), in memory?",
        f"Whole {lines} before it, and then a few elements within its {line}.",
        f"That is offset {want[0]} here.",
    )


def _picture(inputs, tile, got):
    rows, columns, order = inputs["rows"], inputs["columns"], inputs["order"]
    if max(rows, columns) > 64:
        return None

    def draw():
        from labs.tensor_cores.pictures import tile_in_memory

        return tile_in_memory(rows, columns, order, *got, wanted=tile)

    return draw


def achieved(outcomes):
    case, output = outcomes[-1]
    return [(case.title, f"tile (255, 687) begins at element {output[1][0]:,}, ld {output[1][1]:,}")]


tile_at = Exercise("tile_at", "Read a layout", 1, cases, run, verify, achieved=achieved)
