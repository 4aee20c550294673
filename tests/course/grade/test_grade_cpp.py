"""Answers in C++ inside the sandbox: right ones told from wrong ones, crashes and endless loops survived."""

import json
import os

import pytest
from tiny_course.notebooks import POINTS, learner

from labs.course.grade import compiled
from labs.course.grade.course import Course
from labs.course.grade.fault import CourseError
from labs.course.grade.verdict import Limits
from labs.kit.native import NativeError, binding

PATIENT = Limits(cell=60, exercise=60, total=240, verify=1)
LOAD = "%load_ext labs.kit.native"
HEAD = "%%cpp --timeout 2 sort_merge\nusing Row = lab::Vector<const int64_t>;\n"
RIGHT = (
    HEAD
    + """auto sort_merge(Row a, Row b) {
    std::vector<int64_t> all(a.size() + b.size());
    std::merge(a.data(), a.data() + a.size(), b.data(), b.data() + b.size(), all.begin());
    return lab::as_array(std::move(all), a.size() + b.size());
}"""
)
UNSOLVED = HEAD + '    #error "not solved yet"\n'
ORDER = RIGHT.replace("std::merge(", "append(").replace(
    "auto sort_merge",
    "template <class I, class O> void append(I a, I b, I c, I d, O o) { std::copy(c, d, std::copy(a, b, o)); }\n"
    "auto sort_merge",
)
OVERRUN = RIGHT.replace("b.data() + b.size(), all", "b.data() + b.size() + 1, all")
ENDLESS = RIGHT.replace("    return", "    volatile bool wait = true;\n    while (wait) {}\n    return")


@pytest.fixture(scope="module", autouse=True)
def shared_parts():
    try:
        binding.prepare()
    except NativeError as error:
        pytest.skip(f"no C++ here: {error}")


@pytest.fixture
def mark_cpp(mark):
    return lambda answer: mark(learner({"sort_merge": answer}, first=LOAD), limits=PATIENT)


def merge(result):
    return next(mark for mark in result.marks if mark.exercise == "sort_merge")


def test_a_right_answer_gets_its_points(mark_cpp):
    result = mark_cpp(RIGHT)
    assert merge(result).points == POINTS["sort_merge"]
    assert result.notes == ("1 cell that is not the lesson's ran, too",)
    assert result.full


@pytest.mark.parametrize(
    ("answer", "status", "hint"),
    [(UNSOLVED, "unsolved", "unsolved"), (ORDER, "wrong", "order"), (ENDLESS, "wrong", "timeout")],
    ids=["unsolved", "order", "endless"],
)
def test_others_get_none_and_their_own_hint(mark_cpp, answer, status, hint):
    result = mark_cpp(answer)
    assert (merge(result).points, merge(result).status) == (0, status)
    assert status == "unsolved" or merge(result).hint == hint
    assert sum(mark.points for mark in result.marks) == sum(POINTS.values()) - POINTS["sort_merge"]


def test_reading_behind_an_array_is_told_with_its_name(mark_cpp):
    told = merge(mark_cpp(OVERRUN))
    assert (told.points, told.hint) == (0, "error")
    assert "element" in told.question and " of b, which has" in told.question


def test_what_does_not_compile_costs_the_answer_and_no_more(mark_cpp):
    result = mark_cpp(RIGHT.replace("return lab", "retrun lab"))  # codespell:ignore retrun
    assert merge(result).points == 0
    assert sum(mark.points for mark in result.marks) == sum(POINTS.values()) - POINTS["sort_merge"]
    assert any("CompileError" in note for note in result.notes)


def test_only_the_shared_parts_of_the_cache_are_shown(mark):
    look = (
        "import os\n"
        "def patience(n):\n"
        "    cache = os.environ['LABS_CACHE_READ']\n"
        "    return n if os.listdir(cache) == ['support'] and not os.access(cache + '/support', os.W_OK) else -1"
    )
    result = mark(learner({"patience": look}), limits=PATIENT)
    assert next(mark for mark in result.marks if mark.exercise == "patience").points == POINTS["patience"]


def test_without_a_compiler_nothing_is_graded(tmp_path, monkeypatch):
    folder = tmp_path / "solutions"
    folder.mkdir()
    for name, text in (("03_plain", "x = 1"), ("04_native", RIGHT)):
        cell = {"cell_type": "code", "metadata": {}, "source": text, "outputs": [], "execution_count": None}
        notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        (folder / f"{name}.ipynb").write_text(json.dumps(notebook))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    course = Course(folder)
    compiled.prepare(course, ["03_plain"])
    with pytest.raises(CourseError, match=r"04_native cannot be graded here.*\n.*no C\+\+ compiler was found"):
        compiled.prepare(course, ["03_plain", "04_native"])
    assert os.environ["PATH"] == str(tmp_path)
