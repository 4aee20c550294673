"""The rules for the cells and the exercises of a lesson."""

from __future__ import annotations

import ast
import re
import symtable
from pathlib import Path

from labs.course.anatomy import parse_check
from labs.course.canonical import NotebookError, canonical, read, where
from labs.course.catalogue import BAD_NAME, LESSON_FILE, exercises_of
from labs.course.execute import SIZE_LIMIT
from labs.course.lint.prose import check_lesson_prose, check_pictures
from labs.course.stubs import CPP_MAGICS, clear_source

MAX_LINES = 15
MAX_FRAMES = 12
CORE_SHARE = 0.7
CORE_EXERCISES = range(2, 5)
POINTS = (1, 2, 3)  # explain or predict, repair, write
TAGS = frozenset({
    "choose", "hide-cell", "hide-input", "hide-output", "measure", "nbval-check-output", "nbval-ignore-output",
    "raises-exception", "show",
})  # fmt: skip

_INSTALL = re.compile(
    r"^\s*[!%]*\s*(?:python\S*\s+-m\s+)?(?:pip3?|conda|mamba|uv|apt|apt-get)\s+(?:\S+\s+)*?install\b", re.MULTILINE
)
_DOWNLOAD = re.compile(r"^\s*!\s*(?:wget|curl|git\s+clone)\b|\burl(?:retrieve|open)\(|\brequests\.get\(", re.MULTILINE)
_STAR = re.compile(r"^\s*from\s+\S+\s+import\s+\*", re.MULTILINE)
_FRAME = re.compile(r"<figure\b")


def check_lesson(path, exercises=None):
    """Check a lesson against the rules of the course.

    Parameters
    ----------
    path : path-like
        solutions/NN_topic.ipynb.
    exercises : dict of str to Exercise, optional
        The package's exercises by id; imported when not given.

    Returns
    -------
    list of str
        A sentence for each broken rule; empty for a good lesson.
    """
    path = Path(path)
    match = LESSON_FILE.match(path.stem)
    if match is None:
        return [BAD_NAME.format(path.name)]
    try:
        notebook = read(path)
        canonical(notebook, path.name)  # ids, widgets without a static form
    except NotebookError as error:
        return [str(error)]
    if exercises is None:
        exercises = exercises_of(match["topic"])
    faults = []
    if path.stat().st_size > SIZE_LIMIT:
        size = path.stat().st_size / 1e6
        faults.append(f"{path.name} is {size:.2f} MB; a notebook may be {SIZE_LIMIT / 1e6:.0f} MB. Show less.")
    total = sum(exercise.points for exercise in exercises.values())
    faults += check_lesson_prose(path.name, notebook, total)
    faults += _check_points(path.name, exercises)
    faults += _check_exercises(path.name, notebook, exercises)
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            place = where(path.name, index, cell)
            faults += [*_check_cell(place, cell), *check_pictures(place, cell)]
    faults += _check_show(path.name, notebook)
    return faults


def check_course(lessons):
    """Check the exercises of all lessons: core and extensions, points, and that no two share an id.

    Progress is kept by exercise id, so two of one id would be one.

    Parameters
    ----------
    lessons : sequence of Lesson

    Returns
    -------
    list of str
    """
    owner, faults = {}, []
    for lesson in lessons:
        faults += _check_core(lesson.path.name, lesson.exercises)
        for exercise in lesson.exercises:
            if exercise.id in owner:
                faults.append(
                    f"{lesson.path.name}: the exercise {exercise.id} has the id of one in {owner[exercise.id]}. "
                    "Rename one of them, or solving one would mark both."
                )
            owner.setdefault(exercise.id, lesson.path.name)
    return faults


def _meta(cell):
    return cell.metadata.get("nbgrader", {})


def _tags(cell):
    return set(cell.metadata.get("tags", ()))


def _check_points(name, exercises):
    """70 % of the points for the core, 30 % for the extensions, to the nearest point that whole exercises allow."""
    core = sum(exercise.points for exercise in exercises.values() if exercise.core)
    total = sum(exercise.points for exercise in exercises.values())
    if core < total and abs(core - CORE_SHARE * total) > 1:
        yield (
            f"{name}: the core gives {core} of {total} points, that is {core / total:.0%}; it should be 70 % "
            f"({CORE_SHARE * total:.1f}), to within a point."
        )


