"""Every exercise of lesson 21: right answers in C++ pass, each misconception meets its own hint."""

import pickle
import re
import runpy
from pathlib import Path

import pytest

from labs.cpp_data_formats import exercises
from labs.kit.exercise import Exercise
from labs.kit.exercise.testing import assert_exercise
from labs.kit.native import NativeError, binding
from labs.kit.native.magic import run_cell

HERE = Path(__file__).parent
RIGHT = runpy.run_path(str(HERE / "right_answers.py"))["RIGHT"]
WRONG = runpy.run_path(str(HERE / "wrong_answers.py"))["WRONG"]
ALL = {name: value for name, value in vars(exercises).items() if isinstance(value, Exercise)}


def built(name):
    """All answers to an exercise, compiled in one go, which takes a third of the time: Python source by style.

    Each function, and each type alias it brings, gets a name of its own for that.
    """
    texts = {f"{name}_right_{style}": text for style, text in RIGHT[name].items()}
    texts |= {f"{name}_wrong_{hint}": text for hint, text in WRONG[name].items()}
    cell = "\n".join(
        re.sub(r"\bRows\b", f"Rows_{new}", re.sub(rf"\b{name}\b", new, text)) for new, text in texts.items()
    )
    functions = run_cell(" ".join(texts), cell)
    source = {
        new: f"import pickle\n{name} = pickle.loads({pickle.dumps(function)!r})" for new, function in functions.items()
    }
    take = lambda kind: {
        new.removeprefix(f"{name}_{kind}_"): text for new, text in source.items() if f"_{kind}_" in new
    }
    return take("right"), take("wrong")


@pytest.mark.parametrize("name", ALL)
def test_exercise(name):
    try:
        binding.prepare()
    except NativeError as missing:
        pytest.skip(f"C++ answers cannot be checked: {missing}")
    right, wrong = built(name)
    assert_exercise(ALL[name], wrong, right)


def test_the_core_earns_seventy_per_cent():
    core = sum(exercise.points for exercise in ALL.values() if exercise.core)
    assert (core, sum(exercise.points for exercise in ALL.values())) == (9, 13)
