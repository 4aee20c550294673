"""The map of lessons: parts as lanes, lessons as cards, prerequisites as arrows from left to right.

Cards are real links in reading order; the arrows are drawn behind them and say nothing that the cards do not say in
words. Where the page is narrow there is no room for arrows: the cards stand one below another and name what they need.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from .outline import Entry

ROW, LABEL, SPACE = 5.0, 2.0, 0.8  # rem: a card with its margin, a lane's caption, between two lanes
MARGIN = 0.07  # of a column, to the left and to the right of a card


@dataclass(frozen=True)
class Lane:
    """A part of the course on the map.

    Attributes
    ----------
    caption : str
    column, columns : int
        The first column, and how many it spans.
    top, height : float
        rem.
    places : dict of int to tuple
        By lesson number: column of the map, and row within the lane.
    """

    caption: str
    column: int
    columns: int
    top: float
    height: float
    places: dict[int, tuple[int, int]]

    def middle(self, number: int) -> float:
        """Where the middle of a lesson's card lies below the map's top (rem)."""
        return self.top + LABEL + ROW * (self.places[number][1] + 0.5)


def depths(entries: Sequence[Entry]) -> dict[int, int]:
    """How many lessons must come before each one, one after another: its column.

    Parameters
    ----------
    entries : sequence of Entry
        In order.

    Returns
    -------
    dict of int to int
        By lesson number; 0 for a lesson that needs none.
    """
    found: dict[int, int] = {}
    for entry in entries:
        found[entry.number] = max((found[number] + 1 for number in entry.needs), default=0)
    return found


def arrows(entries: Sequence[Entry]) -> tuple[tuple[int, int], ...]:
    """Prerequisites without those that follow from others: 08 needs 01, which needs 00, so 00 to 08 is left out.

    Parameters
    ----------
    entries : sequence of Entry
        In order.

    Returns
    -------
    tuple of (int, int)
        From a lesson to the one that needs it.
    """
    needs = {entry.number: entry.needs for entry in entries}
    behind: dict[int, set[int]] = {}
    for entry in entries:
        behind[entry.number] = set(entry.needs).union(*(behind[number] for number in entry.needs))
    return tuple(
        (number, later)
        for later, before in needs.items()
        for number in before
        if not any(number in behind[other] for other in before if other != number)
    )


def lanes(entries: Sequence[Entry]) -> tuple[Lane, ...]:
    """Give each part a lane, and each lesson a column (its depth) and a row in it.

    A first part that ends before all others begin (the common start) stands beside them, half way down.

    Parameters
    ----------
    entries : sequence of Entry
        In order.

    Returns
    -------
    tuple of Lane
    """
    depth = depths(entries)
    parts: dict[str, list[Entry]] = {}
    for entry in entries:
        parts.setdefault(entry.part, []).append(entry)
    captions = list(parts)
    aside = len(captions) > 1 and max(depth[e.number] for e in parts[captions[0]]) < min(
        depth[e.number] for caption in captions[1:] for e in parts[caption]
    )
    made, top = [], 0.0
    for caption in captions[1:] if aside else captions:
        made.append(_lane(caption, parts[caption], depth, top))
        top += made[-1].height + SPACE
    if aside:
        first = _lane(captions[0], parts[captions[0]], depth, 0.0)
        middle = max(0.0, (top - SPACE - first.height) / 2)
        made.insert(0, _lane(captions[0], parts[captions[0]], depth, middle))
    return tuple(made)


def lesson_map(entries: Sequence[Entry], where: str = "lessons/") -> str:
    """The map as HTML; its looks are in _static/pages.css.

    Parameters
    ----------
    entries : sequence of Entry
        In order.
    where : str
        Folder of the lessons' pages, as seen from the page with the map.

    Returns
    -------
    str
    """
    depth, made = depths(entries), lanes(entries)
    columns = max(depth.values()) + 1
    height = max(lane.top + lane.height for lane in made)
    lane_of = {number: lane for lane in made for number in lane.places}
    lines = [
        f'<path class="map-arrow" data-to="{later}" d="{_curve(depth, lane_of, first, later)}"/>'
        for first, later in arrows(entries)
    ]
    by_number = {entry.number: entry for entry in entries}
    blocks = []
    for lane in made:
        cards = "".join(_card(by_number[number], by_number, lane, where) for number in lane.places)
        style = f"--x:{lane.column};--w:{lane.columns};--y:{lane.top:g}rem;--h:{lane.height:g}rem"
        blocks.append(
            f'<li class="map-part" style="{style}"><span class="map-caption">{html.escape(lane.caption)}</span>'
            f"<ol>{cards}</ol></li>"
        )
    return (
        f'<nav class="course-map" aria-label="Map of the lessons"><div class="map-sheet" '
        f'style="--columns:{columns};--height:{height:g}rem"><svg class="map-arrows" aria-hidden="true" '
        f'focusable="false" viewBox="0 0 {columns * 100} {height * 10:g}" preserveAspectRatio="none">'
        f"{''.join(lines)}</svg><ul>{''.join(blocks)}</ul></div></nav><style>{_lit(entries)}</style>"
    )


def _lane(caption, entries, depth, top):
    column = min(depth[entry.number] for entry in entries)
    rows: dict[int, int] = {}
    places = {}
    for entry in entries:
        here = depth[entry.number]
        places[entry.number] = (here, rows.get(here, 0))
        rows[here] = rows.get(here, 0) + 1
    columns = max(depth[entry.number] for entry in entries) - column + 1
    return Lane(caption, column, columns, top, LABEL + ROW * max(rows.values()), places)


def _card(entry, by_number, lane, where):
    column, row = lane.places[entry.number]
    first = " map-first" if not entry.needs else ""
    before = [f"{by_number[number].number:02}" for number in entry.needs]
    needs = f'<span class="map-needs">after {" and ".join(before)}</span>' if before else ""
    points = f"{entry.points:g} points"
    return (
        f'<li style="--c:{column - lane.column};--r:{row}"><a class="map-card{first}" data-lesson="{entry.number}" '
        f'href="{where}{entry.name}.html"><b><span class="map-number">{entry.number:02}</span> '
        f"{html.escape(entry.title)}</b> <span>{entry.minutes} min · {points}</span> {needs}</a></li>"
    )


def _curve(depth, lane_of, first, later):
    """A line from one card's right edge to another's left edge, in hundredths of a column and tenths of rem."""
    x0, x1 = 100 * (depth[first] + 1 - MARGIN), 100 * (depth[later] + MARGIN)
    y0, y1 = 10 * lane_of[first].middle(first), 10 * lane_of[later].middle(later)
    bend = max(12.0, (x1 - x0) / 2)
    return f"M{x0:g} {y0:g}C{x0 + bend:g} {y0:g} {x1 - bend:g} {y1:g} {x1:g} {y1:g}"


def _lit(entries):
    """Rules that light up the way to the lesson that is pointed at or has the keyboard's focus."""
    needs = {entry.number: entry.needs for entry in entries}
    rules = []
    for entry in entries:
        way, open_ = set(), [entry.number]
        while open_:
            number = open_.pop()
            if number not in way:
                way.add(number)
                open_ += needs[number]
        at = f'.course-map:has([data-lesson="{entry.number}"]:is(:hover,:focus-visible)) '
        targets = ",".join(f'{at}.map-arrow[data-to="{number}"]' for number in sorted(way) if needs[number])
        if targets:
            rules.append(f"{targets}{{stroke:var(--pst-color-primary);stroke-width:3;opacity:1}}")
    return "".join(rules)
