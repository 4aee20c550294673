"""Every exercise of lesson 09: right answers pass, each misconception meets its own hint."""

import runpy
from pathlib import Path

import pytest

from labs.kit.exercise import Exercise
from labs.kit.exercise.testing import (
    assert_accepts,
    assert_cases,
    assert_hints,
    assert_untouched,
    check_self_contained,
)
from labs.parameter_server import exercises

HERE = Path(__file__).parent
RIGHT = runpy.run_path(str(HERE / "right_answers.py"))["RIGHT"]
WRONG = runpy.run_path(str(HERE / "wrong_answers.py"))["WRONG"]
ALL = {name: value for name, value in vars(exercises).items() if isinstance(value, Exercise)}


@pytest.mark.parametrize("name", ALL)
def test_cases_of_lesson_09_are_plain_and_repeat(name):
    assert_cases(ALL[name])
    check_self_contained(ALL[name])


@pytest.mark.parametrize("name", ALL)
def test_an_untouched_cell_of_lesson_09_earns_nothing(name):
    assert_untouched(ALL[name])


@pytest.mark.parametrize("name", ALL)
def test_right_answers_of_lesson_09_pass(name):
    assert len(RIGHT[name]) >= 2
    for source in RIGHT[name].values():
        assert_accepts(ALL[name], source)


@pytest.mark.parametrize("name", ALL)
def test_wrong_answers_of_lesson_09_meet_their_own_hints(name):
    assert_hints(ALL[name], WRONG[name])
