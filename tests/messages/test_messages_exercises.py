"""Every misconception about messages meets its own hint, and right answers of all styles are accepted."""

import runpy
from pathlib import Path

import pytest

from labs.kit.exercise.testing import assert_accepts, assert_exercise, assert_rejects, outcomes_of
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


@pytest.mark.parametrize(
    "name, hint", [("exchange", "all_send_first"), ("stream", "filled_too_early"), ("mean_loss", "one_rank_skips")]
)
def test_the_broken_programs_of_the_lesson_meet_the_misconception_they_show(name, hint):
    """What a learner starts from, as published."""
    import json

    path = HERE.parents[1] / "notebooks" / "01_messages.ipynb"
    cells = json.loads(path.read_text())["cells"]
    source = next("".join(c["source"]) for c in cells if c["metadata"].get("nbgrader", {}).get("grade_id") == name)
    assert_rejects(getattr(exercises, name), "import torch\n" + source, hint)


def test_untouched_names_are_unsolved_not_wrong():
    source = "def collectives():\n    return {letter: '?' for letter in 'ABCDEFGH'}\n"
    outcomes = outcomes_of(exercises.collectives, source)
    assert outcomes[0].wrong.hint == "unsolved"
