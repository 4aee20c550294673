"""Attacks through answers in C++: each costs its own exercise and no more, and leaves nothing behind.

A sample runs always; LABS_SOAK=1 takes all.
"""

import os

import pytest
from tiny_course.attacks_cpp import CPP, answer
from tiny_course.notebooks import POINTS, learner

from labs.course.grade.verdict import Limits
from labs.kit.native import NativeError, binding

SOAK = os.environ.get("LABS_SOAK") == "1"
SAMPLE = {"segfault", "alloc_100gb", "write_inputs", "garbage_on_every_file", "include_file", "huge_array"}
SKIP = pytest.mark.skip(reason="one of the attacks in C++ that only LABS_SOAK=1 runs")
NAMES = [name if SOAK or name in SAMPLE else pytest.param(name, marks=SKIP) for name in CPP]


@pytest.fixture(scope="module", autouse=True)
def shared_parts():
    try:
        binding.prepare()
    except NativeError as error:
        pytest.skip(f"no C++ here: {error}")


@pytest.mark.parametrize("name", NAMES)
def test_an_attack_in_cpp_costs_its_own_exercise_only(mark, name):
    notebook = learner({"sort_merge": answer(name)}, first="%load_ext labs.kit.native")
    result = mark(notebook, limits=Limits(cell=30, exercise=20, total=200, verify=1))
    points = [m.points for m in result.marks]
    assert points == [0, *list(POINTS.values())[1:]], result
    assert result.marks[0].question or result.notes
    told = " ".join([*result.notes, *(m.question for m in result.marks)])
    assert "root:" not in told and "found" not in told
