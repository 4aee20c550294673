"""Rules for prose: headings and tables in step, pictures in words too; and the fixed parts of a lesson."""

from __future__ import annotations

import re
from pathlib import Path

from labs.course.anatomy import opening_box
from labs.course.canonical import where

HEADINGS = ("Predict", "Check yourself", "Sources")
LESSON_MINUTES = 60
PAGES = ("*.md", "book/*.md")

_FENCE = re.compile(r"^\s*(?:```|~~~)")
_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
_EMPTY_ALT = re.compile(r"!\[\s*\]\(")
_IMG_WITHOUT_ALT = re.compile(r"<img\b(?![^>]*\balt=[\"'][^\"'])[^>]*>", re.IGNORECASE)
_SVG_WITHOUT_NAME = re.compile(r"<svg\b(?![^>]*\b(?:aria-label|aria-labelledby|aria-hidden)=)[^>]*>", re.IGNORECASE)
_CELL_END = re.compile(r"(?<!\\)\|")


def without_code(text):
    """Blank the fenced code of a Markdown text; lines keep their numbers.

    Parameters
    ----------
    text : str

    Returns
    -------
    list of str
        The lines.
    """
    lines, fenced = [], False
    for line in text.split("\n"):
        fence = bool(_FENCE.match(line))
        lines.append("" if fenced or fence else line)
        fenced ^= fence
    return lines


def headings(text):
    """Return the headings of a Markdown text.

    Parameters
    ----------
    text : str

    Returns
    -------
    list of (int, int, str)
        Line (from 1), level and words of each.
    """
    found = ((number, _HEADING.match(line)) for number, line in enumerate(without_code(text), 1))
    return [(number, len(match[1]), match[2]) for number, match in found if match]


def check_page(passages):
    """Check the prose of one page, whatever it is about.

    Parameters
    ----------
    passages : iterable of (str, str)
        Where each piece of Markdown stands, and its text, in order.

    Yields
    ------
    str
    """
    level, seen = 0, {}
    for place, text in passages:
        for number, deep, words in headings(text):
            here = f"{place}, line {number}"
            if level == 0 and deep != 1:
                yield f"{here}: the first heading is '{'#' * deep} {words}'; a page begins with '# Its title'."
            elif level and deep == 1:
                yield f"{here}: '# {words}' is a second title. Begin it with '##'."
            elif level and deep > level + 1:
                yield f"{here}: '{'#' * deep} {words}' skips a level. Use '{'#' * (level + 1)}'."
            if words.lower() in seen:
                yield f"{here}: the heading '{words}' stands at {seen[words.lower()]} too. Give one another name."
            seen.setdefault(words.lower(), here)
            level = max(deep, 2) if level else deep
        yield from _check_tables(place, text)
        lines = without_code(text)
        for number, line in enumerate(lines, 1):
            if _EMPTY_ALT.search(line) or _IMG_WITHOUT_ALT.search(line):
                yield f"{place}, line {number}: a picture without a text alternative. Write ![what it shows](file)."


def check_pages(root):
    """Check the Markdown pages of a course: README, CONTRIBUTING and the book's own.

    Parameters
    ----------
    root : path-like
        The checkout.

    Returns
    -------
    list of str
    """
    root, faults = Path(root), []
    for path in sorted(path for pattern in PAGES for path in root.glob(pattern)):
        faults += check_page([(str(path.relative_to(root)), path.read_text(encoding="utf-8"))])
    return faults


def _check_tables(place, text):
    """Every row of a table has as many cells as its head. A | in code ends a cell too, unless it is written as \\|."""
    width = None
    for number, line in enumerate(without_code(text), 1):
        if not line.lstrip().startswith("|"):
            width = None
            continue
        row = line.strip().removesuffix("|") if not line.rstrip().endswith("\\|") else line.strip()
        cells = len(_CELL_END.findall(row))
        if width is not None and cells != width:
            yield f"{place}, line {number}: a row of {cells} cells in a table of {width}. Write a | inside one as \\|."
        width = cells if width is None else width


def check_lesson_prose(name, notebook, points):
    """Check what the words of a lesson must hold: the opening box, the fixed headings and what stands below them.

    Parameters
    ----------
    name : str
        File name of the notebook.
    notebook : nbformat.NotebookNode
    points : float
        What its exercises give together.

    Yields
    ------
    str
    """
    box = opening_box(notebook)
    if not box.title:
        yield f"{name}: the first cell has no title like '# 08 · All-reduce'."
    parts = {
        "**You will build** ...": box.builds, "**You need** ...": box.needs, "**Time** 50 minutes": box.minutes,
        "**Points** 14": box.points is not None,
    }  # fmt: skip
    for text, there in parts.items():
        if not there:
            yield f"{name}: the opening box (lines that begin with '>') does not say '{text}'."
    if box.points is not None and box.points != points:
        yield f"{name}: the opening box announces {box.points} points, but the exercises give {points}."
    if box.minutes and box.minutes > LESSON_MINUTES:
        yield f"{name}: the opening box announces {box.minutes} minutes; the core fits in {LESSON_MINUTES}."
    yield from _check_prerequisites(name, notebook)
    for wanted in HEADINGS:
        section = _section(notebook, wanted)
        if section is None:
            yield f"{name}: no heading says '{wanted}'. Every lesson has one."
        elif wanted == "Sources" and not re.search(r"(?m)^\s*[-*] \S", section[0].source):
            yield f"{name}: no list of sources stands below the heading 'Sources'."
        elif wanted == "Predict" and not any(cell.cell_type == "code" for cell in section):
            yield f"{name}: no cell below 'Predict' takes the learner's guess."
        elif wanted == "Check yourself" and not any("choose" in cell.metadata.get("tags", ()) for cell in section):
            yield f"{name}: no question (a cell tagged \"choose\") stands below 'Check yourself'."
    cells = [(where(name, index, cell), cell.source) for index, cell in _markdown(notebook)]
    if box.title:  # else it was said above
        yield from check_page(cells)


def _markdown(notebook):
    return ((index, cell) for index, cell in enumerate(notebook.cells) if cell.cell_type == "markdown")


def _check_prerequisites(name, notebook):
    """A lesson needs only lessons before it."""
    box = re.search(r"\*\*You need\*\*(.*?)(?=·|$)", notebook.cells[0].source if notebook.cells else "", re.MULTILINE)
    for number in re.findall(r"\b(\d\d)\b", box[1] if box else ""):
        if int(number) >= int(name[:2]):
            yield f"{name}: it needs lesson {number}, which does not come before it."


def _section(notebook, wanted):
    """The cells from the one whose heading says some words, up to the next heading of its level or above."""
    start = None
    for index, cell in _markdown(notebook):
        for _, level, words in headings(cell.source):
            if start is not None and level <= start[1]:
                return notebook.cells[start[0] : max(index, start[0] + 1)]
            if start is None and level > 1 and re.search(rf"\b{wanted}\b", words, re.IGNORECASE):
                start = index, level
    return None if start is None else notebook.cells[start[0] :]


def check_pictures(place, cell):
    """Check that what a cell has put out can be read by those who do not see it.

    Parameters
    ----------
    place : str
        Name of the cell.
    cell : mapping
        A code cell.

    Yields
    ------
    str
    """
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        page = "".join(data.get("text/html", ""))
        bare = any(kind.startswith("image/") for kind in data) and not page
        if bare or _IMG_WITHOUT_ALT.search(page) or _SVG_WITHOUT_NAME.search(page):
            yield f"{place}: it shows a picture without a text alternative. Show a Picture of labs.kit.draw."
