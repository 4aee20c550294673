"""Who holds how much of what: a table of ranks and chunks, darker where more is summed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from .picture import Picture
from .shapes import rectangles
from .style import FONT, INK, ORANGE, RAMP, RED, SMALL, drawn, ink_on, paper, text_width
from .units import count, number

MARKS = {"received": "received now", "sent": "sent now", "wrong": "wrong"}
MOST = 32  # rows and columns; of a larger table an even sample is drawn


def chunks(
    values: Sequence[Sequence[float | None]],
    *,
    total: float | None = None,
    text: Sequence[Sequence[object]] | None = None,
    marks: Iterable[tuple] = (),
    name: str = "Chunks",
    step: int | None = None,
    counts: str = "rank",
    columns: str = "chunk",
    rows: str = "rank",
) -> Picture:
    """A table of ranks and chunks.

    Parameters
    ----------
    values : rows of numbers
        `values[rank][chunk]`: how many ranks' data are summed there; 0 or None where a rank holds nothing.
    total : float, optional
        The value of a finished chunk, drawn in orange with a tick; the number of rows if not given.
    text : rows of labels, optional
        What to write into the cells instead of the values (the digits of the sums, say).
    marks : iterable of (rank, chunk) or (rank, chunk, kind)
        Cells to point at: kind "received" (the default), "sent" or "wrong" (the only use of red).
    name : str
        What is going on; the text alternative begins with it.
    step : int, optional
        After which step this is; a step shows the same legend in each frame of a player.
    counts, columns, rows : str
        What a value counts, what a column is, what a row is: for tables of other things.

    Raises
    ------
    ValueError
        If the rows differ in length, a mark lies outside, or its kind is unknown.
    """
    table, labels, marked = _checked(values, text, marks, rows, columns)
    total = len(table) if total is None else total
    title = f"{name}{'' if step is None else f', after step {step}'}"
    picked = _sample(len(table)), _sample(len(table[0]))
    figure = _draw(table, labels, marked, total, picked, (rows, columns, counts), step is not None)
    return Picture(figure, _describe(title, table, labels, marked, total, picked, (rows, columns, counts)))


def _checked(values, text, marks, rows, columns):
    table = [[0 if value is None else value for value in row] for row in values]
    if not table or not table[0] or len({len(row) for row in table}) > 1:
        raise ValueError(
            f"Pass a row of values for each {rows}, all of the same length; got lengths {[len(row) for row in table]}."
        )
    labels = (
        [[number(value) if value else "" for value in row] for row in table]
        if text is None
        else [[str(cell) for cell in row] for row in text]
    )
    if [len(row) for row in labels] != [len(row) for row in table]:
        raise ValueError(
            f"text has rows of {[len(row) for row in labels]} labels for rows of {[len(row) for row in table]} values."
        )
    marked = {}
    for mark in marks:
        row, column, kind = (*mark, "received")[:3]
        if kind not in MARKS:
            raise ValueError(f"Unknown kind of mark {kind!r}; known are {', '.join(MARKS)}.")
        if not (0 <= row < len(table) and 0 <= column < len(table[0])):
            raise ValueError(
                f"The mark on {rows} {row}, {columns} {column} lies outside a table of {len(table)} x {len(table[0])}."
            )
        marked[row, column] = kind
    return table, labels, marked


def _sample(size: int) -> list[int]:
    return list(range(size)) if size <= MOST else [i * size // MOST for i in range(MOST)]


def _fill(value: float, total: float, kind: str | None) -> str:
    if kind == "wrong":
        return "#ffffff"
    if not value:
        return "none"
    if value >= total:
        return ORANGE
    return RAMP[max(0, min(len(RAMP) - 1, round((value - 1) / max(total - 1, 1) * (len(RAMP) - 1))))]


def _describe(title, table, labels, marked, total, picked, names) -> str:
    rows, columns, counts = names
    height, width = len(table), len(table[0])
    parts = [
        f"{title}: table of {count(height, rows)} by {count(width, columns)}; a full cell sums {count(total, counts)}"
    ]
    if height * width <= 144:
        lines = [f"{rows} {row}: {' '.join(label or 'nothing' for label in labels[row])}" for row in range(height)]
        parts.append("; ".join(lines))
    full = sum(value >= total for row in table for value in row)
    parts.append(f"{full} of {count(height * width, 'cell')} {'is' if full == 1 else 'are'} complete")
    for kind, words in MARKS.items():
        cells = [f"{rows} {row} {columns} {column}" for (row, column), found in sorted(marked.items()) if found == kind]
        if cells:
            more = f" and {len(cells) - 16} more" if len(cells) > 16 else ""
            parts.append(f"{words.capitalize()}: {', '.join(cells[:16])}{more}")
    if max(len(picked[0]), len(picked[1])) < max(height, width):
        parts.append(f"An even sample of {len(picked[0])} by {len(picked[1])} is drawn")
    return ". ".join(parts) + "."


@drawn
def _draw(table, labels, marked, total, picked, names, steady):
    rows, columns, counts = names
    down, across = picked
    large = max(len(down), len(across)) > 16
    widest = max((text_width(labels[r][c], FONT) for r in down for c in across), default=0)
    cell_w = 15.0 if large else max(34.0 if len(across) > 6 else 58.0, widest + 22)
    cell_h, gap = (11.0, 1.0) if large else (27.0, 6.0)
    spelled = not large and len(across) <= 6
    heads = [f"{columns} {c}" if spelled else str(c) for c in across]
    left = text_width(f"{rows} {len(table) - 1}", SMALL) + 12
    top = 20.0 if spelled else 34.0
    grid_w, grid_h = cell_w * len(across), cell_h * len(down)
    legend = _legend(total, counts, marked, steady)
    width = max(left + grid_w + 6, 300.0)
    lines, placed = _wrapped(legend, left, width)
    height = top + grid_h + 10 + 18 * lines
    figure, axes = paper(width, height)

    if not spelled:
        axes.text(left + grid_w / 2, 8, columns, ha="center", va="center", fontsize=SMALL)
    every = 4 if large else 1
    groups = defaultdict(list)  # cells of one fill are drawn as one path
    for i, r in enumerate(down):
        if i % every == 0:
            y = top + (i + 0.5) * cell_h
            axes.text(left - 6, y, f"{rows} {r}", ha="right", va="center_baseline", fontsize=SMALL)
        for j, c in enumerate(across):
            x, y = left + j * cell_w + gap / 2, top + i * cell_h + gap / 2
            kind = marked.get((r, c))
            fill = _fill(table[r][c], total, kind)
            groups[fill].append((x, y, x + cell_w - gap, y + cell_h - gap))
            _ring(axes, (x, y, cell_w - gap, cell_h - gap), kind, large)
            sign = "✗" if kind == "wrong" else "✓" if table[r][c] >= total else ""
            label = ("✗" if kind == "wrong" else "") if large else f"{sign} {labels[r][c]}".strip()
            if label:
                axes.text(
                    x + (cell_w - gap) / 2, y + (cell_h - gap) / 2 + 0.5, label, ha="center", va="center_baseline",
                    fontsize=7 if large else FONT, color=ink_on(fill), fontweight="bold" if kind else "normal",
                )  # fmt: skip
    for fill, boxes in groups.items():
        _cells(axes, boxes, fill)
    for j in range(0, len(across), every):
        x = left + (j + 0.5) * cell_w
        axes.text(x, top - 8, heads[j], ha="center", va="center_baseline", fontsize=SMALL)
    for (fill, sign, words, kind), (x, line) in zip(legend, placed):
        y = top + grid_h + 14 + 18 * line
        _cells(axes, [(x, y - 6, x + 16, y + 6)], fill)
        _ring(axes, (x, y - 6, 16, 12), kind, False)
        if sign:
            axes.text(x + 8, y + 0.5, sign, ha="center", va="center_baseline", fontsize=SMALL - 1, color=ink_on(fill))
        axes.text(x + (26 if kind else 23), y + 0.5, words, ha="left", va="center_baseline", fontsize=SMALL)
    return figure


def _cells(axes, boxes, fill) -> None:
    dashes = (0, (2, 2)) if fill == "none" else "-"
    rectangles(axes, boxes, facecolor=fill, edgecolor=INK, lw=0.6, ls=dashes, zorder=1)


def _ring(axes, box, kind, large) -> None:
    """The mark of a cell: a ring around it, with a gap so that it shows on light and on dark pages."""
    from matplotlib.patches import Rectangle

    if not kind:
        return
    out = 0.0 if large else 2.6
    x, y, w, h = box
    colour, dashes = (RED, "-") if kind == "wrong" else (INK, (0, (2.5, 1.5)) if kind == "sent" else "-")
    axes.add_artist(
        Rectangle(
            (x - out, y - out), w + 2 * out, h + 2 * out, facecolor="none", edgecolor=colour, lw=2, ls=dashes, zorder=3
        )
    )


def _legend(total, counts, marked, steady):
    """(fill, sign, words, kind of mark) of each entry."""
    entries = [(RAMP[0], "1", f"one {counts}'s own", None)]
    if total > 2:
        entries.append((RAMP[4], "k", f"sum over k {counts}s", None))
    entries.append((ORANGE, "✓", f"sum over all {number(total)}", None))
    kinds = set(marked.values()) | ({"received"} if steady else set())
    for kind, words in MARKS.items():
        if kind in kinds:
            entries.append(("#ffffff" if kind == "wrong" else "none", "✗" if kind == "wrong" else "", words, kind))
    return entries


def _wrapped(legend, left, width):
    """Number of lines and (x, line) of each entry, left to right, wrapped at `width`."""
    x, line, placed = left + 3, 0, []
    for _, _, words, _ in legend:
        need = 22 + text_width(words, SMALL) + 18
        if x + need - 18 > width and x > left + 3:
            x, line = left + 3, line + 1
        placed.append((x, line))
        x += need
    return line + 1, placed
