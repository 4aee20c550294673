"""One deliberately broken lesson for each rule; the sentence names the notebook and the cell."""

import json
import types

import pytest

from labs.course.canonical import WIDGET_MIME
from labs.course.lint import check_course, check_lesson

BOX = "# 90 · Bad\n\n> **You will build** a sum.\n> **You need** 00 · **Time** 50 minutes · **Points** 4"
ANSWER = "def total(values):\n    ### BEGIN SOLUTION\n    return sum(values)\n    ### END SOLUTION"
EXTRA = ANSWER.replace("total", "extra")


def exercise(identity, points, core=True):
    return types.SimpleNamespace(id=identity, title=identity, points=points, core=core, answers=(identity,))


EXERCISES = {"total": exercise("total", 3), "extra": exercise("extra", 1, core=False)}


def prose(identity, source):
    return {"cell_type": "markdown", "id": identity, "metadata": {}, "source": source}


def code(identity, source, *, tags=(), outputs=(), **nbgrader):
    metadata = {"tags": list(tags)} if tags else {}
    if nbgrader:
        plain = {"grade": False, "locked": False, "solution": False, "task": False, "schema_version": 3}
        metadata["nbgrader"] = plain | {"grade_id": identity} | nbgrader
    return {
        "cell_type": "code", "id": identity, "metadata": metadata, "source": source, "outputs": list(outputs),
        "execution_count": None,
    }  # fmt: skip


def check(identity, points):
    return code(f"check-{identity}", f"exercises.{identity}({identity})", grade=True, locked=True, points=points)


@pytest.fixture
def cells():
    """A lesson that keeps every rule, by cell id."""
    good = [
        prose("title", BOX),
        prose("predict", "## Predict"),
        code("setup", "from labs.welcome import exercises", locked=True),
        code("look", "picture = 1", tags=["show"]),
        code("total", ANSWER, solution=True),
        check("total", 3),
        code("extra", EXTRA, solution=True),
        check("extra", 1),
        prose("quiz", "## Check yourself"),
        code("choice", '### BEGIN SOLUTION\nanswer = "c"\n### END SOLUTION', tags=["choose", "show"], solution=True),
        prose("sources", "## Sources\n\n- A. Author: *A book*, 1999."),
    ]
    return {cell["id"]: cell for cell in good}


@pytest.fixture
def faults(tmp_path, cells):
    """Check the lesson as it is now."""

    def now(exercises=EXERCISES):
        path = tmp_path / "90_bad.ipynb"
        text = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": list(cells.values())}
        path.write_text(json.dumps(text))
        return check_lesson(path, exercises)

    return now


def test_a_good_lesson_has_no_faults(faults):
    assert faults() == []


BOX_FAULTS = [
    ("You will build", "'**You will build** ...'"),
    ("You need", "'**You need** ...'"),
    ("50 minutes", "'**Time** 50 minutes'"),
    ("**Points** 4", "'**Points** 14'"),
    ("# 90 · Bad", "no title"),
]


@pytest.mark.parametrize(("part", "words"), BOX_FAULTS)
def test_the_opening_box_is_complete(cells, faults, part, words):
    cells["title"]["source"] = BOX.replace(part, "")
    (fault,) = faults()
    assert fault.startswith("90_bad.ipynb: ") and words in fault


def test_the_announced_points_are_those_of_the_exercises(cells, faults):
    cells["title"]["source"] = BOX.replace("Points** 4", "Points** 5")
    assert faults() == ["90_bad.ipynb: the opening box announces 5 points, but the exercises give 4."]


def test_a_lesson_takes_an_hour_and_needs_only_lessons_before_it(cells, faults):
    cells["title"]["source"] = BOX.replace("50 min", "70 min")
    assert faults() == ["90_bad.ipynb: the opening box announces 70 minutes; the core fits in 60."]
    cells["title"]["source"] = BOX.replace("need** 00", "need** 00 Welcome, 90 Bad")
    assert faults() == ["90_bad.ipynb: it needs lesson 90, which does not come before it."]


EMPTY = [
    ("sources", "## Sources\n\nMany.", "no list of sources"),
    ("choice", None, "no question"),
    ("setup", "## Predicted", "no cell below 'Predict'"),
]


