"""What a warp asks of memory: the bytes of its 32 lanes, in lines of 128 bytes and sectors of 32.

A sector moves as a whole. So a picture of the sectors that are touched, with the bytes that are wanted in them, shows
what a request costs and how much of it is waste.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from .picture import Picture
from .shapes import rectangles
from .style import BLUE, INK, SKY, SMALL, drawn, ink_on, paper, text_width
from .units import count, number

SECTOR, LINE, WARP = 32, 128, 32
FEWEST, MOST = 4, 10  # lines drawn
BYTE = 3.375  # points
ROW = 24.0


def warp_addresses(
    addresses: Sequence[int | None],
    itemsize: int | None = None,
    *,
    name: str = "A warp's request",
    array: str = "array",
) -> Picture:
    """The bytes that a warp touches with one load or store, and the sectors that move for them.

    Parameters
    ----------
    addresses : 32 of int or None, or a `Sample` of a profile
        The byte at which each lane's element starts, from the array's first byte; None for a lane that takes no part.
    itemsize : int
        Bytes of an element; taken from a `Sample`, else 4.
    name : str
        What is going on; the text alternative begins with it.
    array : str
        What the memory holds, for the labels.

    Raises
    ------
    ValueError
        If there are more than 32 lanes, no lane takes part, or an address is negative.

    Sources
    -------
    CUDA C++ Best Practices Guide 13, "Coalesced Access to Global Memory".
    """
    itemsize = itemsize or getattr(addresses, "itemsize", 4)
    lanes = checked(getattr(addresses, "addresses", addresses))
    asked = Request(lanes, itemsize)
    return Picture(_draw(asked, array), _describe(asked, name))


def checked(addresses) -> dict[int, int]:
    """{lane: address} of the lanes that take part."""
    addresses = list(addresses)
    if len(addresses) > WARP:
        raise ValueError(f"A warp has {WARP} lanes; got {len(addresses)} addresses.")
    lanes = {lane: int(address) for lane, address in enumerate(addresses) if address is not None}
    if not lanes:
        raise ValueError("No lane takes part: there is nothing to draw.")
    if min(lanes.values()) < 0:
        lane = min(lanes, key=lanes.get)
        raise ValueError(f"Lane {lane} has address {lanes[lane]}; give bytes from the array's start, or None.")
    return lanes


class Request:
    """What one request touches.

    Attributes
    ----------
    lanes : dict
        {lane: address}.
    sectors : list of int
        Numbers of the sectors of 32 bytes that move, ascending.
    lines : list of int
        Numbers of the 128-byte lines in which they lie.
    wanted : int
        Distinct bytes that the lanes ask for.
    """

    def __init__(self, lanes: dict[int, int], itemsize: int):
        self.lanes, self.itemsize = lanes, itemsize
        parts = {byte // SECTOR for start in lanes.values() for byte in (start, start + itemsize - 1)}
        self.sectors = sorted(parts)
        self.lines = sorted({sector * SECTOR // LINE for sector in parts})
        self.wanted = len({byte for start in lanes.values() for byte in range(start, start + itemsize)})

    @property
    def moved(self) -> int:
        """Bytes in the sectors that move."""
        return SECTOR * len(self.sectors)

    @property
    def verdict(self) -> str:
        """The cost in words."""
        share = number(100 * self.wanted / self.moved)
        return f"{count(len(self.sectors), 'sector')} = {self.moved} B moved, {self.wanted} B wanted: {share}%"


def _describe(asked: Request, name: str) -> str:
    lanes, size = asked.lanes, asked.itemsize
    first, last = min(lanes), max(lanes)
    steps = {b - a for a, b in zip(list(lanes.values()), list(lanes.values())[1:])}
    spacing = f", {steps.pop()} B apart" if len(steps) == 1 else ""
    lines = count(len(asked.lines), "line of 128 B", "lines of 128 B")
    return (
        f"{name}: {count(len(lanes), 'lane')} ask for {size} B each{spacing}, lane {first} at byte {lanes[first]}, "
        f"lane {last} at byte {lanes[last]}. {asked.verdict}, in {lines}."
    )


def _rows(asked: Request) -> tuple[list[int], int]:
    """Lines to draw, the untouched ones between them too where there is room; and how many touched ones are not."""
    first, last = asked.lines[0], asked.lines[-1]
    if last - first < MOST:
        return list(range(first, max(last, first + FEWEST - 1) + 1)), 0
    if len(asked.lines) <= MOST:
        return asked.lines, 0
    return [*asked.lines[: MOST - 1], last], len(asked.lines) - MOST


@drawn
def _draw(asked: Request, array: str):
    rows, hidden = _rows(asked)
    labels = {line: f"{array} + {line * LINE:,}" for line in rows}
    left = max(66.0, *(text_width(label, SMALL - 1) + 12 for label in labels.values()))
    top, width = 46.0, left + LINE * BYTE + 6
    gaps = [0.0 if after == before + 1 else 12.0 for before, after in itertools.pairwise(rows)]
    height = top + ROW * len(rows) + sum(gaps) + 28
    figure, axes = paper(width, height)
    axes.text(left, 8, asked.verdict, ha="left", va="center_baseline", fontsize=SMALL + 1, fontweight="bold")
    for sector in range(LINE // SECTOR):
        x = left + (sector + 0.5) * SECTOR * BYTE
        axes.text(
            x, top - 15, f"bytes {sector * SECTOR} to {sector * SECTOR + SECTOR - 1}", ha="center", fontsize=SMALL
        )
    y, boxes = top, Boxes(left, {})
    for line, gap in zip(rows, [*gaps, 0.0]):
        boxes.tops[line] = y
        axes.text(left - 6, y + ROW / 2 - 2, labels[line], ha="right", va="center_baseline", fontsize=SMALL - 1)
        y += ROW
        if gap:
            said = f"{hidden:,} more lines" if hidden and line == rows[-2] else "…"
            axes.text(left + LINE * BYTE / 2, y + gap / 2 - 3, said, ha="center", va="center_baseline", fontsize=SMALL)
        y += gap
    _sectors(axes, asked, boxes)
    _lanes(axes, asked, boxes)
    _legend(axes, left, height - 14)
    return figure


class Boxes(NamedTuple):
    """Where bytes are drawn: the left edge, and the top of each drawn line."""

    left: float
    tops: dict[int, float]

    def of(self, start: int, size: int):
        """The rectangle of `size` bytes from `start` on, cut off at the end of its line."""
        size = min(size, LINE - start % LINE)
        x, y = self.left + start % LINE * BYTE, self.tops[start // LINE]
        return x, y + 1.5, x + size * BYTE, y + ROW - 5


def _sectors(axes, asked: Request, boxes: Boxes) -> None:
    touched = set(asked.sectors)
    moved, still = [], []
    for line in boxes.tops:
        for part in range(LINE // SECTOR):
            sector = line * (LINE // SECTOR) + part
            (moved if sector in touched else still).append(boxes.of(sector * SECTOR, SECTOR))
    rectangles(axes, still, facecolor="none", edgecolor=INK, lw=0.6, ls=(0, (1.5, 2.5)), alpha=0.7, zorder=1)
    rectangles(axes, moved, facecolor=SKY, edgecolor=INK, lw=1.0, zorder=2)


def _lanes(axes, asked: Request, boxes: Boxes) -> None:
    """The wanted bytes, with the lane's number where there is room, or how many lanes share them."""
    owners = defaultdict(list)
    for lane, start in asked.lanes.items():
        owners[start].append(lane)
    size, wanted = asked.itemsize, []
    for start in owners:
        pieces = {start, *(byte for byte in range(start + 1, start + size) if byte % LINE == 0)}  # over a line's end
        wanted += [boxes.of(piece, start + size - piece) for piece in pieces if piece // LINE in boxes.tops]
    rectangles(axes, wanted, facecolor=BLUE, edgecolor=SKY, lw=0.5, zorder=3)
    for start, length, text in _names(owners, size):
        if start // LINE not in boxes.tops:
            continue
        x0, y0, x1, y1 = boxes.of(start, length)
        if text_width(text, 6) < x1 - x0:
            axes.text(
                (x0 + x1) / 2, (y0 + y1) / 2 + 0.5, text, ha="center", va="center_baseline", color=ink_on(BLUE),
                zorder=4, fontsize=7.5 if text_width(text, 7.5) < x1 - x0 else 6,
            )  # fmt: skip


def _names(owners, size: int):
    """(byte, bytes, text) of each label; neighbours share one where single elements are too narrow."""
    if size * BYTE >= 13:
        for start, lanes in owners.items():
            yield start, size, str(lanes[0]) if len(lanes) == 1 else f"×{len(lanes)}"
        return
    runs: list[list[int]] = []
    for start in sorted(owners):
        if runs and start == runs[-1][-1] + size and start % LINE:
            runs[-1].append(start)
        else:
            runs.append([start])
    for run in runs:
        lanes = sorted(lane for start in run for lane in owners[start])
        text = str(lanes[0]) if len(lanes) == 1 else f"{lanes[0]} to {lanes[-1]}"
        yield run[0], run[-1] + size - run[0], text if len(lanes) == lanes[-1] - lanes[0] + 1 else ""


def _legend(axes, left: float, y: float) -> None:
    entries = (
        (BLUE, "-", "wanted, by which lane"),
        (SKY, "-", "moved with it"),
        ("none", (0, (1.5, 2.5)), "not moved"),
    )
    x = left
    for fill, dashes, words in entries:
        rectangles(axes, [(x, y - 5, x + 18, y + 6)], facecolor=fill, edgecolor=INK, lw=0.7, ls=dashes)
        axes.text(x + 24, y + 0.5, words, ha="left", va="center_baseline", fontsize=SMALL)
        x += 158
