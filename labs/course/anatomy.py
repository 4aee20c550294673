"""Reading the fixed parts of a lesson: its opening box and its check cells."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """What a locked check cell asks for.

    Attributes
    ----------
    exercise : str
        Id of the exercise.
    answers : tuple of str
        Names of the learner's answers, as the cell passes them.
    """

    exercise: str
    answers: tuple[str, ...]


@dataclass(frozen=True)
class Box:
    """The opening box of a lesson.

    Attributes
    ----------
    title : str
        The lesson's title without its number; empty when the notebook has none.
    builds, needs : bool
        Whether the box says what the learner will build, and what it needs.
    minutes, points : int or None
        Announced time (min) and points; None where the box does not say.
    """

    title: str
    builds: bool
    needs: bool
    minutes: int | None
    points: int | None


def checks(notebook):
    """Return the checks of a notebook by position of their cell.

    Parameters
    ----------
    notebook : nbformat.NotebookNode

    Returns
    -------
    dict of int to Check
        Cells that nbgrader grades and that hold exactly ``exercises.<id>(<names>)``.
    """
    found = {}
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("grade"):
            check = parse_check(cell.source)
            if check is not None:
                found[index] = check
    return found


def parse_check(source):
    """Read ``exercises.ring(send, receive)`` as an exercise id and the names of the answers.

    Parameters
    ----------
    source : str
        Text of a check cell.

    Returns
    -------
    Check or None
        None when the cell holds anything else.
    """
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return None
    match body:
        case [ast.Expr(ast.Call(ast.Attribute(ast.Name("exercises"), exercise), [_, *_] as names, []))]:
            if all(isinstance(name, ast.Name) for name in names):
                return Check(exercise, tuple(name.id for name in names))
    return None


def opening_box(notebook):
    """Read title, time and points from the first prose of a notebook.

    Parameters
    ----------
    notebook : nbformat.NotebookNode

    Returns
    -------
    Box
    """
    text = "\n".join(cell.source for cell in notebook.cells[:3] if cell.cell_type == "markdown")
    title = re.search(r"^# (?:\d\d\s*[·:.-]?\s*)?(.+?)\s*$", text, re.MULTILINE)
    box = "\n".join(line for line in text.splitlines() if line.startswith(">"))
    minutes = re.search(r"Time\W+(\d+) min", box)
    points = re.search(r"Points\W+(\d+)", box)
    return Box(
        title[1] if title else "",
        "You will" in box,
        "You need" in box,
        int(minutes[1]) if minutes else None,
        int(points[1]) if points else None,
    )