@pytest.mark.parametrize(("cell", "source", "words"), EMPTY)
def test_something_stands_below_the_fixed_headings(cells, faults, cell, source, words):
    if source is None:
        cells[cell]["metadata"]["tags"] = ["show"]
    elif cell == "setup":
        cells["next"] = cells.pop("predict") | {"id": "next"}  # the last cell: nothing below
    else:
        cells[cell]["source"] = source
    assert any(words in fault for fault in faults()), faults()


@pytest.mark.parametrize(
    ("cell", "heading"), [("predict", "Predict"), ("quiz", "Check yourself"), ("sources", "Sources")]
)
def test_the_fixed_headings_are_there(cells, faults, cell, heading):
    cells[cell]["source"] = "Only words: Predict, Check yourself, Sources."
    assert faults() == [f"90_bad.ipynb: no heading says '{heading}'. Every lesson has one."]


def test_core_and_extensions_share_the_points_70_to_30(cells, faults):
    cells["title"]["source"] = BOX.replace("Points** 4", "Points** 9")
    cells["check-extra"]["metadata"]["nbgrader"]["points"] = 6
    (fault,) = faults({"total": exercise("total", 3), "extra": exercise("extra", 6, core=False)})
    assert "the core gives 3 of 9 points, that is 33%" in fault


ONE_CELL = [
    ("look", "x = 1\n" * 15 + "x = 2", "cell 4 (look): 16 lines"),
    ("look", "from math import *", "cell 4 (look): a star import"),
    ("look", "%pip install torch", "installs nothing"),
    ("look", "!python -m pip -q install torch", "installs nothing"),
    ("look", "!wget https://example.org/a", "downloads nothing"),
    ("look", "", "an empty code cell"),
    ("look", "### BEGIN SOLUTION\nx = 1\n### END SOLUTION", "do not say solution: true"),
    ("total", "def total(values):\n    return 1", "no BEGIN SOLUTION"),
    ("total", "### BEGIN SOLUTION\ntotal = sum\n### END SOLUTION", "stands outside a function"),
    ("total", ANSWER + "\n    return picture", "needs picture, which only cell 4 defines"),
    (
        "total",
        "def other(v):\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION",
        "it checks total, but no answer",
    ),
    ("check-total", "exercises.total(total, 2)", "holds exactly one line, exercises.total("),
    ("check-total", "exercises.total(extra)", "the exercise takes total, the cell passes extra"),
    ("choice", "### BEGIN SOLUTION\nprint(1)\n### END SOLUTION", "may only hold lines like"),
]


@pytest.mark.parametrize(("cell", "source", "words"), ONE_CELL)
def test_rules_for_the_text_of_a_cell(cells, faults, cell, source, words):
    cells[cell]["source"] = source
    found = faults()
    assert any(words in fault and fault.startswith("90_bad.ipynb, cell ") for fault in found), found


TAG_FAULTS = [
    ("look", ["shwo"], "the tag 'shwo' means nothing here"),  # codespell:ignore shwo
    ("total", ["show"], 'cell 5 (total): the tag "show" is for cells that no answer needs'),
    ("check-total", ["show"], "cell 6 (check-total): the tag"),
    ("setup", ["show"], "cell 3 (setup): the tag"),
    ("look", ["choose"], "needs solution: true"),
    ("look", ["measure", "nbval-check-output"], "differs each time"),
]


@pytest.mark.parametrize(("cell", "tags", "words"), TAG_FAULTS)
def test_tags(cells, faults, cell, tags, words):
    cells[cell]["metadata"]["tags"] = tags
    assert words in faults()[0]


META_FAULTS = [
    ("check-total", {"points": 2}, "its metadata give 2 points, the exercise gives 3"),
    ("check-total", {"locked": False}, "a check cell is locked"),
    ("total", {"solution": False}, "has no answer cell"),
    ("extra", {"grade_id": "total"}, "cell 5 has the same grade_id"),
    ("setup", {"locked": False}, "the set-up cell is locked"),
    ("extra", {"grade_id": "stray"}, "an answer cell of no exercise"),
    ("check-extra", {"grade_id": "check-stray"}, "it checks stray, which is no exercise"),
]


