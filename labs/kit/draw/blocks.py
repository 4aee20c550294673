"""A grid of blocks over an array: who computes what, and which threads fall outside."""

from __future__ import annotations

from collections.abc import Sequence

from .picture import Picture
from .shapes import rectangles
from .style import BLUE, INK, OWNERS, SKY, SMALL, drawn, ink_on, paper, text_width
from .units import count

MOST = 16  # blocks drawn in a row or column


def grid_of_blocks(
    grid: int | Sequence[int], block: int | Sequence[int], shape: int | Sequence[int], *, name: str = "A launch"
) -> Picture:
    """The blocks of a launch over the array that they work on.

    Parameters
    ----------
    grid, block : int, or (x, y)
        The launch configuration, as in `kernel[grid, block]`: blocks, and threads a block.
    shape : int, or (rows, columns)
        The array's shape: x counts columns, y counts rows.
    name : str
        The text alternative begins with it.

    Raises
    ------
    ValueError
        If a number is not positive.
    """
    (gx, gy), (bx, by) = _pair(grid, "grid"), _pair(block, "block")
    flat = not hasattr(shape, "__len__") or len(shape) == 1
    rows, columns = (1, _pair(shape, "shape")[0]) if flat else _pair(shape, "shape")
    launch = (gx, gy, bx, by, rows, columns)
    return Picture(_draw(*launch), _describe(*launch, name))


def _pair(value, what: str) -> tuple[int, int]:
    parts = [int(part) for part in value] if hasattr(value, "__len__") else [int(value)]
    if not parts or min(parts) < 1:
        raise ValueError(f"{what} needs positive numbers; got {value!r}.")
    return parts[0], parts[1] if len(parts) > 1 else 1


def _describe(gx, gy, bx, by, rows, columns, name) -> str:
    threads, elements = gx * gy * bx * by, rows * columns
    covered = min(gx * bx, columns) * min(gy * by, rows)
    flat = gy == by == rows == 1
    size = lambda x, y: f"{x:,}" if flat else f"{x:,} x {y:,}"
    parts = [
        f"{name}: {size(gx, gy)} blocks of {size(bx, by)} threads over {size(columns, rows)} elements (columns by rows)"
        if not flat
        else f"{name}: {gx:,} blocks of {bx:,} threads over {columns:,} elements",
        f"{count(threads, 'thread')} for {count(elements, 'element')}",
    ]
    idle, missed = threads - covered, elements - covered
    if idle:
        parts.append(f"{count(idle, 'thread')} {'falls' if idle == 1 else 'fall'} outside and must do nothing")
    if missed:
        parts.append(f"{count(missed, 'element')} {'has' if missed == 1 else 'have'} no thread of their own")
    if not idle and not missed:
        parts.append("they fit exactly")
    return ". ".join(parts) + "."


@drawn
def _draw(gx, gy, bx, by, rows, columns):
    shown_x, shown_y = min(gx, MOST), min(gy, MOST)
    span_x, span_y = max(shown_x * bx, min(columns, MOST * bx)), max(shown_y * by, min(rows, MOST * by))
    scale = min(430 / span_x, 300 / span_y)
    left, top = 34.0, 34.0
    flat = rows == by == gy == 1
    tall = 34.0 if flat else span_y * scale
    width, height = max(left + span_x * scale + 14, 380.0), top + tall + 40
    figure, axes = paper(width, height)
    sy = tall if flat else scale
    axes.text(left, 9, "x →  blockIdx.x, then threadIdx.x", ha="left", va="center_baseline", fontsize=SMALL)
    if not flat:
        axes.text(14, top + tall / 2, "← y", ha="center", va="center", rotation=90, fontsize=SMALL)
    inside, outside = [], []
    for j in range(shown_y):
        for i in range(shown_x):
            x0, y0, x1, y1 = i * bx, j * by, (i + 1) * bx, (j + 1) * by
            inner = (min(x1, columns), min(y1, rows))
            if inner[0] > x0 and inner[1] > y0:
                inside.append((x0, y0, *inner))
            beside, below = (max(x0, inner[0]), y0, x1, y1), (x0, max(y0, inner[1]), inner[0], y1)
            outside += [box for box in (beside, below) if box[2] > box[0] and box[3] > box[1]]
            label = f"{i}" if flat else f"{i}, {j}"
            room = (inner[0] - x0) * scale, (inner[1] - y0) * sy
            if text_width(label, SMALL) < room[0] - 4 and room[1] > 11:
                axes.text(
                    left + (x0 + inner[0]) / 2 * scale, top + (y0 + inner[1]) / 2 * sy + 0.5, label, ha="center",
                    va="center_baseline", fontsize=SMALL, color=ink_on(OWNERS[(i + j) % 2]), zorder=4,
                )  # fmt: skip
    put = lambda box: (left + box[0] * scale, top + box[1] * sy, left + box[2] * scale, top + box[3] * sy)
    for shade, fill in ((0, SKY), (1, OWNERS[1])):
        mine = [box for box in inside if (box[0] // bx + box[1] // by) % 2 == shade]
        rectangles(axes, [put(box) for box in mine], facecolor=fill, edgecolor=INK, lw=0.6, zorder=1)
    rectangles(axes, [put(box) for box in outside], facecolor="none", edgecolor=INK, lw=0.5, hatch="////", zorder=2)
    end_x, end_y = min(columns, span_x), min(rows, span_y)
    rectangles(axes, [put((0, 0, end_x, end_y))], facecolor="none", edgecolor=BLUE, lw=2.4, zorder=5)
    _legend(axes, left, top + tall + 20, gx > MOST or gy > MOST, bool(outside))
    return figure


def _legend(axes, x: float, y: float, cut: bool, outside: bool) -> None:
    entries = [(SKY, INK, "", "a block, its blockIdx"), ("none", BLUE, "", "the array")]
    if outside:
        entries.append(("none", INK, "////", "threads outside it"))
    for fill, edge, hatch, words in entries:
        thick = 2 if edge == BLUE else 0.6
        rectangles(axes, [(x, y - 6, x + 16, y + 6)], facecolor=fill, edgecolor=edge, lw=thick, hatch=hatch)
        axes.text(x + 21, y + 0.5, words, ha="left", va="center_baseline", fontsize=SMALL)
        x += 36 + text_width(words, SMALL)
    if cut:
        axes.text(x, y + 0.5, f"first {MOST} blocks", ha="left", va="center_baseline", fontsize=SMALL)
