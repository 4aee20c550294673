"""No hint depends on the seed: every known answer on many seeds, judged in the grader's order, without a sandbox."""

import os
from pathlib import Path

import pytest

from labs.course import catalogue
from labs.course.grade.verdict import PARTS
from labs.course.testing import answers_of
from labs.kit.exercise.testing import answers_from
from labs.kit.native import NativeError, binding
from labs.kit.native.magic import run_cell

ROOT = Path(__file__).resolve().parents[3]
LESSONS = {lesson.topic: lesson for lesson in catalogue.lessons(ROOT)}
SEEDS = range(100, 100 + int(os.environ.get("LABS_SEEDS", "20")))
ONCE = [
    ("welcome", "average", "rounded_down", 106),
    ("welcome", "average", "other_values", 107),
    ("welcome", "average", "largest_or_smallest", 132),
    ("welcome", "average", "lost_digits", 245),
    ("first_kernels", "block_sum", "values", 112),
    ("first_kernels", "block_sum", "values", 117),
    ("data_parallel", "evaluate", "mixed_up", 4),
    ("data_parallel", "evaluate", "mixed_up", 8),
    ("multi_gpu_sort", "sort_pair", "one_side", 41),
    ("multi_gpu_sort", "sort_pair", "one_side", 117),
    ("tensor_cores", "dot_rows", "half_sum", 111),
    ("tensor_cores", "dot_rows", "one_long_sum", 116),
]
"""Seeds on which an answer once got another's hint, or passed."""


def objects(exercise, source):
    """What a learner's cell defines for an exercise."""
    if source.lstrip().startswith(("def ", "import ", "from ", "class ", "@", "#!", "counter")):
        return answers_from(exercise, source)
    try:
        binding.prepare()
    except NativeError as missing:
        pytest.skip(f"C++ answers cannot be checked: {missing}")
    return (run_cell(exercise.id, source)[exercise.id],)


def first_wrong(exercise, answers, seed):
    """The hint that the grader would give, and the case; ("", "") for a right answer."""
    cases = exercise.cases(seed)
    for part in PARTS:
        for case in (case for case in cases if case.part == part):
            if wrong := exercise.judge(case, lambda inputs: exercise.run(answers, inputs)):
                return wrong.hint, case.title
    return "", ""


@pytest.mark.parametrize(("topic", "name", "hint", "seed"), ONCE)
def test_a_hint_that_once_depended_on_the_seed(topic, name, hint, seed):
    exercise = next(exercise for exercise in LESSONS[topic].exercises if exercise.id == name)
    answer = next(answer for answer in answers_of(ROOT, topic)[name] if answer.style == hint)
    assert first_wrong(exercise, objects(exercise, answer.source), seed)[0] == hint


@pytest.mark.skipif(os.environ.get("LABS_SOAK") != "1", reason="only LABS_SOAK=1 tries many seeds")
@pytest.mark.parametrize("topic", LESSONS)
def test_hints_are_the_same_on_many_seeds(topic, monkeypatch):
    monkeypatch.setenv("LABS_GPU", "virtual")
    known = answers_of(ROOT, topic)
    flips = []
    for exercise in LESSONS[topic].exercises:
        for answer in known[exercise.id]:
            given = objects(exercise, answer.source)
            due = "" if answer.right else answer.style
            for seed in SEEDS:
                hint, case = first_wrong(exercise, given, seed)
                if hint != due:
                    flips.append(f"{exercise.id}, {answer.style}, seed {seed}: {hint!r} in {case!r}")
    assert not flips, "\n" + "\n".join(flips)