@pytest.mark.parametrize(("cell", "change", "words"), META_FAULTS)
def test_nbgrader_metadata(cells, faults, cell, change, words):
    cells[cell]["metadata"]["nbgrader"] |= change
    assert any(words in fault for fault in faults()), faults()


def test_a_local_name_of_an_answer_is_not_taken_for_one_that_a_shown_cell_defines(cells, faults):
    cells["total"]["source"] = ANSWER.replace("return", "picture = 0\n    return picture +")
    assert faults() == []


def test_every_exercise_is_checked(cells, faults):
    del cells["check-total"]
    assert faults() == ['90_bad.ipynb: the exercise total has no check cell (grade_id "check-total").']


def test_the_check_stands_after_the_answer(cells, faults):
    cells["total"] = cells.pop("total")
    assert any("the check stands before its answer cell" in fault for fault in faults())


def page(html):
    return {"output_type": "display_data", "metadata": {}, "data": {"text/html": html}}


def test_a_player_has_at_most_12_frames(cells, faults):
    cells["look"]["outputs"] = [page("<figure>x</figure>" * 12)]
    assert faults() == []
    cells["look"]["outputs"] = [page("<figure>x</figure>" * 13)]
    assert faults() == [
        "90_bad.ipynb, cell 4 (look): a player of 13 frames; 12 are the most. Choose the moments that teach."
    ]


@pytest.mark.parametrize(
    "data",
    [
        {"image/png": "iVBORw0KGgo=", "text/plain": "<Figure>"},
        {"text/html": "<svg width='9'></svg>"},
        {"text/html": '<img src="data:,">'},
    ],
)
def test_a_picture_has_a_text_alternative(cells, faults, data):
    cells["look"]["outputs"] = [page("") | {"data": data}]
    assert faults() == [
        "90_bad.ipynb, cell 4 (look): it shows a picture without a text alternative. Show a Picture of labs.kit.draw."
    ]
    cells["look"]["outputs"] = [page('<svg role="img" aria-label="Two ranks"></svg><img alt="A ring" src="data:,">')]
    assert faults() == []


def test_a_stored_error_is_meant_to_be_there(cells, faults):
    cells["look"]["outputs"] = [{"output_type": "error", "ename": "E", "evalue": "", "traceback": []}]
    assert "its stored output is an error" in faults()[0]
    cells["look"]["metadata"]["tags"] = ["raises-exception"]
    assert faults() == []


def test_a_notebook_is_at_most_1_mb(cells, faults):
    cells["look"]["outputs"] = [page("x" * 1_000_001)]
    assert faults()[0].startswith("90_bad.ipynb is 1.00 MB; a notebook may be 1 MB.")


def test_ids_and_widgets_are_looked_at(cells, faults):
    cells["look"]["outputs"] = [page("") | {"data": {WIDGET_MIME: {}}}]
    assert "live widget" in faults()[0]
    cells["look"] |= {"outputs": [], "id": "total"}
    assert 'also has the id "total"' in faults()[0]


def lesson(name, *exercises):
    return types.SimpleNamespace(path=types.SimpleNamespace(name=name), exercises=exercises)


def test_two_lessons_do_not_share_an_exercise_id():
    first = lesson("90_a.ipynb", exercise("total", 3), exercise("other", 3))
    (fault,) = check_course([first, lesson("91_b.ipynb", exercise("total", 3), exercise("more", 3))])
    assert fault.startswith("91_b.ipynb: the exercise total has the id of one in 90_a.ipynb")


CORES = [
    ([("a", 3, True)], "1 exercises are its core"),
    ([(letter, 3, True) for letter in "abcde"], "5 exercises are its core"),
    ([("a", 3, True), ("b", 3, False), ("c", 3, True)], "an extension stands before"),
    ([("a", 3, True), ("b", 2.5, True)], "b gives 2.5 points"),
]


@pytest.mark.parametrize(("exercises", "words"), CORES)
def test_core_and_extensions_have_their_order_number_and_points(exercises, words):
    (fault,) = check_course([lesson("90_a.ipynb", *(exercise(*each) for each in exercises))])
    assert fault.startswith("90_a.ipynb: ") and words in fault


def test_a_core_of_two_and_an_extension_of_any_points_is_good():
    assert check_course([lesson("90_a.ipynb", exercise("a", 3), exercise("b", 1), exercise("c", 1.5, False))]) == []
