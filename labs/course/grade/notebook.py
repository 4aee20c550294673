"""Reading notebooks nobody vouches for, and the plan: what runs, in what order, where the checks stand."""

import json
import os
import stat
from dataclasses import dataclass

import nbformat

from labs.course.anatomy import Check, parse_check

MAX_BYTES, MAX_CELLS = 20 << 20, 500
SHOWN_TAGS = {"show", "measure"}


class BadNotebook(Exception):
    """The file is not a notebook that can be graded; the message says why."""


@dataclass(frozen=True)
class Cell:
    """A code cell; `name` is nbgrader's grade_id, or empty. Cells of prose have `code` False."""

    source: str
    name: str = ""
    code: bool = True


@dataclass(frozen=True)
class Document:
    """A learner's notebook.

    Attributes
    ----------
    cells : tuple of Cell
    program : str
        What it was saved with, as far as it shows, or empty.
    """

    cells: tuple
    program: str = ""


@dataclass(frozen=True)
class Plan:
    """What to do with a notebook.

    Attributes
    ----------
    steps : tuple of Cell or Check
    notes : tuple of str
        What was found changed, in words.
    """

    steps: tuple
    notes: tuple


def read(path):
    """Read a learner's notebook.

    Only the text of cells counts. Outputs, metadata (but the name of a cell), ids and points are never looked at.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    Document

    Raises
    ------
    BadNotebook
    """
    raw = read_bytes(path)
    try:
        document = json.loads(raw)
        if type(document) is not dict or "nbformat" not in document:
            raise BadNotebook("it is not a notebook")
        form = document["nbformat"]
        if form != 4:
            document = nbformat.convert(nbformat.reads(raw.decode(), as_version=nbformat.NO_CONVERT), 4)
        cells, program = tuple(_cell(cell) for cell in document["cells"]), _program(document, form)
    except BadNotebook:
        raise
    except Exception as error:  # a hostile file may fail in any way
        raise BadNotebook(f"it is not a notebook, or a damaged one ({type(error).__name__})") from None
    if len(cells) > MAX_CELLS:
        raise BadNotebook(f"it has {len(cells)} cells; at most {MAX_CELLS} are graded")
    return Document(cells, program)


def _program(document, form):
    """What a notebook was saved with, from the traces that programs leave."""
    if form != 4:
        return f"an old program, in format {form}"
    marks = [document.get("metadata"), *(cell.get("metadata") for cell in document["cells"])]
    keys = {key for mark in marks if type(mark) is dict for key in mark}
    traces = {"colab": "Colab", "outputId": "Colab", "vscode": "VS Code", "nteract": "nteract", "jupytext": "Jupytext"}
    return next((name for key, name in traces.items() if key in keys), "")


def read_bytes(path):
    """The bytes of a learner's file.

    Raises
    ------
    BadNotebook
        When it is a link, a pipe or the like, or too large.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError as error:
        why = "it is a link" if os.path.islink(path) else error.strerror
        raise BadNotebook(f"it cannot be opened ({why})") from None
    with os.fdopen(descriptor, "rb") as f:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise BadNotebook("it is not a file")
        if info.st_size > MAX_BYTES:
            raise BadNotebook(f"it has {info.st_size >> 20} MB; at most {MAX_BYTES >> 20} MB are read")
        return f.read(MAX_BYTES + 1)


def _cell(cell):
    source = cell["source"] if type(cell["source"]) is str else "".join(cell["source"])
    source = source.replace("\r\n", "\n").replace("\r", "\n")  # as some editors on Windows save it
    name = ""
    metadata = cell.get("metadata", {})
    if type(metadata) is dict and type(metadata.get("nbgrader")) is dict:
        name = metadata["nbgrader"].get("grade_id", "")
    return Cell(source, name if type(name) is str else "", cell["cell_type"] == "code")


def locked(source):
    """Return the cells that always come from the source.

    Parameters
    ----------
    source : nbformat.NotebookNode
        The instructor's notebook.

    Returns
    -------
    dict of str to Cell or Check
        By grade_id, in the order of the notebook.

    Raises
    ------
    ValueError
        When a check cell does not hold one call of an exercise.
    """
    found = {}
    for cell in source.cells:
        meta = cell.metadata.get("nbgrader", {})
        if cell.cell_type != "code" or meta.get("solution") or not (meta.get("locked") or meta.get("grade")):
            continue
        if _only_shows(cell) and not meta.get("grade"):
            continue
        check = parse_check(cell.source)
        if meta.get("grade") and check is None:
            raise ValueError(f"the check cell {meta['grade_id']} must hold one call, exercises.NAME(ANSWER, ...).")
        found[meta["grade_id"]] = check or Cell(cell.source, meta["grade_id"])
    return found


def shown(source):
    """Return the texts of the source's cells that only show or measure something."""
    return frozenset(even(cell.source) for cell in source.cells if cell.cell_type == "code" and _only_shows(cell))


