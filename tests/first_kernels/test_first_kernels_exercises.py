"""Every exercise of lesson 03: right answers pass, each misconception meets its own hint."""

import runpy
from pathlib import Path

import pytest

from labs.first_kernels import exercises
from labs.kit.exercise import Exercise, Question
from labs.kit.exercise.testing import (
    answers_from,
    assert_accepts,
    assert_cases,
    assert_hints,
    assert_untouched,
    check_self_contained,
)

HERE = Path(__file__).parent
RIGHT = runpy.run_path(str(HERE / "right_answers.py"))["RIGHT"]
WRONG = runpy.run_path(str(HERE / "wrong_answers.py"))["WRONG"]
ALL = {name: value for name, value in vars(exercises).items() if isinstance(value, Exercise)}


@pytest.fixture(autouse=True)
def without_a_gpu(monkeypatch):
    """The virtual device, on which costs and races are seen; tests/gpu judges the same answers on a real one."""
    monkeypatch.setenv("LABS_GPU", "virtual")


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
    assert len(RIGHT[name]) >= 2
    assert_hints(ALL[name], WRONG[name], least=6)


@pytest.mark.parametrize("name", [name for name in ALL if name != "predict_seconds"])
def test_values_alone_decide_where_nothing_is_observed(name):
    """What a real GPU hands over: values, no traffic, no findings."""
    answers = answers_from(ALL[name], next(iter(RIGHT[name].values())))

    def call(inputs):
        return ALL[name].run(answers, inputs) | {"launches": [], "copies": [], "findings": [], "virtual": False}

    outcomes = ALL[name].examine(call, 7)
    assert all(outcome.passed for outcome in outcomes)
    said = ALL[name].achieved([(outcome.case, outcome.output) for outcome in outcomes])
    assert "your GPU" in said and "virtual device only" in said


def test_a_launch_for_more_gpus_than_there_are_is_left_out_in_words():
    split_rows = ALL["split_rows"]
    cases = split_rows.cases(7)
    for case in cases:
        split_rows.verify(case, {"skipped": 1})
    assert "You have 1 GPU" in split_rows.achieved([(case, {"skipped": 1}) for case in cases])


def test_the_core_earns_seventy_per_cent():
    core = sum(exercise.points for exercise in ALL.values() if exercise.core)
    assert (core, sum(exercise.points for exercise in ALL.values())) == (9, 13)


@pytest.mark.parametrize("name", [name for name, value in vars(exercises).items() if isinstance(value, Question)])
def test_every_choice_of_a_question_is_explained(name):
    question = getattr(exercises, name)
    assert question.right in question.choices and set(question.why) == set(question.choices)
