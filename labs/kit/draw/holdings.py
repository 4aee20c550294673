"""Who holds what before and after a collective: two small tables, rows are ranks, columns are pieces.

A piece is named by the rank whose data it is and by its place: A2 is piece 2 of rank 0. A sum shows a stripe for each
rank in it, so that a reduction is seen and not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .picture import Picture
from .style import FONT, INK, OWNERS, SMALL, drawn, ink_on, paper, text_width
from .units import count

Cell = str | Sequence[str] | None
COLLECTIVES = (
    "broadcast",
    "scatter",
    "gather",
    "all_gather",
    "reduce",
    "all_reduce",
    "reduce_scatter",
    "all_to_all",
)


def collective(which: str, world_size: int = 4, *, root: int = 0, named: bool = True) -> Picture:
    """One of the eight collectives, as who holds what before and after it.

    Parameters
    ----------
    which : str
        One of `COLLECTIVES`.
    world_size : int
        2 to 8 ranks.
    root : int
        The rank that gives (broadcast, scatter) or gets (gather, reduce).
    named : bool
        False leaves the name out of picture and words, for "which collective is this?".

    Sources
    -------
    The collectives as in the MPI standard (4.1, chapter 6) and the NCCL user guide, "Collective operations".
    """
    before, after = states(which, world_size, root)
    return holdings(before, after, name=which if named else "A collective")


def states(which: str, world_size: int = 4, root: int = 0) -> tuple[list[list[Cell]], list[list[Cell]]]:
    """What each rank holds before and after a collective, as `holdings` takes it.

    Raises
    ------
    ValueError
        For an unknown collective, fewer than 2 or more than 8 ranks, or a root that is not one of them.
    """
    if which not in COLLECTIVES:
        raise ValueError(f"Unknown collective {which!r}; the eight are {', '.join(COLLECTIVES)}.")
    if not 2 <= world_size <= 8 or not 0 <= root < world_size:
        raise ValueError(f"Draw 2 to 8 ranks with a root among them; got world_size={world_size}, root={root}.")
    ranks = range(world_size)
    own = lambda rank, piece="": f"{chr(ord('A') + rank)}{piece}"
    only = lambda value: [[value] if rank == root else [None] for rank in ranks]
    diagonal = lambda cell: [[cell(rank) if piece == rank else None for piece in ranks] for rank in ranks]
    full = lambda cell: [[cell(rank, piece) for piece in ranks] for rank in ranks]
    at_root = lambda cell: [[cell(piece) if rank == root else None for piece in ranks] for rank in ranks]
    total = [own(rank) for rank in ranks]
    everyone = [[own(rank)] for rank in ranks]
    match which:
        case "broadcast":
            return only(own(root)), [[own(root)] for _ in ranks]
        case "scatter":
            return at_root(lambda piece: own(root, piece)), diagonal(lambda rank: own(root, rank))
        case "gather":
            return diagonal(own), at_root(own)
        case "all_gather":
            return diagonal(own), full(lambda rank, piece: own(piece))
        case "reduce":
            return everyone, only(total)
        case "all_reduce":
            return everyone, [[total] for _ in ranks]
        case "reduce_scatter":
            return full(own), diagonal(lambda rank: [own(other, rank) for other in ranks])
        case _:
            return full(own), full(lambda rank, piece: own(piece, rank))


def holdings(
    before: Sequence[Sequence[Cell]],
    after: Sequence[Sequence[Cell]],
    name: str = "A collective",
    *,
    titles: tuple[str, str] = ("before", "after"),
) -> Picture:
    """Who holds what before and after.

    Parameters
    ----------
    before, after : rows of cells, one row a rank
        A cell is None (nothing), a piece ("A2": the letter says whose data, the rest which piece) or a list of pieces
        that are summed.
    name : str
        What happens in between; it stands over the arrow and begins the text alternative.
    titles : (str, str)
        What stands over the two tables.

    Raises
    ------
    ValueError
        If the two tables have different numbers of ranks, or a table has rows of different lengths.
    """
    tables = [[[_pieces(cell) for cell in row] for row in table] for table in (before, after)]
    if len(tables[0]) != len(tables[1]) or not tables[0]:
        raise ValueError(
            f"before has {len(tables[0])} ranks and after has {len(tables[1])}: give a row for each rank in both."
        )
    for title, table in zip(titles, tables):
        if len({len(row) for row in table}) > 1 or not table[0]:
            raise ValueError(
                f"The rows of {title!r} have lengths {[len(row) for row in table]}: fill short ones with None."
            )
    return Picture(_draw(tables, name, titles), _describe(tables, name, titles))


def _pieces(cell: Cell) -> tuple[str, ...]:
    if cell is None or cell == "":
        return ()
    return tuple(cell.split("+")) if isinstance(cell, str) else tuple(str(piece) for piece in cell)


def _owner(piece: str) -> str:
    """Whose data a piece is: the letter of "A2"; a label of another form is an owner of its own."""
    return piece[0] if re.fullmatch(r"[A-Z]\d*", piece) else piece


def _describe(tables, name, titles) -> str:
    parts = []
    for title, table in zip(titles, tables):
        rows = []
        for rank, row in enumerate(table):
            held = [("the sum " if len(cell) > 1 else "") + "+".join(cell) for cell in row if cell]
            rows.append(f"rank {rank} holds {', '.join(held) or 'nothing'}")
        parts.append(f"{title.capitalize()}: {'; '.join(rows)}")
    return f"{name}, {count(len(tables[0]), 'rank')}. " + ". ".join(parts) + "."


@drawn
def _draw(tables, name, titles):
    from matplotlib.patches import FancyArrowPatch

    owners = dict.fromkeys(_owner(piece) for table in tables for row in table for cell in row for piece in cell)
    place = lambda owner, i: ord(owner) - ord("A") if len(owner) == 1 and owner.isupper() else i
    colours = {owner: OWNERS[place(owner, i) % len(OWNERS)] for i, owner in enumerate(owners)}
    ranks = len(tables[0])
    cells = [cell for table in tables for row in table for cell in row]
    cell_w = max(38.0, *(_room(cell) for cell in cells))
    titled = text_width(name, SMALL, "bold") > 110  # too long to stand over the arrow
    headed = any(len(table[0]) > 1 for table in tables)
    cell_h, gap, left = 30.0, 5.0, 44.0
    heads = 22.0 if titled else 0.0  # where the titles of the tables begin
    top = heads + (40.0 if headed else 22.0)
    widths = [cell_w * len(table[0]) for table in tables]
    arrow = max(52.0, 0 if titled else text_width(name, SMALL, "bold") + 16)
    width = max(left + sum(widths) + arrow + 6, text_width(name, FONT, "bold") + 16 if titled else 0)
    figure, axes = paper(width, top + ranks * cell_h + 6)
    start = left
    for table, table_w, title in zip(tables, widths, titles):
        axes.text(
            start + table_w / 2, heads + 11, title, ha="center", va="center_baseline", fontsize=FONT, fontweight="bold"
        )
        for piece in range(len(table[0])):
            if len(table[0]) > 1:
                axes.text(
                    start + (piece + 0.5) * cell_w,
                    heads + 30,
                    str(piece),
                    ha="center",
                    va="center_baseline",
                    fontsize=SMALL,
                )
        for rank, row in enumerate(table):
            y = top + rank * cell_h
            if start == left:
                axes.text(left - 7, y + cell_h / 2, f"rank {rank}", ha="right", va="center_baseline", fontsize=SMALL)
            for piece, cell in enumerate(row):
                box = (start + piece * cell_w + gap / 2, y + gap / 2, cell_w - gap, cell_h - gap)
                _cell(axes, box, cell, colours)
        start += table_w + arrow
    if headed:
        axes.text(left - 7, heads + 30, "piece", ha="right", va="center_baseline", fontsize=SMALL)
    middle, y = left + widths[0] + arrow / 2, top + ranks * cell_h / 2
    half = arrow / 2 - 8
    axes.add_artist(
        FancyArrowPatch(
            (middle - half, y),
            (middle + half, y),
            arrowstyle="-|>,head_length=6,head_width=3",
            lw=1.6,
            color=INK,
            shrinkA=0,
            shrinkB=0,
        )
    )
    if titled:
        axes.text(8, 10, name, ha="left", va="center_baseline", fontsize=FONT, fontweight="bold")
    elif name != "A collective":
        axes.text(middle, y - 10, name, ha="center", va="center_baseline", fontsize=SMALL, fontweight="bold")
    return figure


def _room(cell) -> float:
    """Width in points that the text of a cell needs."""
    if len(cell) == 1:
        return text_width(cell[0], FONT) + 16
    return sum(max(12.0, text_width(_owner(piece), SMALL) + 6) for piece in cell)


def _cell(axes, box, cell, colours) -> None:
    """A piece in its owner's colour; a sum as a stripe for each owner; nothing as a dotted frame."""
    from matplotlib.patches import Rectangle

    x, y, w, h = box
    if not cell:
        axes.add_artist(Rectangle((x, y), w, h, facecolor="none", edgecolor=INK, lw=0.6, ls=(0, (1.5, 2)), alpha=0.6))
        return
    stripe = w / len(cell)
    for i, piece in enumerate(cell):
        fill = colours[_owner(piece)]
        axes.add_artist(Rectangle((x + i * stripe, y), stripe, h, facecolor=fill, edgecolor="none"))
        text = piece if len(cell) == 1 else _owner(piece)
        axes.text(x + (i + 0.5) * stripe, y + h / 2 + 0.5, text, ha="center", va="center_baseline", color=ink_on(fill),
                  fontsize=FONT if len(cell) == 1 else SMALL)  # fmt: skip
    axes.add_artist(Rectangle((x, y), w, h, facecolor="none", edgecolor=INK, lw=0.8))