def _check_core(name, exercises):
    """Two to four exercises are the core, come first, and give the points of their kind."""
    core = [exercise.core for exercise in exercises]
    if core and sum(core) not in CORE_EXERCISES:
        yield f"{name}: {sum(core)} exercises are its core; a lesson's core has two to four."
    if core != sorted(core, reverse=True):
        yield f"{name}: an extension stands before an exercise of the core. Extensions come last."
    for exercise in exercises:
        if exercise.core and exercise.points not in POINTS:
            yield f"{name}: {exercise.id} gives {exercise.points} points; write gives 3, repair 2, explain 1."


def _check_exercises(name, notebook, exercises):
    """Every exercise has one answer cell and after it one locked check cell with the right points."""
    named = {}
    for index, cell in enumerate(notebook.cells):
        identity = _meta(cell).get("grade_id")
        if not identity:
            continue
        if identity in named:
            yield f"{where(name, index, cell)}: cell {named[identity] + 1} has the same grade_id. Give one another."
        named.setdefault(identity, index)
    for identity, exercise in exercises.items():
        at = named.get(identity)
        check_at = named.get(f"check-{identity}")
        if at is None or not _meta(notebook.cells[at]).get("solution"):
            yield f'{name}: the exercise {identity} has no answer cell (grade_id "{identity}", solution: true).'
        if check_at is None:
            yield f'{name}: the exercise {identity} has no check cell (grade_id "check-{identity}").'
            continue
        cell, place = notebook.cells[check_at], where(name, check_at, notebook.cells[check_at])
        meta, check = _meta(cell), parse_check(cell.source)
        if not (meta.get("grade") and meta.get("locked")) or meta.get("solution"):
            yield f"{place}: a check cell is locked and graded and no solution (grade, locked: true; solution: false)."
        if meta.get("points") != exercise.points:
            yield f"{place}: its metadata give {meta.get('points')} points, the exercise gives {exercise.points}."
        if check is None or check.exercise != identity:
            yield f"{place}: a check cell holds exactly one line, exercises.{identity}(<names of the answers>)."
            continue
        wanted = getattr(exercise, "answers", check.answers)
        if check.answers != tuple(wanted):
            yield f"{place}: the exercise takes {', '.join(wanted)}, the cell passes {', '.join(check.answers)}."
        if at is not None and at > check_at:
            yield f"{place}: the check stands before its answer cell."
        defined = set().union(*(_names(c.source)[0] for c in notebook.cells[:check_at] if _meta(c).get("solution")))
        for answer in check.answers:
            if answer not in defined:
                yield f"{place}: it checks {answer}, but no answer cell before it defines that name."
    for index, cell in enumerate(notebook.cells):
        meta, place = _meta(cell), where(name, index, cell)
        identity = str(meta.get("grade_id", ""))
        if meta.get("grade") and identity.removeprefix("check-") not in exercises:
            yield f"{place}: it checks {identity.removeprefix('check-')}, which is no exercise of this lesson."
        if meta.get("solution") and "choose" not in _tags(cell):
            if identity not in exercises and not any(identity.startswith(f"{known}-") for known in exercises):
                yield f"{place}: an answer cell of no exercise of this lesson. If it is a choice, tag it choose."


