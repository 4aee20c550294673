"""Every misconception about messages meets its own hint, and right answers of all styles are accepted."""

import runpy
from pathlib import Path

import pytest

from labs.kit.exercise.testing import assert_accepts, assert_exercise
from labs.messages import exercises

HERE = Path(__file__).parent
WRONG = runpy.run_path(str(HERE / "wrong_answers.py"))["WRONG"]
RIGHT = runpy.run_path(str(HERE / "right_answers.py"))["RIGHT"]


@pytest.mark.parametrize("name", WRONG)
def test_exercise(name):
    assert_exercise(getattr(exercises, name), WRONG[name], RIGHT[name])


@pytest.mark.parametrize("question", ["rendezvous", "who_calls", "mismatch", "groups"])
def test_every_choice_of_a_question_is_explained(question):
    asked = getattr(exercises, question)
    assert asked.right in asked.choices
    assert set(asked.why) == set(asked.choices)
    assert len(set(asked.why.values())) == len(asked.choices)


def test_every_exercise_is_covered():
    from labs.kit.exercise import Exercise

    defined = {name for name in exercises.__all__ if isinstance(getattr(exercises, name), Exercise)}
    assert defined == set(WRONG) == set(RIGHT)


def test_the_lesson_s_own_answers_are_accepted():
    """The answers in the solution notebook, cell by cell."""
    import json

    path = HERE.parents[1] / "solutions" / "01_messages.ipynb"
    cells = json.loads(path.read_text())["cells"]
    for cell in cells:
        role = cell["metadata"].get("nbgrader", {})
        if role.get("solution") and role.get("grade_id") in WRONG:
            assert_accepts(getattr(exercises, role["grade_id"]), "import torch\n" + "".join(cell["source"]))
