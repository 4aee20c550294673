"""Lessons 00 and 03 on a real GPU: every kernel, right answers accepted, wrong ones refused where values show it.

Run by `make gpu-test`.
"""

import importlib
import importlib.util
import os
import runpy
from pathlib import Path

import numpy as np
import pytest

TESTS = Path(__file__).parents[1]
LESSONS = {"first_kernels": "labs.first_kernels.exercises", "welcome": "labs.welcome.exercises"}
CORE = {
    "first_kernels": ("divide", "block_sum", "tiled_product", "divide8", "split_rows", "predict_seconds"),
    "welcome": ("add_one",),
}
BY_VALUE = {
    "divide": (
        "no_tail", "one_pixel_each", "thread_without_block", "pixels_left", "wrote_the_image", "values", "not_a_kernel",
    ),
    "block_sum": ("one_warp", "last_round", "thread_without_block", "nothing_added", "values", "not_a_kernel"),
    "tiled_product": (
        "transposed_read", "transposed_result", "last_tile_lost", "added_to_old", "only_the_last_tile", "same_tile",
        "values", "not_a_kernel",
    ),
    "divide8": ("tail_lost", "head_lost", "whole_word", "reversed", "not_put_back"),
    "split_rows": ("nothing_returned",),
    "predict_seconds": ("wanted_bytes", "no_latency", "only_read"),
    "add_one": ("no_guard", "one_element", "nothing_changed", "values", "not_a_kernel"),
}  # fmt: skip
"""Hints whose answers give wrong values on any device; races, bytes and hangs are seen on the virtual one only."""


def why_not() -> str:
    """Why kernels cannot run on a GPU here; "" where they can."""
    from labs.kit.gpu.choice import _real

    if os.environ.get("LABS_GPU", "").lower() == "virtual":
        return "LABS_GPU=virtual: the tests on a real GPU are left out"
    return _real()[1]


REASON = why_not()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "a GPU is here")


def answers(lesson, kind):
    """The answers of a lesson by exercise: "RIGHT" or "WRONG"."""
    return runpy.run_path(str(TESTS / lesson / f"{kind.lower()}_answers.py"))[kind]


def exercise(lesson, name):
    """The exercise of a name."""
    return getattr(importlib.import_module(LESSONS[lesson]), name)


ALL = [(lesson, name) for lesson, names in CORE.items() for name in names]


def test_every_kernel_gives_what_numpy_says():
    spec = importlib.util.spec_from_file_location("kernel_cases", TESTS / "first_kernels" / "kernel_cases.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, got, right in module.results():
        np.testing.assert_array_equal(got, right, err_msg=name)


@pytest.mark.parametrize(("lesson", "name"), ALL)
def test_right_answers_pass(lesson, name):
    from labs.kit.exercise.testing import assert_accepts

    for source in answers(lesson, "RIGHT")[name].values():
        assert_accepts(exercise(lesson, name), source, seeds=(7,))


@pytest.mark.parametrize(("lesson", "name"), ALL)
def test_wrong_values_are_refused_with_their_hints(lesson, name):
    from labs.kit.exercise.testing import assert_rejects

    for hint in BY_VALUE[name]:
        assert_rejects(exercise(lesson, name), answers(lesson, "WRONG")[name][hint], hint, seeds=(7,))


def test_a_check_says_what_a_gpu_hides():
    from labs.kit.exercise.testing import outcomes_of

    source = answers("first_kernels", "RIGHT")["divide"]["grid_stride"]
    divide = exercise("first_kernels", "divide")
    outcomes = outcomes_of(divide, source)
    said = divide.achieved([(outcome.case, outcome.output) for outcome in outcomes])
    assert "your GPU" in said and "virtual device only" in said


def test_figures_measure_or_say_why_not(capsys):
    from labs.first_kernels import figures, kernels

    returned, done = figures.launch_times()
    assert 0 < returned <= done
    assert figures.roof(kernels.divide, kernels.block_sum, kernels.tiled_product) is None
    assert "LABS_GPU=virtual" in capsys.readouterr().out
