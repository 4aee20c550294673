"""Every exercise of lesson 06: right answers pass, each misconception meets its own hint."""

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
from labs.tensor_cores import exercises

HERE = Path(__file__).parent
RIGHT = runpy.run_path(str(HERE / "right_answers.py"))["RIGHT"]
WRONG = runpy.run_path(str(HERE / "wrong_answers.py"))["WRONG"]
ALL = {name: value for name, value in vars(exercises).items() if isinstance(value, Exercise)}


@pytest.mark.parametrize("name", ALL)
def test_cases_are_plain_and_repeat(name):
    assert_cases(ALL[name])
    check_self_contained(ALL[name])


@pytest.mark.parametrize("name", ALL)
def test_an_untouched_cell_earns_nothing(name):
    assert_untouched(ALL[name])


@pytest.mark.parametrize(("name", "style"), [(name, style) for name in ALL for style in RIGHT[name]])
def test_right_answers_pass(name, style):
    assert_accepts(ALL[name], RIGHT[name][style])


@pytest.mark.parametrize("name", ALL)
def test_wrong_answers_meet_their_own_hints(name):
    assert_hints(ALL[name], WRONG[name])
