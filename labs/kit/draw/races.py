"""Races: who touches which element between two barriers, and where two threads meet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from .picture import Picture
from .shapes import rectangles
from .style import BLUE, INK, ORANGE, RED, SKY, SMALL, drawn, ink_on, paper, text_width
from .units import count

MOST = 24  # rows and columns drawn
OPERATIONS = {
    "load": ("R", SKY, "reads"),
    "store": ("W", BLUE, "writes"),
    "atomic": ("A", ORANGE, "changes atomically"),
}


def races(
    accesses: Iterable[Sequence] | object,
    *,
    array: str | None = None,
    name: str = "Between two barriers",
    lines: bool = True,
) -> Picture:
    """Threads against elements: what each thread does to each element, and which accesses nothing orders.

    Parameters
    ----------
    accesses : iterable of (thread, element, op) or (thread, element, op, line), or a `Finding` of a profile
        All between two barriers. `op` is "load", "store" or "atomic"; threads and elements are numbers or tuples.
    array : str, optional
        The array's name; taken from a finding, else "s".
    name : str
        What is going on; the text alternative begins with it.
    lines : bool
        Whether to write the line of the source next to the two accesses that meet.

    Raises
    ------
    ValueError
        For an unknown operation, or no access at all.

    Notes
    -----
    Two accesses race if they touch one element from two threads, at least one of them writes, and not both are atomic.
    """
    if hasattr(accesses, "first"):
        finding = accesses
        array = array or finding.array
        pair = [each for each in (finding.first, finding.second) if each is not None]
        same = len({each.block for each in pair}) == 1
        block = lambda each: "" if same else f" of block {_index(_short(each.block))}"
        thread = lambda each: f"{_index(_short(each.thread))}{block(each)}" if block(each) else _short(each.thread)
        accesses = [(thread(each), _short(finding.index), each.op, each.line) for each in pair]
    rows = [(*access, None)[:4] for access in accesses]
    if not rows:
        raise ValueError("There is no access to draw.")
    for _, _, op, _ in rows:
        if op not in OPERATIONS:
            raise ValueError(f"Unknown operation {op!r}; there are {', '.join(OPERATIONS)}.")
    clashes = conflicts(rows)
    array = array or "s"
    return Picture(_draw(rows, clashes, array, lines), _describe(rows, clashes, array, name))


def conflicts(rows) -> list[tuple[tuple, tuple]]:
    """Pairs of accesses that race, one for each element, in the order of the elements."""
    by_element = defaultdict(list)
    for row in rows:
        by_element[row[1]].append(row)
    found = []
    for _, here in sorted(by_element.items(), key=lambda item: _key(item[0])):
        pairs = ((one, other) for i, one in enumerate(here) for other in here[i + 1 :])
        pair = next((pair for pair in pairs if _race(*pair)), None)
        if pair:
            found.append(pair)
    return found


def _race(one, other) -> bool:
    kinds = {one[2], other[2]}
    return one[0] != other[0] and kinds != {"load"} and kinds != {"atomic"}


def _short(index):
    """(3, 0, 0) as 3, and (5,) as 5: the trailing zeros of an index say nothing."""
    parts = list(index) if isinstance(index, (tuple, list)) else [index]
    while len(parts) > 1 and parts[-1] == 0:
        parts.pop()
    return parts[0] if len(parts) == 1 else tuple(parts)


def _key(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _said(row, array) -> str:
    thread, element, op, line = row
    where = f" in line {line}" if line is not None else ""
    return f"thread {thread} {OPERATIONS[op][2]} {array}[{_index(element)}]{where}"


def _index(element) -> str:
    return ", ".join(map(str, element)) if isinstance(element, tuple) else str(element)


def _describe(rows, clashes, array, name) -> str:
    threads, elements = {row[0] for row in rows}, {row[1] for row in rows}
    parts = [
        f"{name}: {count(len(rows), 'access', 'accesses')} of {count(len(threads), 'thread')} to "
        f"{count(len(elements), 'element')} of {array}"
    ]
    if not clashes:
        parts.append("No two of them race")
    else:
        one, other = clashes[0]
        parts.append(f"{count(len(clashes), 'element')} with a race: {_said(one, array)}, and {_said(other, array)}")
        if len(clashes) > 1:
            others = ", ".join(_index(pair[0][1]) for pair in clashes[1:9])
            parts.append(f"also at {others}{f' and {len(clashes) - 9} more' if len(clashes) > 9 else ''}")
    return ". ".join(parts) + "."


def _picked(values, wanted):
    """Up to `MOST` of the sorted values, those that are wanted before the others."""
    ordered = sorted(values, key=_key)
    if len(ordered) <= MOST:
        return ordered
    first = [value for value in ordered if value in wanted][:MOST]
    rest = [value for value in ordered if value not in wanted][: MOST - len(first)]
    return sorted([*first, *rest], key=_key)


@drawn
def _draw(rows, clashes, array, lines):
    racing = {row for pair in clashes for row in pair}
    threads = _picked({row[0] for row in rows}, {row[0] for row in racing})
    elements = _picked({row[1] for row in rows}, {row[1] for row in racing})
    heads = [_index(element) for element in elements]
    cell_w = max(19.0, *(text_width(head, SMALL - 1) + 6 for head in heads))
    cell_h = 19.0
    left = max(text_width(f"thread {thread}", SMALL) for thread in threads) + 14
    top, grid_w = 38.0, cell_w * len(elements)
    shown = [pair for pair in clashes if pair[0][1] in elements][:1] if lines else []
    notes = [_said(row, array) for row in shown[0]] if shown else []
    width = max(left + grid_w + 8, 400.0, *(text_width(note, SMALL) + left + 12 for note in notes))
    height = top + cell_h * len(threads) + 30 + 15 * len(notes)
    figure, axes = paper(width, height)
    axes.text(left + grid_w / 2, 9, f"element of {array}", ha="center", va="center_baseline", fontsize=SMALL)
    for j, head in enumerate(heads):
        x = left + (j + 0.5) * cell_w
        axes.text(x, top - 9, head, ha="center", va="center_baseline", fontsize=SMALL - 1)
    for i, thread in enumerate(threads):
        y = top + (i + 0.5) * cell_h
        axes.text(left - 6, y, f"thread {thread}", ha="right", va="center_baseline", fontsize=SMALL)
    place = lambda thread, element: (left + elements.index(element) * cell_w, top + threads.index(thread) * cell_h)
    done = defaultdict(list)
    for thread, element, op, _ in rows:
        if thread in threads and element in elements and op not in done[thread, element]:
            done[thread, element].append(op)
    _cells(axes, threads, elements, done, place, (cell_w, cell_h))
    _clashes(axes, clashes, threads, elements, place, (cell_w, cell_h))
    y = top + cell_h * len(threads) + 14
    for note in notes:
        axes.text(left, y, f"✗ {note}", ha="left", va="center_baseline", fontsize=SMALL)
        y += 15
    _legend(axes, {op for ops in done.values() for op in ops}, bool(clashes), left, y + 2)
    return figure


def _cells(axes, threads, elements, done, place, size) -> None:
    width, height = size
    boxes = defaultdict(list)
    for thread in threads:
        for element in elements:
            x, y = place(thread, element)
            ops = done.get((thread, element), [])
            fill = OPERATIONS[ops[-1]][1] if ops else "none"
            boxes[fill].append((x + 1, y + 1, x + width - 1, y + height - 1))
            if ops:
                letters = "".join(OPERATIONS[op][0] for op in ops)
                axes.text(
                    x + width / 2, y + height / 2 + 0.5, letters, ha="center", va="center_baseline", fontsize=SMALL - 1,
                    color=ink_on(fill), zorder=3,
                )  # fmt: skip
    for fill, found in boxes.items():
        look = {"ls": (0, (1, 2.5)), "alpha": 0.5} if fill == "none" else {}
        rectangles(axes, found, facecolor=fill, edgecolor=INK, lw=0.5, zorder=1, **look)


def _clashes(axes, clashes, threads, elements, place, size) -> None:
    """A red frame around the two accesses of each race, joined by a line."""
    width, height = size
    for one, other in clashes:
        ends = [place(row[0], row[1]) for row in (one, other) if row[0] in threads and row[1] in elements]
        rectangles(
            axes, [(x, y, x + width, y + height) for x, y in ends], facecolor="none", edgecolor=RED, lw=2, zorder=4
        )
        if len(ends) == 2 and abs(ends[0][1] - ends[1][1]) > height * 1.5:
            (x, y0), (_, y1) = sorted(ends, key=lambda end: end[1])
            axes.plot([x + width / 2] * 2, [y0 + height, y1], color=RED, lw=1.4, ls=(0, (3, 2)), zorder=2)


def _legend(axes, used, any_clash, x: float, y: float) -> None:
    for op, (letter, fill, words) in OPERATIONS.items():
        if op in used:
            rectangles(axes, [(x, y - 7, x + 15, y + 7)], facecolor=fill, edgecolor=INK, lw=0.5)
            axes.text(
                x + 7.5, y + 0.5, letter, ha="center", va="center_baseline", fontsize=SMALL - 1, color=ink_on(fill)
            )
            axes.text(x + 20, y + 0.5, words, ha="left", va="center_baseline", fontsize=SMALL)
            x += 34 + text_width(words, SMALL)
    if any_clash:
        rectangles(axes, [(x, y - 7, x + 15, y + 7)], facecolor="none", edgecolor=RED, lw=2)
        axes.text(x + 20, y + 0.5, "race: nothing orders them", ha="left", va="center_baseline", fontsize=SMALL)
