"""Pictures of lesson 06: a tile in its array, a result with its mistakes, lines of a listing, what a step does."""

from __future__ import annotations

import numpy as np


def tile_in_memory(rows, columns, order, offset, ld, *, wanted=None):
    """What a load with `offset` and `ld` takes from an array, as elements of the array.

    Parameters
    ----------
    rows, columns : int
        Of the array.
    order : {"row", "col"}
        How the array is stored, and the fragment is declared.
    offset, ld : int
        In elements.
    wanted : (int, int), optional
        Tile row and tile column that were meant: what is read beside that tile is marked as a mistake.

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import memory_heat

    at = (offset + np.arange(16)[:, None] * ld + np.arange(16)).ravel()
    inside = at[(at >= 0) & (at < rows * columns)]
    flat = np.bincount(inside, minlength=rows * columns)
    counts = flat.reshape((rows, columns) if order == "row" else (columns, rows))
    counts = counts if order == "row" else counts.T
    marks = []
    if wanted is not None:
        i, j = wanted
        hit = np.argwhere(counts > 0)
        marks = [(r, c) for r, c in hit.tolist() if not (r // 16 == i and c // 16 == j)]
    words = "row by row" if order == "row" else "column by column"
    outside = f", and {at.size - inside.size} elements outside" if inside.size < at.size else ""
    name = f"{rows} x {columns} array, stored {words}: what offset {offset}, ld {ld} reads{outside}"
    return memory_heat(counts.tolist(), name=name, op="read", marks=marks)


def explore_tile(rows=48, columns=64):
    """Sliders for offset and leading dimension: which elements of the array form the tile."""
    from labs.kit.draw import explore

    frames = [
        {"order": "row", "offset": 0, "ld": columns},
        {"order": "row", "offset": 16 * columns + 32, "ld": columns},
        {"order": "row", "offset": 16 * columns + 32, "ld": 16},
        {"order": "row", "offset": 0, "ld": rows},
        {"order": "col", "offset": 0, "ld": rows},
        {"order": "col", "offset": 32 * rows + 16, "ld": rows},
        {"order": "col", "offset": 32 * rows + 16, "ld": columns},
    ]
    return explore(
        lambda order, offset, ld: tile_in_memory(rows, columns, order, int(offset), int(ld)),
        label="Which elements does a 16 x 16 tile take?",
        frames=frames,
        order=["row", "col"],
        offset=(0, rows * columns - 16, 16, 0),
        ld=(16, 80, 8, columns),
    )


def result(c, want, *, name):
    """A result with what is wrong in it, and what was never written.

    Parameters
    ----------
    c, want : array of float, of the same shape
        What a kernel left (NaN where it wrote nothing), and the product.
    name : str

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import Picture
    from labs.kit.draw.shapes import rectangles
    from labs.kit.draw.style import FONT, INK, RED, SKY, SMALL, drawing, paper

    c, want = np.atleast_2d(c), np.atleast_2d(want)
    kind = np.where(np.isclose(c, want, rtol=1e-5, atol=1e-6), 0, np.where(np.isnan(c), 2, 1))
    rows, columns = kind.shape
    side = min(380 / columns, 260 / rows, 14)
    left, top = 40.0, 26.0
    looks = ((SKY, "", "right"), (RED, "xx", "wrong"), ("none", "", "never written"))
    with drawing():
        figure, axes = paper(max(left + columns * side + 10, 360), top + rows * side + 40)
        for value, (fill, hatch, _) in enumerate(looks):
            boxes = _runs(kind == value, left, top, side)
            rectangles(axes, boxes, facecolor=fill, edgecolor=INK, lw=0.25, hatch=hatch)
        for step in range(16, columns, 16):
            axes.plot([left + step * side] * 2, [top, top + rows * side], color=INK, lw=1.4)
        for step in range(16, rows, 16):
            axes.plot([left, left + columns * side], [top + step * side] * 2, color=INK, lw=1.4)
        axes.text(left, 12, f"columns 0 to {columns - 1}", ha="left", va="center_baseline", fontsize=SMALL)
        axes.text(16, top + rows * side / 2, f"rows 0 to {rows - 1}", ha="center", va="center", rotation=90, size=SMALL)
        x, y = left, top + rows * side + 20
        for value, (fill, hatch, words) in enumerate(looks):
            rectangles(axes, [(x, y - 6, x + 14, y + 6)], facecolor=fill, edgecolor=INK, lw=0.6, hatch=hatch)
            told = f"{int((kind == value).sum())} {words}"
            axes.text(x + 19, y + 0.5, told, ha="left", va="center_baseline", fontsize=FONT)
            x += 44 + 6.2 * len(told)
    counts = [int((kind == value).sum()) for value in range(3)]
    alt = f"{name}: of {kind.size} elements {counts[0]} are right, {counts[1]} wrong, {counts[2]} were never written."
    return Picture(figure, alt)


