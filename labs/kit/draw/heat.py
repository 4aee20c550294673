"""Which elements of an array are touched, how often, or by whom: an image of the array."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .picture import Picture
from .shapes import rectangles
from .style import INK, OWNERS, RAMP, RED, SMALL, drawn, ink_on, paper, text_width
from .units import count, number

MOST = 64  # cells drawn in a row or a column; a larger array is drawn by tiles
GRID = 416.0


def memory_heat(
    counts: Sequence,
    *,
    by: Sequence | None = None,
    name: str = "Array",
    op: str = "read",
    owner: str = "block",
    marks: Iterable[tuple] = (),
) -> Picture:
    """How often each element of an array is read or written, and by whom.

    Parameters
    ----------
    counts : rows of int, or one row
        How often each element was touched; 0 where it never was.
    by : same shape, optional
        Who touched it last (a block's or a thread's number; None or -1 for nobody): colours and numbers then say who.
    name : str
        What the array is; the text alternative begins with it.
    op : str
        What was done: "read", "written".
    owner : str
        What the numbers in `by` are.
    marks : iterable of (row, column)
        Elements with a mistake, framed in red with a cross.

    Raises
    ------
    ValueError
        If the rows differ in length, `by` has another shape, or a mark lies outside.
    """
    table, owners = _table(counts, "counts"), None if by is None else _table(by, "by")
    if owners is not None and [len(row) for row in owners] != [len(row) for row in table]:
        raise ValueError("by must have the shape of counts.")
    height, width = len(table), len(table[0])
    marked = sorted({(int(row), int(column)) for row, column in marks})
    for row, column in marked:
        if not (0 <= row < height and 0 <= column < width):
            raise ValueError(f"The mark ({row}, {column}) lies outside an array of {height} x {width}.")
    tile = 1
    while max(height, width) > MOST * tile:
        tile *= 2
    figure = _draw(table, owners, marked, tile, op, owner)
    return Picture(figure, _describe(table, owners, marked, tile, name, op, owner))


def _table(values, what: str) -> list[list]:
    rows = [list(row) if hasattr(row, "__len__") else row for row in values]
    if rows and not isinstance(rows[0], list):
        rows = [rows]
    if not rows or not rows[0] or len({len(row) for row in rows}) > 1:
        raise ValueError(f"{what} needs one row or several of the same length, none of them empty.")
    return [[None if value is None else int(value) for value in row] for row in rows]


def _describe(table, owners, marked, tile, name, op, owner) -> str:
    flat = [value or 0 for row in table for value in row]
    touched = [value for value in flat if value]
    shape = f"{len(table):,} x " if len(table) > 1 else ""
    parts = [f"{name}: {shape}{len(table[0]):,} elements"]
    if not touched:
        parts.append(f"none is {op}")
    else:
        low, high = min(touched), max(touched)
        often = f"{low} times" if low == high else f"{low} to {high} times"
        often = "once" if low == high == 1 else often
        parts.append(
            f"{count(len(touched), 'element')} {'is' if len(touched) == 1 else 'are'} {op}, {often}; "
            f"{len(flat) - len(touched):,} never; {sum(flat):,} accesses in all"
        )
    if owners is not None:
        names = sorted({value for row in owners for value in row if value is not None and value >= 0})
        shown = ", ".join(map(str, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        parts.append(f"by {owner} {shown}" if names else f"by no {owner}")
    if marked:
        shown = ", ".join(f"({row}, {column})" for row, column in marked[:12])
        parts.append(f"Wrong: {shown}{f' and {len(marked) - 12} more' if len(marked) > 12 else ''}")
    if tile > 1:
        parts.append(f"Drawn in tiles of {tile} x {tile} elements, each with its largest count")
    return ". ".join(parts) + "."


@drawn
def _draw(table, owners, marked, tile, op, owner):
    down, across = -(-len(table) // tile), -(-len(table[0]) // tile)
    cell = min(30.0, GRID / max(across, down if down > 12 else 1))
    left = 18.0 if len(table) == 1 else text_width(f"{len(table) - 1}", SMALL) + 28
    top, grid_w, grid_h = 36.0, cell * across, cell * down
    entries = _entries(table, owners, marked, op, owner)
    width = max(left + grid_w + 10, left + max(_length(entries), 200))
    figure, axes = paper(width, top + grid_h + 34)
    most = max((value or 0 for row in table for value in row), default=0)
    grid = Grid(left, top, cell)
    groups: dict[str, list] = defaultdict(list)
    for i in range(down):
        values = [_cell(table, owners, i * tile, j * tile, tile) for j in range(across)]
        fills = [_fill(value, most, who, owners is not None) for value, who in values]
        if not grid.fine:
            _numbers(axes, grid, i, values, fills)
        for j, length in _runs(fills, grid.fine):
            groups[fills[j]].append(grid.box(i, j, length))
    for fill, boxes in groups.items():
        look = {"edgecolor": fill if grid.fine else INK, "lw": 0.4}
        if fill == "none":
            look = {"edgecolor": INK, "lw": 0.4, "ls": (0, (1, 2)), "alpha": 0.4 if grid.fine else 0.7}
        rectangles(axes, boxes, facecolor=fill, zorder=1, **look)
    if grid.fine and owners is not None:
        _owners(axes, grid, owners, tile)
    for row, column in marked:
        x, y, *_ = grid.box(row // tile, column // tile, 1)
        size = max(cell, 5.0)
        rectangles(axes, [(x, y, x + size, y + size)], facecolor="none", edgecolor=RED, lw=1.8, zorder=4)
        if cell >= 12:
            axes.text(x + cell - 1, y + 4, "✗", ha="right", va="center_baseline", fontsize=7, zorder=5)
    _ticks(axes, table, tile, cell, left, top)
    _legend(axes, entries, left, top + grid_h + 18)
    return figure


class Grid(NamedTuple):
    """Where the cells are drawn."""

    left: float
    top: float
    cell: float

    @property
    def fine(self) -> bool:
        """Whether cells are too small for numbers; equal neighbours are then drawn as one."""
        return self.cell < 12

    def box(self, row: int, column: int, length: int):
        """The rectangle of `length` cells of a row."""
        gap = 0.0 if self.fine else 0.8
        x, y = self.left + column * self.cell, self.top + row * self.cell
        return x + gap, y + gap, x + length * self.cell - gap, y + self.cell - gap


def _runs(fills: list[str], join: bool):
    """(start, length) of each run of equal neighbours, or of each cell alone."""
    start = 0
    for j in range(1, len(fills) + 1):
        if j == len(fills) or not join or fills[j] != fills[start]:
            yield start, j - start
            start = j


def _numbers(axes, grid: Grid, row: int, values, fills) -> None:
    """The count in each cell, or who touched it."""
    for j, ((value, who), fill) in enumerate(zip(values, fills)):
        text = "" if not value else str(who) if who is not None else str(value)
        if text and text_width(text, 7) < grid.cell - 2:
            x, y = grid.left + (j + 0.5) * grid.cell, grid.top + (row + 0.5) * grid.cell + 0.5
            axes.text(x, y, text, ha="center", va="center_baseline", fontsize=7.5, color=ink_on(fill), zorder=3)


def _owners(axes, grid: Grid, owners, tile: int) -> None:
    """Each owner's number in the middle of its elements, where they fill a rectangle that is large enough."""
    places = defaultdict(list)
    for i, row in enumerate(owners):
        for j, who in enumerate(row):
            if who is not None and who >= 0:
                places[who].append((i // tile, j // tile))
    for who, cells in places.items():
        rows, columns = {i for i, _ in cells}, {j for _, j in cells}
        whole = (max(rows) - min(rows) + 1) * (max(columns) - min(columns) + 1) == len(set(cells))
        x0, y0, x1, _ = grid.box(min(rows), min(columns), len(columns))
        y1 = grid.box(max(rows), 0, 1)[3]
        if whole and x1 - x0 > text_width(str(who), SMALL) + 4 and y1 - y0 > 10:
            axes.text(
                (x0 + x1) / 2, (y0 + y1) / 2 + 0.5, str(who), ha="center", va="center_baseline", fontsize=SMALL,
                color=ink_on(OWNERS[who % len(OWNERS)]), zorder=3,
            )  # fmt: skip


def _cell(table, owners, row: int, column: int, tile: int):
    """Largest count of a tile, and whose its last touched element is (None without owners)."""
    value, who = 0, None
    for r in range(row, min(row + tile, len(table))):
        for c in range(column, min(column + tile, len(table[0]))):
            value = max(value, table[r][c] or 0)
            if owners is not None and owners[r][c] is not None and owners[r][c] >= 0:
                who = owners[r][c]
    return value, who


def _fill(value: int, most: int, who, owned: bool) -> str:
    if not value:
        return "none"
    if owned:
        return "#ffffff" if who is None else OWNERS[who % len(OWNERS)]
    if most == 1:
        return RAMP[3]
    return RAMP[1 + round((value - 1) / (most - 1) * (len(RAMP) - 2))]


def _entries(table, owners, marked, op, owner):
    """(fill, edge, words) of the legend."""
    values = sorted({value for row in table for value in row if value})
    entries = []
    if owners is not None:
        names = sorted({who for row in owners for who in row if who is not None and who >= 0})
        entries += [
            (OWNERS[who % len(OWNERS)], INK, f"{owner} {who}" if i == 0 else str(who))
            for i, who in enumerate(names[:6])
        ]
    elif values:
        picked = dict.fromkeys((values[0], values[len(values) // 2], values[-1]))
        words = lambda value: f"{op} once" if value == 1 else f"{op} {number(value)} times"
        entries += [(_fill(value, values[-1], None, False), INK, words(value)) for value in picked]
    if any(not value for row in table for value in row):
        entries.append(("none", INK, "never"))
    if marked:
        entries.append(("none", RED, "wrong"))
    return entries


def _length(entries) -> float:
    return sum(36 + text_width(words, SMALL) for _, _, words in entries)


def _legend(axes, entries, left: float, y: float) -> None:
    x = left
    for fill, edge, words in entries:
        look = {"ls": (0, (1, 2))} if fill == "none" and edge == INK else {"lw": 1.8 if edge == RED else 0.5}
        rectangles(axes, [(x, y - 6, x + 14, y + 6)], facecolor=fill, edgecolor=edge, **look)
        axes.text(x + 19, y + 0.5, words, ha="left", va="center_baseline", fontsize=SMALL)
        x += 36 + text_width(words, SMALL)


def _ticks(axes, table, tile, cell, left, top) -> None:
    """Names of the axes, and row and column numbers at round places."""
    down, across = -(-len(table) // tile), -(-len(table[0]) // tile)
    steps = lambda room, cells: next((s for s in (1, 2, 4, 8, 16, 32) if s * cell >= room), cells)
    name = "column" if len(table) > 1 else "element"
    axes.text(left + cell * across / 2, 8, name, ha="center", va="center_baseline", fontsize=SMALL)
    for j in range(0, across, steps(22.0, across)):
        x = left + (j + 0.5) * cell
        axes.text(x, top - 7, str(j * tile), ha="center", va="center_baseline", fontsize=7.5)
    if len(table) == 1:
        return
    axes.text(7, top + cell * down / 2, "row", ha="center", va="center", rotation=90, fontsize=SMALL)
    for i in range(0, down, steps(13.0, down)):
        axes.text(left - 5, top + (i + 0.5) * cell, str(i * tile), ha="right", va="center_baseline", fontsize=7.5)