def _check_cell(place, cell):
    """The rules for one code cell."""
    meta, tags, source = _meta(cell), _tags(cell), cell.source
    lines = len(source.split("\n"))
    if not source.strip():
        yield f"{place}: an empty code cell."
    if lines > MAX_LINES and not meta.get("solution"):
        yield f"{place}: {lines} lines; outside exercises a cell has at most {MAX_LINES}. Split it."
    if _STAR.search(source):
        yield f"{place}: a star import hides where names come from. Import the names, or the module."
    if _INSTALL.search(source):
        yield f"{place}: a notebook installs nothing. Add the package to pyproject.toml."
    if _DOWNLOAD.search(source):
        yield f"{place}: a notebook downloads nothing. Ship the data or compute them."
    for tag in sorted(tags - TAGS):
        yield f"{place}: the tag {tag!r} means nothing here. Known tags: {', '.join(sorted(TAGS))}."
    if "show" in tags and (
        meta.get("grade") or (meta.get("solution") and "choose" not in tags) or meta.get("grade_id") == "setup"
    ):
        yield f'{place}: the tag "show" is for cells that no answer needs; this one is needed.'
    if "choose" in tags and not meta.get("solution"):
        yield f'{place}: a cell tagged "choose" needs solution: true (nbgrader), or its answer is published.'
    if {"nbval-check-output", "measure"} <= tags:
        yield f'{place}: "measure" says that the output differs each time, "nbval-check-output" that it does not.'
    if meta.get("grade_id") == "setup" and not meta.get("locked"):
        yield f"{place}: the set-up cell is locked (locked: true)."
    if meta.get("solution"):
        yield from _check_answer(place, cell, choose="choose" in tags)
    elif "BEGIN SOLUTION" in source:
        yield f"{place}: it holds an answer, but its nbgrader metadata do not say solution: true."
    for output in cell.get("outputs", []):
        if output.output_type == "error" and "raises-exception" not in tags:
            yield f'{place}: its stored output is an error. Repair it, or tag the cell "raises-exception".'
        page = output.get("data", {}).get("text/html", "")
        frames = len(_FRAME.findall("".join(page)))
        if frames > MAX_FRAMES:
            yield f"{place}: a player of {frames} frames; {MAX_FRAMES} are the most. Choose the moments that teach."


def _check_answer(place, cell, choose):
    """What the learner will find in this cell runs without an error: it fails only when it is called."""
    try:
        start = clear_source(cell.source, choose=choose)
    except ValueError as error:
        yield f"{place}: {error}."
        return
    if cell.source.lstrip().startswith("%%"):
        return
    try:
        body = ast.parse(start).body
    except SyntaxError as error:
        yield f"{place}: without its answer it is no Python any more (line {error.lineno}: {error.msg})."
        return
    if any(isinstance(statement, ast.Raise) for statement in body):
        yield f"{place}: the answer stands outside a function, so the untouched notebook would stop here."


def _check_show(name, notebook):
    """No answer, check or set-up cell uses a name that only a cell tagged "show" defines: the grader skips those."""
    shown, others = {}, set()
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type != "code":
            continue
        defined = _names(cell.source)[0]
        if "show" in _tags(cell):
            shown |= {defines: index for defines in defined if defines not in shown}
        else:
            others |= defined
    for index, cell in enumerate(notebook.cells):
        meta = _meta(cell)
        if cell.cell_type != "code" or "show" in _tags(cell) or not (meta.get("solution") or meta.get("grade")):
            continue
        before = {name for name, at in shown.items() if at < index}
        for used in sorted(_names(cell.source)[1] & (before - others)):
            yield (
                f"{where(name, index, cell)}: it needs {used}, which only cell {shown[used] + 1} defines, and that is "
                'tagged "show": the grader skips it. Remove the tag there.'
            )


def _names(source):
    """Return the names that a cell defines at its top level, and the names that it reads anywhere."""
    if source.lstrip().startswith(CPP_MAGICS):  # their names are found by the text
        return set(re.findall(r"\b[A-Za-z_]\w*(?=\s*[({;=])", source)) | _magic_names(source), set()
    try:
        tree = ast.parse("\n".join(line for line in source.split("\n") if not line.lstrip().startswith(("%", "!"))))
    except SyntaxError:  # other cell magics
        return set(re.findall(r"\b[A-Za-z_]\w*(?=\s*[({;=])", source)), set()
    defined, used = set(), set()
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            defined.add(statement.name)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            defined |= {(alias.asname or alias.name).split(".")[0] for alias in statement.names}
        else:
            defined |= {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    scopes = [symtable.symtable(ast.unparse(tree), "cell", "exec")]
    while scopes:  # a name that is local to a function is not read from other cells
        scope = scopes.pop()
        scopes += scope.get_children()
        used |= {
            symbol.get_name()
            for symbol in scope.get_symbols()
            if symbol.is_referenced() and (symbol.is_global() or scope.get_type() == "module")
        }
    return defined, used


def _magic_names(source):
    """The names on the first line of a cell with a magic: ``%%cpp parse_row`` gives parse_row."""
    return set(re.findall(r"(?<![-\w.])[A-Za-z_]\w*", source.lstrip().split("\n")[0])[1:])
