"""For tests and benchmarks of grading: learners' notebooks, made of the published one and the answers kept in tests/.

Each lesson's ``tests/<topic>/right_answers.py`` and ``wrong_answers.py`` hold answers by exercise and style, or by
exercise and the hint that is due. `learners` deals them out so that a few notebooks hold all of them, each exercise
with another answer in every notebook.
"""

from __future__ import annotations

import ast
import copy
import runpy
from dataclasses import dataclass

from labs.course.canonical import read
from labs.course.stubs import CPP_MAGICS


@dataclass(frozen=True)
class Answer:
    """One answer from tests/.

    Attributes
    ----------
    source : str
        Its text: Python, or C++ for a ``%%cpp`` cell, or Python with one call ``compile_cuda(text, kernel)``.
    style : str
        Name of a right answer; for a wrong one the hint that it must get.
    right : bool
    """

    source: str
    style: str
    right: bool


def answers_of(root, topic):
    """Return the answers of a lesson.

    Parameters
    ----------
    root : pathlib.Path
        Folder of the course.
    topic : str
        Name of the lesson's package, ``all_reduce``.

    Returns
    -------
    dict of str to list of Answer
        By exercise, the wrong ones first.
    """
    folder = root / "tests" / topic
    wrong = runpy.run_path(str(folder / "wrong_answers.py"))["WRONG"]
    right = runpy.run_path(str(folder / "right_answers.py"))["RIGHT"]
    return {
        exercise: [Answer(text, style, False) for style, text in wrong[exercise].items()]
        + [Answer(text, style, True) for style, text in right[exercise].items()]
        for exercise in right
    }


def learners(answers):
    """Deal the answers out to as few learners as hold all of them.

    Parameters
    ----------
    answers : dict of str to list of Answer
        From `answers_of`.

    Returns
    -------
    list of dict of str to Answer
        An answer for every exercise; where one has fewer than the others, its right ones come again.
    """
    result = []
    for turn in range(max(map(len, answers.values()))):
        one = {}
        for exercise, known in answers.items():
            right = [answer for answer in known if answer.right]
            one[exercise] = known[turn] if turn < len(known) else right[turn % len(right)]
        result.append(one)
    return result


def filled(published, answers):
    """Return a learner's notebook: the published one with answers in its answer cells.

    Parameters
    ----------
    published : path-like
        notebooks/NN_topic.ipynb.
    answers : dict of str to str
        Sources by exercise; other exercises stay as they are.

    Returns
    -------
    nbformat.NotebookNode

    Raises
    ------
    KeyError
        When the notebook has no cell for an answer.
    """
    notebook = copy.deepcopy(read(published))
    cells = {
        cell.metadata.nbgrader.grade_id: cell
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("solution")
    }
    for exercise, source in answers.items():
        cells[exercise].source = cell_text(cells[exercise].source, source)
    return notebook


def cell_text(published, answer):
    """Return what a learner's cell holds who gives an answer from tests/.

    Parameters
    ----------
    published : str
        The cell as it was published; its first line says whether it is a cell in C++ or CUDA C++.
    answer : str

    Returns
    -------
    str
    """
    head = published.lstrip().partition("\n")[0]
    if not head.startswith(CPP_MAGICS):
        return answer
    if "compile_cuda" not in answer:
        return f"{head}\n{answer}"
    calls = [node for node in ast.walk(ast.parse(answer)) if isinstance(node, ast.Call)]
    text, kernel = (argument.value for argument in calls[0].args)
    return f'%%cuda "{kernel}"\n{text}'
