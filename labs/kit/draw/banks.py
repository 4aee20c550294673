"""Shared memory's 32 banks: which lane wants which bank, and in how many passes they are served."""

from __future__ import annotations

from collections.abc import Sequence

from .addresses import checked
from .picture import Picture
from .shapes import rectangles
from .style import INK, ORANGE, SKY, SMALL, drawn, ink_on, paper
from .units import count

BANKS, WORD, WARP = 32, 4, 32
FEWEST = 4  # passes for which there is always room, so that frames can be compared


def banks(
    addresses: Sequence[int | None], itemsize: int | None = None, *, name: str = "A warp in shared memory"
) -> Picture:
    """The words that a warp wants from each bank of shared memory, one pass above the other.

    Parameters
    ----------
    addresses : 32 of int or None, or a `Sample` of a profile
        The byte at which each lane's element starts; None for a lane that takes no part.
    itemsize : int
        Bytes of an element; taken from a `Sample`, else 4. Elements of 8 bytes go half a warp at a time, of 16 a
        quarter.
    name : str
        What is going on; the text alternative begins with it.

    Raises
    ------
    ValueError
        As for `warp_addresses`.

    Sources
    -------
    CUDA C++ Best Practices Guide 13, "Shared Memory and Memory Banks": lanes that want different words of one bank are
    served one after the other; lanes that want the same word are served together.
    """
    itemsize = itemsize or getattr(addresses, "itemsize", 4)
    lanes = checked(getattr(addresses, "addresses", addresses))
    passes, ideal = served(lanes, itemsize)
    return Picture(_draw(passes, ideal), _describe(lanes, passes, ideal, itemsize, name))


def served(lanes: dict[int, int], itemsize: int) -> tuple[list[dict[int, list[int]]], int]:
    """The passes, each {bank: lanes that get their word from it}; and how few would do without conflicts."""
    phases = max(1, itemsize // WORD)
    passes, ideal = [], 0
    for phase in range(phases):
        words: dict[int, dict[int, list[int]]] = {}  # bank -> word -> lanes
        for lane, start in lanes.items():
            if lane * phases // WARP != phase:
                continue
            for word in range(start // WORD, (start + itemsize - 1) // WORD + 1):
                words.setdefault(word % BANKS, {}).setdefault(word, []).append(lane)
        deepest = max((len(of_bank) for of_bank in words.values()), default=0)
        ideal += deepest > 0
        ordered = {bank: list(of_bank.values()) for bank, of_bank in words.items()}
        passes += [{bank: found[i] for bank, found in ordered.items() if i < len(found)} for i in range(deepest)]
    return passes, ideal


def _describe(lanes, passes, ideal, itemsize, name) -> str:
    parts = [
        f"{name}: {count(len(lanes), 'lane')} want {itemsize} B each from {BANKS} banks; "
        f"{count(len(passes), 'pass', 'passes')} where {ideal} would do"
    ]
    if len(passes) > ideal:
        used = {bank: sum(bank in each for each in passes) for bank in range(BANKS)}
        worst = max(used, key=used.get)
        waiting = [lane for each in passes for lane in each.get(worst, ())]
        parts.append(f"Bank {worst} is wanted for {used[worst]} different words, by lanes {_numbers(waiting)}")
    else:
        shared = max(len(found) for each in passes for found in each.values())
        parts.append(f"No bank conflict{'; lanes that want the same word get it together' if shared > 1 else ''}")
    return ". ".join(parts) + "."


def _numbers(lanes: list[int]) -> str:
    shown = list(dict.fromkeys(lanes))
    more = f" and {len(shown) - 8} more" if len(shown) > 8 else ""
    return ", ".join(map(str, shown[:8])) + more


@drawn
def _draw(passes, ideal):
    rows = max(len(passes), FEWEST)
    row = 19.0 if rows <= 16 else 12.0
    left, cell, top = 50.0, 14.0, 40.0
    height = top + row * rows + 34
    figure, axes = paper(left + BANKS * cell + 8, height)
    verdict = f"{count(len(passes), 'pass', 'passes')}, {ideal} without conflicts"
    axes.text(left, 8, verdict, ha="left", va="center_baseline", fontsize=SMALL + 1, fontweight="bold")
    axes.text(left - 6, top - 9, "bank", ha="right", va="center_baseline", fontsize=SMALL)
    for bank in range(BANKS):
        axes.text(left + (bank + 0.5) * cell, top - 9, str(bank), ha="center", va="center_baseline", fontsize=7)
    empty, first, again = [], [], []
    for i in range(rows):
        y = top + i * row
        if i < len(passes):
            axes.text(
                left - 6, y + row / 2, f"pass {i + 1}", ha="right", va="center_baseline", fontsize=min(SMALL, row - 3)
            )
        for bank in range(BANKS):
            box = (left + bank * cell + 0.7, y + 1, left + (bank + 1) * cell - 0.7, y + row - 1)
            lanes = passes[i].get(bank) if i < len(passes) else None
            if not lanes:
                empty.append(box)
                continue
            extra = i >= ideal
            (again if extra else first).append(box)
            text = str(lanes[0]) if len(lanes) == 1 else f"×{len(lanes)}"
            axes.text(
                (box[0] + box[2]) / 2, (box[1] + box[3]) / 2 + 0.5, text, ha="center", va="center_baseline",
                fontsize=7 if len(text) < 3 else 6, color=ink_on(ORANGE if extra else SKY), zorder=3,
            )  # fmt: skip
    rectangles(axes, empty, facecolor="none", edgecolor=INK, lw=0.4, ls=(0, (1, 2.5)), alpha=0.5, zorder=1)
    rectangles(axes, first, facecolor=SKY, edgecolor=INK, lw=0.6, zorder=2)
    rectangles(axes, again, facecolor=ORANGE, edgecolor=INK, lw=0.6, zorder=2)
    _legend(axes, left, height - 14)
    return figure


def _legend(axes, x: float, y: float) -> None:
    entries = (
        (SKY, "5", "lane 5", 78),
        (SKY, "×4", "4 lanes, one word", 134),
        (ORANGE, "5", "must wait: its bank is busy", 0),
    )
    for fill, text, words, step in entries:
        rectangles(axes, [(x, y - 7, x + 15, y + 7)], facecolor=fill, edgecolor=INK, lw=0.6)
        axes.text(x + 7.5, y + 0.5, text, ha="center", va="center_baseline", fontsize=6.5, color=ink_on(fill))
        axes.text(x + 20, y + 0.5, words, ha="left", va="center_baseline", fontsize=SMALL)
        x += step
