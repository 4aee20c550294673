"""Which lane of a warp holds which element of a tile."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from .picture import Picture
from .shapes import rectangles
from .style import INK, OWNERS, SMALL, drawn, ink_on, paper
from .units import count

FADED = "#e8edf2"


def fragment_lanes(
    lanes: Sequence[Sequence[int]],
    slots: Sequence[Sequence[int]],
    *,
    lane: int | None = None,
    letter: str = "a",
    packed: int = 2,
    name: str = "A tile in a warp",
) -> Picture:
    """A tile, each element with the lane and the slot that hold it.

    Parameters
    ----------
    lanes, slots : rows of int
        The lane of each element, and its number among the elements of that lane, as `Fragment.tables` gives them.
    lane : int, optional
        A lane to point at: its elements keep their colour and get a frame, the others fade.
    letter : str
        What the documentation calls the slots: "a" for a0, a1, …
    packed : int
        Elements in one register of 32 bits: 2 halves, 1 float.
    name : str
        The text alternative begins with it.

    Raises
    ------
    ValueError
        If `slots` has another shape than `lanes`, or no element is in the lane that is pointed at.
    """
    table = [[int(value) for value in row] for row in lanes]
    held = [[int(value) for value in row] for row in slots]
    if not table or [len(row) for row in table] != [len(row) for row in held] or len({len(row) for row in table}) > 1:
        raise ValueError("lanes and slots must be tables of the same shape, with rows of the same length.")
    owned = defaultdict(dict)
    for i, row in enumerate(table):
        for j, owner in enumerate(row):
            owned[owner][held[i][j]] = (i, j)
    if lane is not None and lane not in owned:
        raise ValueError(f"Lane {lane} holds nothing of this tile; lanes are {min(owned)} to {max(owned)}.")
    figure = _draw(table, held, owned, lane, letter, packed)
    return Picture(figure, _describe(table, owned, lane, letter, packed, name))


def _describe(table, owned, lane, letter, packed, name) -> str:
    lanes = len(owned)
    each = len(next(iter(owned.values())))
    registers = -(-each // packed)
    parts = [
        f"{name}: {len(table)} x {len(table[0])} elements in {lanes} lanes, {each} each, "
        f"in {count(registers, 'register')} of 32 bit"
    ]
    for shown in sorted(owned)[:2] if lane is None else [lane]:
        places = ", ".join(f"{letter}{slot} is ({i}, {j})" for slot, (i, j) in sorted(owned[shown].items()))
        parts.append(f"Lane {shown} holds (row, column): {places}")
    return ". ".join(parts) + "."


@drawn
def _draw(table, held, owned, lane, letter, packed):
    down, across = len(table), len(table[0])
    roomy = across <= 16
    cell_w, cell_h = (28.5, 22.0) if roomy else (14.6, 13.0)
    left, top = 40.0, 46.0
    width = max(left + cell_w * across + 8, 340.0)
    figure, axes = paper(width, top + cell_h * down + 30)
    groups = defaultdict(list)
    per_colour = max(1, len(owned) // len(OWNERS))
    for i in range(down):
        for j in range(across):
            owner, slot = table[i][j], held[i][j]
            mine = lane is None or owner == lane
            fill = OWNERS[owner // per_colour % len(OWNERS)] if mine else FADED
            x, y = left + j * cell_w, top + i * cell_h
            groups[fill].append((x + 0.7, y + 0.7, x + cell_w - 0.7, y + cell_h - 0.7))
            if roomy or mine:  # a small table full of other lanes' numbers would hide the lane's own
                _label(axes, x, y, (cell_w, cell_h), owner, f"{letter}{slot}" if roomy else "", fill)
    for fill, boxes in groups.items():
        rectangles(axes, boxes, facecolor=fill, edgecolor=INK, lw=0.4, zorder=1)
    if lane is not None:
        mine = [(left + j * cell_w, top + i * cell_h) for i, j in owned[lane].values()]
        frames = [(x + 1, y + 1, x + cell_w - 1, y + cell_h - 1) for x, y in mine]
        rectangles(axes, frames, facecolor="none", edgecolor=INK, lw=2, zorder=3)
    _heads(axes, table, owned, lane, letter, packed, (left, top, cell_w, cell_h), roomy)
    return figure


def _label(axes, x, y, size, owner, slot, fill) -> None:
    width, height = size
    middle = {"ha": "center", "va": "center_baseline", "color": ink_on(fill), "zorder": 2}
    if not slot:
        axes.text(x + width / 2, y + height / 2 + 0.5, str(owner), fontsize=6.5, **middle)
        return
    axes.text(x + width * 0.33, y + height / 2 + 0.5, str(owner), fontsize=8.5, fontweight="bold", **middle)
    axes.text(x + width * 0.76, y + height / 2 + 2.0, slot, fontsize=6.5, **middle)


def _heads(axes, table, owned, lane, letter, packed, place, roomy) -> None:
    left, top, cell_w, cell_h = place
    if lane is None:
        words = "lane, slot" if roomy else "lane"
        told = f"each element: {words}"
    else:
        slots = sorted(owned[lane])
        pairs = [slots[i : i + packed] for i in range(0, len(slots), packed)]
        told = f"lane {lane}: " + "  ".join(
            f"r{number} = {' '.join(f'{letter}{slot}' for slot in pair)}" for number, pair in enumerate(pairs[:8])
        )
        told += " …" if len(pairs) > 8 else ""
    axes.text(left, 9, told, ha="left", va="center_baseline", fontsize=SMALL, fontweight="bold")
    axes.text(left + cell_w * len(table[0]) / 2, top - 20, "column", ha="center", va="center_baseline", fontsize=SMALL)
    step = 1 if roomy else 2
    for j in range(0, len(table[0]), step):
        axes.text(left + (j + 0.5) * cell_w, top - 7, str(j), ha="center", va="center_baseline", fontsize=7.5)
    axes.text(8, top + cell_h * len(table) / 2, "row", ha="center", va="center", rotation=90, fontsize=SMALL)
    for i in range(0, len(table), step):
        axes.text(left - 5, top + (i + 0.5) * cell_h, str(i), ha="right", va="center_baseline", fontsize=7.5)
    y = top + cell_h * len(table) + 16
    per_colour = max(1, len(owned) // len(OWNERS))
    words = f"one colour for {count(per_colour, 'lane')} in a row" if per_colour > 1 else "one colour a lane"
    axes.text(left, y, words, ha="left", va="center_baseline", fontsize=SMALL)
