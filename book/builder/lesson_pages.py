"""From solutions/NN_topic.ipynb to the page of a lesson: answers folded, the box on top, lessons named by links."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from .launch import Repository, run_box
from .outline import Entry


def lesson_page(notebook: dict, entry: Entry, entries: Sequence[Entry], public: Repository | None) -> dict:
    """The lesson as the book shows it.

    Parameters
    ----------
    notebook : dict
        A notebook (nbformat 4) as JSON; it is left alone.
    entry : Entry
        What the course knows of it.
    entries : sequence of Entry
        All lessons.
    public : Repository or None
        Where Colab and Binder find the notebooks.

    Returns
    -------
    dict
        A new notebook: answers folded, no editing metadata, a description for search engines, the box "Run this
        lesson" after the opening, and links where the opening or "Next" names a lesson.
    """
    first, *rest = folded(notebook)["cells"]
    opening, intro = _split(linked("".join(first["source"]), entries))
    box = {"cell_type": "markdown", "id": "run-this-lesson", "metadata": {}, "source": run_box(entry.name, public)}
    cells = [first | {"source": opening}, box]
    if intro:
        cells.append({"cell_type": "markdown", "id": "opening-text", "metadata": {}, "source": intro})
    for cell in rest:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown" and "**Next:**" in text:
            head, _, tail = text.rpartition("**Next:**")
            cell = cell | {"source": f"{head}**Next:**{linked(tail, entries)}"}
        cells.append(_to_pages(cell))
    described = {"myst": {"html_meta": {"description": description(entry)}}}
    return notebook | {"cells": cells, "metadata": notebook["metadata"] | described}


def folded(notebook: dict) -> dict:
    """The notebook with its answers folded away and without editing metadata.

    Parameters
    ----------
    notebook : dict
        A notebook (nbformat 4) as JSON.

    Returns
    -------
    dict
        A new notebook; the given one is left alone.
    """
    cells = []
    for cell in notebook["cells"]:
        role = cell["metadata"].get("nbgrader", {})
        tags = list(cell["metadata"].get("tags", []))
        if cell["cell_type"] == "code" and role.get("solution") and "hide-input" not in tags:
            tags.append("hide-input")
        cells.append(cell | {"metadata": {"tags": tags} if tags else {}})
    return notebook | {"cells": cells}


def linked(text: str, entries: Sequence[Entry]) -> str:
    """Turn "08 All-reduce" into a link wherever a lesson is named by number and title.

    Parameters
    ----------
    text : str
        Markdown.
    entries : sequence of Entry

    Returns
    -------
    str
        The lesson's own heading, which has a dot between the two, stays as it is.
    """
    for entry in entries:
        named = re.compile(rf"(?<![\w\[#]){entry.number:02} {re.escape(entry.title)}(?!\w)")
        text = named.sub(f"[{entry.number:02} {entry.title}]({entry.name}.ipynb)", text)
    return text


def description(entry: Entry) -> str:
    """One or two sentences about a lesson, for the page's description (at most 200 letters)."""
    text = f"Lesson {entry.number:02}, {entry.title}. You build {entry.builds}"
    if len(text) <= 200:
        return text
    return text[:200].rsplit(" ", 1)[0].rstrip(",;:.") + " …"


def write_lessons(entries: Sequence[Entry], source: Path, target: Path, public: Repository | None = None) -> list[Path]:
    """Write the pages of all lessons into the book and drop the ones that are gone.

    Parameters
    ----------
    entries : sequence of Entry
    source, target : pathlib.Path
        solutions/ and book/lessons/.
    public : Repository or None

    Returns
    -------
    list of pathlib.Path
    """
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    written = []
    for entry in entries:
        notebook = json.loads((source / f"{entry.name}.ipynb").read_text(encoding="utf-8"))
        written.append(target / f"{entry.name}.ipynb")
        written[-1].write_text(json.dumps(lesson_page(notebook, entry, entries, public)), encoding="utf-8")
    return written


def _to_pages(cell: dict) -> dict:
    """Let links of stored outputs that open another notebook in JupyterLab open that lesson's page here."""
    if not cell.get("outputs"):
        return cell
    text = json.dumps(cell["outputs"])
    pages = re.sub(r"""(href=\\?["'])(\d\d_\w+)\.ipynb""", r"\1\2.html", text)
    return cell | {"outputs": json.loads(pages)}


def _split(opening: str) -> tuple[str, str]:
    """Part the first cell after its opening box: the box "Run this lesson" goes between."""
    lines = opening.splitlines()
    last = max((i for i, line in enumerate(lines) if line.startswith(">")), default=0)
    return "\n".join(lines[: last + 1]), "\n".join(lines[last + 1 :]).strip()