def _only_shows(cell):
    return bool(SHOWN_TAGS & set(cell.metadata.get("tags", [])))


def even(source):
    """Text of a cell without what editors change unasked: blanks at the ends of lines, empty lines around."""
    return "\n".join(line.rstrip() for line in source.strip().splitlines())


def plan(cells, locks, shows=frozenset()):
    """Decide what runs: the learner's cells, with every locked one replaced by the source's, each exactly once.

    Parameters
    ----------
    cells : sequence of Cell
        Of the learner.
    locks : dict
        As from `locked`.
    shows : frozenset of str
        As from `shown`; a cell with such a text is skipped.

    Returns
    -------
    Plan
    """
    notes, steps = [], []
    place = {cell.name: i for i, cell in enumerate(cells) if cell.name in locks}  # of several copies the last stands
    for i, cell in enumerate(cells):
        if cell.name in locks:
            if place[cell.name] != i:
                notes.append(f"a second copy of the cell {cell.name} was left out")
                continue
            if not _unchanged(cell, locks[cell.name]):
                notes.append(f"the locked cell {cell.name} had been changed and was restored")
            steps.append(locks[cell.name])
        elif cell.code and cell.source.strip() and even(cell.source) not in shows:
            steps.append(cell)
    missing = [name for name in locks if name not in place]
    notes += [f"the locked cell {name} was missing and was put back" for name in missing]
    steps = [locks[n] for n in missing if isinstance(locks[n], Cell)] + steps  # imports and set-up first
    steps += [locks[n] for n in missing if isinstance(locks[n], Check)]
    _before_what_needs_them(steps, locks, notes)
    return Plan(*_behind_answers(steps, notes))


def _before_what_needs_them(steps, locks, notes):
    """A locked cell that is no check (the set-up) is moved before the cells that follow it in the source."""
    order = list(locks.values())
    for position, cell in enumerate(order):
        if isinstance(cell, Check):
            continue
        follow = [item for item in order[position + 1 :] if isinstance(item, Check)]
        names = {check.exercise for check in follow}
        first = next((i for i, s in enumerate(steps) if s in follow or (isinstance(s, Cell) and s.name in names)), None)
        here = steps.index(cell)
        if first is not None and first < here:
            steps.insert(first, steps.pop(here))
            notes.append(f"the locked cell {cell.name} stood behind cells that need it and was moved up")


def _behind_answers(steps, notes):
    """A check that stands before its answer cell (which bears the exercise's name) is moved behind it."""
    for check in [step for step in steps if isinstance(step, Check)]:
        answers = [i for i, step in enumerate(steps) if isinstance(step, Cell) and step.name == check.exercise]
        here = steps.index(check)
        if answers and here < answers[-1]:
            steps.insert(answers[-1] + 1, check)
            del steps[here]
            notes.append(f"the check of {check.exercise} stood before its answer and was moved behind it")
    return tuple(steps), tuple(notes)


def _unchanged(cell, wanted):
    if not cell.code:
        return False
    if isinstance(wanted, Cell):
        return even(cell.source) == even(wanted.source)
    try:
        return parse_check(cell.source) == wanted
    except (ValueError, RecursionError, MemoryError):
        return False
