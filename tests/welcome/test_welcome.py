"""Lesson 00: its exercises know their misconceptions, its figures say what they show."""

import json
import runpy
from pathlib import Path

import pytest

from labs.kit.exercise.testing import assert_accepts, assert_exercise
from labs.welcome import exercises, figures

HERE = Path(__file__).parent
WRONG = runpy.run_path(str(HERE / "wrong_answers.py"))["WRONG"]
RIGHT = runpy.run_path(str(HERE / "right_answers.py"))["RIGHT"]


@pytest.mark.parametrize("name", WRONG)
def test_exercise(name):
    assert_exercise(getattr(exercises, name), WRONG[name], RIGHT[name])


@pytest.mark.parametrize("question", ["numbering", "collective", "waiting"])
def test_every_choice_of_a_question_is_explained(question):
    asked = getattr(exercises, question)
    assert asked.right in asked.choices
    assert set(asked.why) == set(asked.choices)


def test_the_lesson_s_own_answers_are_accepted():
    path = HERE.parents[1] / "solutions" / "00_welcome.ipynb"
    for cell in json.loads(path.read_text())["cells"]:
        role = cell["metadata"].get("nbgrader", {})
        if role.get("solution") and role.get("grade_id") in WRONG:
            assert_accepts(getattr(exercises, role["grade_id"]), "".join(cell["source"]))


def test_the_first_exercise_is_solved_by_one_changed_line():
    """What `python -m labs publish` leaves of the answer cell, with its stub replaced."""
    path = HERE.parents[1] / "notebooks" / "00_welcome.ipynb"
    cells = json.loads(path.read_text())["cells"]
    published = next(
        "".join(c["source"]) for c in cells if c["metadata"].get("nbgrader", {}).get("grade_id") == "square"
    )
    lines = published.split("\n")
    stubs = [k for k, line in enumerate(lines) if "NotImplementedError" in line]
    assert len(stubs) == 1
    lines[stubs[0]] = "    return dist.get_rank() ** 2"
    assert_accepts(exercises.square, "\n".join(lines))


@pytest.mark.parametrize("world_size", [2, 5])
def test_the_timeline_shows_every_rank_and_every_message(world_size):
    """A ring all-reduce sends 2 (n - 1) messages per rank."""
    picture = figures.all_reduce_timeline(world_size, 1)
    assert f"{world_size} ranks" in picture.alt
    assert f"{2 * (world_size - 1) * world_size} messages" in picture.alt


def test_the_average_picture_ends_with_the_average():
    assert "25" in figures.average_picture(4).alt


@pytest.mark.parametrize("world_size, megabytes, time", [(4, 8, "270 µs"), (4, 16, "510 µs"), (8, 8, "350 µs")])
def test_the_times_in_the_text_are_those_of_the_timeline(world_size, megabytes, time):
    assert f"over {time}" in figures.all_reduce_timeline(world_size, megabytes).alt
    text = (HERE.parents[1] / "solutions" / "00_welcome.ipynb").read_text()
    assert time in text
