"""Every exercise of lesson 11: right answers pass, each misconception meets its own hint."""

import runpy
from pathlib import Path

import pytest
import torch

from labs.kit.exercise import Exercise
from labs.kit.exercise.testing import assert_exercise
from labs.model_parallel import exercises

HERE = Path(__file__).parent
RIGHT = runpy.run_path(str(HERE / "right_answers.py"))["RIGHT"]
WRONG = runpy.run_path(str(HERE / "wrong_answers.py"))["WRONG"]
ALL = {name: value for name, value in vars(exercises).items() if isinstance(value, Exercise)}


@pytest.mark.parametrize("name", ALL)
def test_exercise_of_lesson_11(name):
    assert_exercise(ALL[name], WRONG[name], RIGHT[name])
    assert not torch.is_inference_mode_enabled(), "an answer that switched it on must not leave it on"


def test_the_core_of_lesson_11_earns_seventy_per_cent():
    core = sum(exercise.points for exercise in ALL.values() if exercise.core)
    assert (core, sum(exercise.points for exercise in ALL.values())) == (7, 10)
