"""The known traps as a page: for the book, from the very table that the doctor looks through."""

from __future__ import annotations

import re

from labs.course.doctor.traps import CHAPTERS

_CODE = re.compile(r"`[^`]*`")


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
        cure = trap.cure if not trap.price else f"{trap.cure} *Price:* {trap.price}"
        cells = (f"**{trap.title}**", trap.sign, trap.costs, cure)
        lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    return "\n".join(lines)


def _cell(text):
    """A text as a table's cell: bars, dollars and angle brackets stay what they are."""
    text = " ".join(text.split())
    return re.sub(r"([|$<])", r"\\\1", text)
