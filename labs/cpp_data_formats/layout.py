"""A picture of a matrix in memory: the numbers of a file, one behind the other, and the matrix that somebody sees."""

from __future__ import annotations

CELL, LEFT, RIGHT, TITLE, GAP = 34.0, 14.0, 14.0, 20.0, 16.0  # points
SEEN = ("row-major", "column-major", "column-major, transposed")


def matrix(numbers, rows, columns, seen):
    """The matrix that a map over `numbers` shows.

    Parameters
    ----------
    numbers : sequence
        In the order of memory; rows * columns of them.
    rows, columns : int
    seen : str
        One of `SEEN`.

    Returns
    -------
    list of list
        Of rows.
    """
    if seen == "row-major":
        return [[numbers[i * columns + j] for j in range(columns)] for i in range(rows)]
    table = [[numbers[j * rows + i] for j in range(columns)] for i in range(rows)]
    return table if seen == "column-major" else [list(column) for column in zip(*table)]


def picture(rows, columns, seen="row-major", numbers=None, *, name="A file in memory"):
    """Memory as a strip, coloured by the rows of the file, and below it the matrix that a map makes of it.

    Parameters
    ----------
    rows, columns : int
        Of the matrix in the file, which stands there row after row.
    seen : str
        How the map counts: one of `SEEN`.
    numbers : sequence of float, optional
        What stands in the file; row and column of each number, such as 12, when left out.
    name : str
        The text alternative begins with it.

    Returns
    -------
    labs.kit.draw.Picture
        Its colours tell the row of the file. Where the map is right, each row of the matrix has one colour.
    """
    from labs.kit.draw import Picture

    count = rows * columns
    if numbers is None:
        texts = [f"{k // columns + 1}{k % columns + 1}" for k in range(count)]
    else:
        texts = [f"{number:.4g}" for number in numbers]
    return Picture(_draw(rows, columns, seen, texts), _words(rows, columns, seen, texts, name))


def _words(rows, columns, seen, texts, name):
    table = matrix(texts, rows, columns, seen)
    kept = table == matrix(texts, rows, columns, "row-major")
    memory, shown = " ".join(texts[:24]), "; ".join(" ".join(row) for row in table[:6])
    verdict = "These are the rows of the file" if kept else "These are not the rows of the file"
    return (
        f"{name}: {rows} rows of {columns} numbers, in memory {memory}. Seen {seen}: {len(table)} rows, "
        f"{shown}. {verdict}."
    )


def _draw(rows, columns, seen, texts):
    from labs.kit.draw.style import SMALL, drawing, paper, text_width

    owner = [k // columns for k in range(len(texts))]
    table, owners = (matrix(each, rows, columns, seen) for each in (texts, owner))
    with drawing():
        most = max(text_width(text, SMALL) for text in texts) + 8
        cell = max(min(CELL, 474.0 / len(texts)), most)
        wide = max(len(texts) * cell, len(table[0]) * cell, 300.0)
        height = 2 * TITLE + cell + GAP + len(table) * cell + 8
        figure, axes = paper(LEFT + wide + RIGHT, height)
        axes.text(LEFT, 10, "memory, from the lowest address to the highest", va="center_baseline", fontsize=SMALL)
        _cells(axes, [(k, 0) for k in range(len(texts))], texts, owner, TITLE, cell)
        top = TITLE + cell + GAP + TITLE
        words = f"the matrix as it is seen: {seen} ({len(table)} x {len(table[0])})"
        axes.text(LEFT, top - 10, words, va="center_baseline", fontsize=SMALL)
        places = [(j, i) for i in range(len(table)) for j in range(len(table[0]))]
        flat = lambda of: [of[i][j] for j, i in places]
        _cells(axes, places, flat(table), flat(owners), top, cell)
    return figure


def _cells(axes, places, texts, owners, top, cell):
    from labs.kit.draw.shapes import rectangles
    from labs.kit.draw.style import INK, OWNERS, SMALL, ink_on

    for each in sorted(set(owners)):
        fill = OWNERS[each % len(OWNERS)]
        boxes = [
            (LEFT + x * cell, top + y * cell, LEFT + (x + 1) * cell, top + (y + 1) * cell)
            for (x, y), owner in zip(places, owners)
            if owner == each
        ]
        rectangles(axes, boxes, facecolor=fill, edgecolor=INK, lw=0.7, zorder=1)
    for (x, y), text, owner in zip(places, texts, owners):
        axes.text(
            LEFT + (x + 0.5) * cell, top + (y + 0.5) * cell + 0.5, text, ha="center", va="center_baseline",
            fontsize=SMALL, color=ink_on(OWNERS[owner % len(OWNERS)]), zorder=2,
        )  # fmt: skip
