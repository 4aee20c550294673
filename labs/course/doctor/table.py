"""The known traps as a page: for the book, from the very table that the doctor looks through."""

from __future__ import annotations

import re

from labs.course.doctor.traps import CHAPTERS


def table():
    """Return a table per chapter in Markdown: trap, how it shows, what to do.

    Returns
    -------
    str
        Second-level headings with a table each, without a title of the page.
    """
    return "\n\n".join(f"## {title}\n\n{_rows(traps)}" for title, traps in CHAPTERS) + "\n"


def _rows(traps):
    lines = ["| Trap | How it shows | What it costs | What to do |", "|---|---|---|---|"]
    for trap in traps:
        price = f" *Price:* {_cell(trap.price)}" if trap.price else ""
        cells = (f"**{_cell(trap.title)}**", _cell(trap.sign), _cell(trap.costs), _cell(trap.cure) + price)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(text):
    """A text as a table's cell: outside of code all signs stay what they are; in code only the bar needs that."""
    pieces = re.split(r"(`[^`]*`)", " ".join(text.split()))
    marked = [re.sub(r"([|])" if piece.startswith("`") else r"([|$<*\\])", r"\\\1", piece) for piece in pieces]
    return "".join(marked)