def _runs(mask, left, top, side):
    """Boxes around the runs of True in each row: few shapes for a large table."""
    boxes = []
    for row, line in enumerate(mask):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], line.astype(int), [0]])))
        for start, stop in zip(edges[::2], edges[1::2]):
            y = top + row * side
            boxes.append((left + start * side, y, left + stop * side, y + side))
    return boxes


def digits(y, exact, tolerance):
    """How many digits of each number are right, and how many are asked for: bars and a line.

    Parameters
    ----------
    y, exact : array of float
    tolerance : float
        Largest relative error that is accepted.

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import Picture
    from labs.kit.draw.style import BLUE, INK, canvas, drawing

    with np.errstate(all="ignore"):
        error = np.abs(np.asarray(y, float) - exact) / np.abs(exact)
        right = np.clip(np.nan_to_num(-np.log10(error), nan=0.0, posinf=8.0, neginf=0.0), 0.0, 8.0)
    wanted = -np.log10(tolerance)
    with drawing():
        figure, axes = canvas(504, 170, left=54, bottom=38, top=12, right=6)
        axes.bar(range(len(right)), right, color=BLUE, width=0.7)
        axes.axhline(wanted, color=INK, lw=1.2, ls="--")
        axes.text(len(right) - 0.5, wanted, "asked for", ha="right", va="bottom")
        axes.set_xticks(range(len(right)))
        axes.set_ylim(0, 8.4)
        axes.set_xlabel("row")
        axes.set_ylabel("correct digits")
    told = ", ".join(f"row {row} {value:.1f}" for row, value in enumerate(right))
    return Picture(figure, f"Correct digits: {told}; {wanted:.1f} are asked for.")


def marked_lines(lines, right):
    """Lines of a listing with those of the matrix unit pointed at, at most 14 around the first of them."""
    from labs.kit.draw import Picture
    from labs.kit.draw.shapes import rectangles
    from labs.kit.draw.style import BLUE, SMALL, drawing, paper

    begin = max(0, min((right[0] if right else 0) - 4, len(lines) - 14))
    shown = list(enumerate(lines))[begin : begin + 14]
    with drawing():
        figure, axes = paper(504, 17 * max(len(shown), 1) + 14)
        for place, (number, line) in enumerate(shown):
            y = 14 + 17 * place
            if number in right:
                rectangles(axes, [(4, y - 8, 500, y + 8)], facecolor="none", edgecolor=BLUE, lw=1.6)
            text = line.strip()[:76].replace("$", r"\$")
            axes.text(12, y, text, ha="left", va="center_baseline", fontsize=SMALL, family="monospace")
    words = "; ".join(lines[number].strip() for number in right[:6]) or "none"
    return Picture(figure, f"A listing of {len(lines)} lines. Instructions of a matrix unit, framed: {words}.")


def one_step():
    """D = A B + C on one tile: what goes in, what comes out, and how many operations that is."""
    from labs.kit.draw import Picture
    from labs.kit.draw.shapes import rectangles
    from labs.kit.draw.style import FONT, GREEN, INK, ORANGE, SKY, SMALL, drawing, paper

    tiles = (("D", GREEN, "float"), ("A", SKY, "half"), ("B", ORANGE, "half"), ("C", GREEN, "float"))
    signs = ("=", "·", "+", "")
    size, gap, left, top = 86.0, 40.0, 10.0, 12.0
    with drawing():
        figure, axes = paper(504, 136)
        for place, ((letter, fill, kind), sign) in enumerate(zip(tiles, signs)):
            x = left + place * (size + gap)
            rectangles(axes, [(x, top, x + size, top + size)], facecolor=fill, edgecolor=INK, lw=1)
            lines = [(x + size * k / 16, top, x + size * k / 16, top + size) for k in range(1, 16)]
            lines += [(x, top + size * k / 16, x + size, top + size * k / 16) for k in range(1, 16)]
            for x0, y0, x1, y1 in lines:
                axes.plot([x0, x1], [y0, y1], color=INK, lw=0.2)
            for dx, dy, text in ((0.5, 0.5, letter),):
                axes.text(
                    x + dx * size, top + dy * size, text, ha="center", va="center", fontsize=20, color="#000000",
                    fontweight="bold",
                )  # fmt: skip
            axes.text(x + size / 2, top + size + 14, f"16 x 16 {kind}", ha="center", va="center_baseline", size=SMALL)
            axes.text(x + size + gap / 2, top + size / 2, sign, ha="center", va="center", fontsize=2 * FONT)
    alt = (
        "One step of a matrix unit: D = A times B plus C. A and B are tiles of 16 x 16 halves, C and D of 16 x 16 "
        "floats. That is 4,096 multiply-adds."
    )
    return Picture(figure, alt)
