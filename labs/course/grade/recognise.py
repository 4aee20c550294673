"""Recognising the lesson's cells in a notebook that lost their names, or that is from an older version of the lesson.

Front ends treat metadata as they like: some drop nbgrader's, some tools strip all. Then a check is known by its text
and an answer by what it defines. A cell that is known again gets its name back; where it stands, and that the check
itself comes from the source, is decided elsewhere (`notebook.plan`), so nothing here can gain a point.
"""

import ast
import contextlib
import re
from dataclasses import dataclass, replace
from itertools import pairwise

from labs.course.anatomy import Check, parse_check
from labs.course.grade.notebook import even
from labs.course.grade.words import tidy
from labs.course.stubs import clear_source

_CALLS = re.compile(r"\bexercises\.(\w+)\(")
_MAGICS = re.compile(r"\A(?:[ \t]*%\S.*\n)+")


@dataclass(frozen=True)
class Form:
    """What the source of a lesson looks like.

    Attributes
    ----------
    names : tuple of str
        grade_ids of its cells, in order.
    locked : dict of str to Cell or Check
        As `notebook.locked` gives it.
    texts : frozenset of str
        Texts of its code cells, with answers and as a learner finds them.
    calls : frozenset of str
        What it calls on ``exercises``: checks and questions.
    signatures : dict of str to tuple of str
        Parameters of the functions that its answer cells define.
    """

    names: tuple
    locked: dict
    texts: frozenset
    calls: frozenset
    signatures: dict

    @classmethod
    def of(cls, source, locked):
        """The form of a source notebook."""
        code = [cell for cell in source.cells if cell.cell_type == "code"]
        texts, signatures = set(), {}
        for cell in code:
            texts.add(even(cell.source))
            if cell.metadata.get("nbgrader", {}).get("solution"):
                with contextlib.suppress(ValueError):  # a source without markers: told where lessons are checked
                    texts.add(even(clear_source(cell.source, choose="choose" in cell.metadata.get("tags", []))))
                signatures |= _signatures(cell.source)
        names = tuple(name for cell in source.cells if (name := cell.metadata.get("nbgrader", {}).get("grade_id")))
        calls = frozenset(call for cell in code for call in _CALLS.findall(cell.source))
        return cls(names, locked, frozenset(texts), calls, signatures)

    @property
    def checks(self):
        """Names and contents of the check cells."""
        return {name: item for name, item in self.locked.items() if isinstance(item, Check)}


def recognise(document, form):
    """Give cells their names back, and say what was found.

    Parameters
    ----------
    document : notebook.Document
    form : Form

    Returns
    -------
    cells : tuple of Cell
        With names.
    before : list of str
        Notes on what was lost or is older.
    after : list of str
        Notes of little weight: cells of the learner's own.
    """
    cells, again = list(document.cells), []
    for i, cell in enumerate(cells):
        if cell.code and cell.name not in form.names and (name := _by_text(cell, form)):
            cells[i] = replace(cell, name=name)
            again.append(name)
    answers = [check.exercise for check in form.checks.values()]
    here = {cell.name for cell in cells if cell.code}
    for check in form.checks.values():
        if check.exercise not in here:
            for i, cell in enumerate(cells):
                if cell.code and cell.name not in form.names and any(defines(cell.source, n) for n in check.answers):
                    cells[i] = replace(cell, name=check.exercise)
                    again.append(check.exercise)
    before = _lost(document, form, again)
    before += [
        f"the answer cell {cell.name} is a cell of text, so nothing in it ran"
        for cell in cells
        if not cell.code and cell.name in answers
    ]
    for name in answers:
        count = sum(cell.code and cell.name == name for cell in cells)
        if count > 1 and name not in again:
            before.append(f"there are {count} cells for the answer {name}; what the last of them defines counts")
    before += _moved(cells, form) + _older(cells, form)
    own = [c for c in cells if c.code and c.source.strip() and c.name not in form.names]
    own = sum(even(cell.source) not in form.texts for cell in own)
    said = "1 cell that is not the lesson's ran, too" if own == 1 else f"{own} cells that are not the lesson's ran, too"
    return tuple(cells), before, [said] if own else []


def check_of(text):
    """What a check cell asks for, or None; time and place it was run with (``%%time``) do not matter."""
    try:
        return parse_check(_MAGICS.sub("", text))
    except (ValueError, RecursionError, MemoryError):
        return None


def defines(text, name):
    """Whether a cell defines a name at its top level, in Python or in C++."""
    name = re.escape(name)
    pattern = rf"^(?:def|class)[ \t]+{name}\b|^{name}[ \t]*(?::[^=\n]+)?=(?!=)|\A\s*%%(?:cpp|cuda)\b[^\n]*\b{name}\b"
    return bool(re.search(pattern, text, re.M))


def _by_text(cell, form):
    text, check = even(cell.source), check_of(cell.source)
    for name, item in form.locked.items():
        if (check == item) if isinstance(item, Check) else (even(item.source) == text):
            return name
    return ""


def _lost(document, form, again):
    """Who dropped names, in words."""
    if not again:
        return []
    by = f" (it was saved with {document.program})" if document.program else ""
    if not any(cell.name in form.names for cell in document.cells):
        return [
            f"the cells of this notebook have lost their names{by}; checks were recognised by their text, answers by "
            "what they define"
        ]
    return [
        f"the cell {name} had lost its name{by} and was recognised by what it holds" for name in dict.fromkeys(again)
    ]


def _moved(cells, form):
    """Answers in another order than in the lesson."""
    order = {name: i for i, name in enumerate(form.names)}
    last = {
        cell.name: i
        for i, cell in enumerate(cells)
        if cell.code and cell.name in order and cell.name not in form.locked
    }
    stand = sorted(last, key=last.get)
    pairs = [(one, other) for one, other in pairwise(stand) if order[one] > order[other]]
    return [f"cells were moved: {other} stands behind {one}" for one, other in pairs[:3]]


def _older(cells, form):
    """One note when the notebook seems to be from an older version of the lesson, with the reasons."""
    reasons, code = [], [cell for cell in cells if cell.code]
    for cell in code:
        check = check_of(cell.source)
        if check and check.exercise not in form.calls:
            reasons.append(f"it checks {check.exercise}, which the lesson no longer has")
        wanted = form.checks.get(cell.name)
        if check and wanted and check.exercise == wanted.exercise and check != wanted:
            call = f"{wanted.exercise}({', '.join(wanted.answers)})"
            reasons.append(f"it checks {check.exercise}({', '.join(check.answers)}), today {call}")
    missing = [
        check.exercise
        for name, check in form.checks.items()
        if not any(cell.name in (name, check.exercise) for cell in code)
    ]
    if missing and len(missing) < len(form.checks):
        reasons.append(f"it has no cells for {', '.join(missing)}")
    for cell in code:
        if cell.name in form.names:
            for name, has in _signatures(cell.source).items():
                wants = form.signatures.get(name)
                if wants is not None and len(wants) != len(has):
                    reasons.append(f"its {name} takes ({', '.join(has)}), today ({', '.join(wants)})")
    if not reasons:
        return []
    reasons = tidy("; ".join(dict.fromkeys(reasons)), 600)
    return [f"this notebook seems to be from an older version of the lesson ({reasons}); the checks are today's"]


def _signatures(text):
    """Parameters of the functions at the top of a cell; of those with ``*args`` nothing is said."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found = {}
    for node in body:
        if isinstance(node, ast.FunctionDef) and not (node.args.vararg or node.args.kwarg):
            found[node.name] = tuple(
                arg.arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            )
    return found
