"""From solutions/NN_topic.ipynb to notebooks/NN_topic.ipynb: the same lesson without answers and outputs.

How an author marks an answer, a broken start to repair, and a choice is written in `labs.course.stubs`. The steps
around this are nbgrader's own: locking cells, clearing outputs, computing the checksums by which its Validate button
sees that a check was changed. Publishing is deterministic, so notebooks/ can be compared with what its sources give.
"""

from __future__ import annotations

import copy
import difflib
from pathlib import Path

from labs.course.canonical import NotebookError, canonical, dumps, read, where
from labs.course.stubs import MARKER, clear_source


def publish(notebook, name="notebook", root=None):
    """Return the learner's notebook of a lesson.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
        The source, with answers; it is not changed.
    name : str
        File name, for error messages.
    root : path-like, optional
        Folder of the course.

    Returns
    -------
    nbformat.NotebookNode
        In canonical form, without answers, outputs and execution counts.

    Raises
    ------
    NotebookError
        When a cell's regions are wrong, an answer stands in a cell that is not marked as a solution, or an answer
        would stay in the text.
    """
    result = canonical(notebook, name, root)
    result.metadata.pop("labs", None)
    for index, cell in enumerate(result.cells):
        _check_regions(cell, where(name, index, cell))
    resources = {}
    for step in _steps(name):
        try:
            result, resources = step.preprocess(result, resources)
        except NotebookError:
            raise
        except Exception as error:  # nbgrader raises bare RuntimeErrors about metadata, without the notebook's name
            raise NotebookError(f"{name}: nbgrader's {type(step).__name__} refuses it: {error}") from error
    result = canonical(result, name, root)
    for cell in result.cells:
        if cell.cell_type == "code":
            cell.execution_count, cell.outputs = None, []
    return result


def published_text(source, root=None):
    """Return the text of the learner's notebook for the source at a path; see `publish`."""
    source = Path(source)
    return dumps(publish(read(source), source.name, root))


def drift(root):
    """Compare notebooks/ with what solutions/ gives.

    Parameters
    ----------
    root : path-like
        Folder of the course.

    Returns
    -------
    dict of str to (str or None)
        By file name, each notebook that differs, with its right text; None for one that has no source any more.
    """
    root, result = Path(root), {}
    sources = {path.name: path for path in sorted((root / "solutions").glob("*.ipynb"))}
    for name, source in sources.items():
        text, target = published_text(source, root), root / "notebooks" / name
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            result[name] = text
    for target in sorted((root / "notebooks").glob("*.ipynb")):
        if target.name not in sources:
            result[target.name] = None
    return result


def describe_drift(root, name, text, lines=12):
    """Say in a few lines how a learner's notebook differs from what its source gives.

    Parameters
    ----------
    root : path-like
        Folder of the course.
    name : str
        File name of the notebook.
    text : str or None
        The right text, from `drift`.
    lines : int
        How many changed lines to show.

    Returns
    -------
    str
    """
    target = Path(root) / "notebooks" / name
    if text is None:
        return f"notebooks/{name} has no source in solutions/. Delete it, or bring its source back."
    if not target.exists():
        return f"notebooks/{name} is missing."
    old, new = target.read_text(encoding="utf-8").splitlines(), text.splitlines()
    changes = [line for line in difflib.unified_diff(old, new, lineterm="", n=0) if line[:1] in "+-"][2:]
    shown = [f"    {line[:140]}" for line in changes[:lines]]
    if len(changes) > lines:
        shown.append(f"    … and {len(changes) - lines} more lines")
    return "\n".join([f"notebooks/{name} differs from what solutions/{name} gives (- is stored, + is right):", *shown])


def write_all(root):
    """Write every learner's notebook that is missing or out of date.

    Parameters
    ----------
    root : path-like
        Folder of the course.

    Returns
    -------
    list of str
        Names of the notebooks that were written or, when their source is gone, deleted.
    """
    folder, changed = Path(root) / "notebooks", drift(root)
    folder.mkdir(exist_ok=True)
    for name, text in changed.items():
        if text is None:
            (folder / name).unlink()
        else:
            (folder / name).write_text(text, encoding="utf-8")
    return list(changed)


def _steps(name):
    """Return nbgrader's preprocessors in its own order, with our way to clear a solution."""
    # Imported here, because nbgrader takes half a second and only authors publish.
    from nbgrader.preprocessors import (
        CheckCellMetadata,
        ClearHiddenTests,
        ClearOutput,
        ClearSolutions,
        ComputeChecksums,
        LockCells,
    )

    class ClearAnswers(ClearSolutions):
        """nbgrader's ClearSolutions with this course's stubs, choices, START regions and C++."""

        def preprocess_cell(self, cell, resources, cell_index):
            if cell.cell_type != "code" or not cell.metadata.get("nbgrader", {}).get("solution"):
                return cell, resources
            cell = copy.deepcopy(cell)
            try:
                cell.source = clear_source(cell.source, choose="choose" in cell.metadata.get("tags", ()))
            except ValueError as error:
                raise NotebookError(f"{where(name, cell_index, cell)}: {error}.") from None
            return cell, resources

    order = (LockCells, ClearAnswers, ClearOutput, CheckCellMetadata, ClearHiddenTests, ComputeChecksums)
    return [step() for step in (*order, CheckCellMetadata)]


def _check_regions(cell, place):
    """Refuse a marker that no step would look at: its answer would be published."""
    if cell.metadata.get("nbgrader", {}).get("solution"):
        if cell.cell_type != "code":
            raise NotebookError(f"{place}: only a code cell can hold an answer.")
        return
    for number, line in enumerate(cell.source.split("\n"), start=1):
        if "BEGIN SOLUTION" in line or "END SOLUTION" in line or MARKER.match(line):
            raise NotebookError(
                f"{place}: line {number} marks an answer, but the cell's nbgrader metadata do not say solution: true, "
                "so the answer would be published."
            )
