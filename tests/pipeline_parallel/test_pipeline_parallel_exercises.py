"""Every exercise of lesson 12: right answers pass, each misconception meets its own hint."""

import runpy
from pathlib import Path

import pytest

from labs.kit.exercise import Exercise
from labs.kit.exercise.testing import assert_exercise
from labs.pipeline_parallel import exercises

HERE = Path(__file__).parent
RIGHT = runpy.run_path(str(HERE / "right_answers.py"))["RIGHT"]
WRONG = runpy.run_path(str(HERE / "wrong_answers.py"))["WRONG"]
ALL = {name: value for name, value in vars(exercises).items() if isinstance(value, Exercise)}


@pytest.mark.parametrize("name", ALL)
def test_exercise(name):
    assert_exercise(ALL[name], WRONG[name], RIGHT[name])


def test_the_core_earns_seventy_per_cent():
    core = sum(exercise.points for exercise in ALL.values() if exercise.core)
    assert (core, sum(exercise.points for exercise in ALL.values())) == (8, 11)
