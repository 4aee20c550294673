"""Who handed in what: folders, flat files, LMS downloads, odd names, and files that do not fit."""

import csv
import io
import json
import os

import nbformat
import pytest
from tiny_course.notebooks import code, learner, source

from labs.course.grade import gradebook, learners, names
from labs.course.grade.course import Course
from labs.course.grade.fault import CourseError
from labs.course.grade.grades import Grades
from labs.course.grade.learners import Learner
from labs.course.grade.marks import Mark, Result

LESSON = "03_merging"


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A course of two lessons, of which the second checks other exercises; nothing of it is run."""
    root = tmp_path_factory.mktemp("two")
    (root / "solutions").mkdir()
    nbformat.write(source(("sort_merge", "coder")), root / "solutions" / f"{LESSON}.ipynb")
    nbformat.write(source(("patience", "pass_on")), root / "solutions" / "04_waiting.ipynb")
    return Course(root / "solutions", "tiny_course")


def make(root, *paths, notebook=None):
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(json.dumps(notebook or {"nbformat": 4, "cells": []}))
    return root


def who(handed_in):
    """{learner's name: [lesson, ...]}"""
    found = {one.key: one.name for one in handed_in.learners}
    lessons = {name: [] for name in found.values()}
    for item in handed_in.submissions:
        lessons[found[item.learner]].append(item.lesson)
    return lessons


LAYOUTS = {
    "folders": (["in/ada/03_merging.ipynb", "in/ada/04_waiting.ipynb", "in/bob/03_merging.ipynb"], "in",
                {"ada": 2, "bob": 1}),
    "deeper": (["in/ada/notebooks/03_merging.ipynb", "in/bob/week 1/03_merging.ipynb"], "in", {"ada": 1, "bob": 1}),
    "flat": (["in/ada-03_merging.ipynb", "in/bob-03_merging (2).ipynb"], "in", {"ada": 1, "bob": 1}),
    "one folder": (["ada/03_merging.ipynb", "ada/04_waiting.ipynb"], "ada", {"ada": 2}),
    "own notebooks": (["notebooks/03_merging.ipynb"], "notebooks", {"you": 1}),
    "nbgrader": (["submitted/ada/03_merging/03_merging.ipynb", "submitted/bob/03_merging/03_merging.ipynb"],
                 "submitted", {"ada": 1, "bob": 1}),
    "nbgrader course": (["c/submitted/ada/03_merging/03_merging.ipynb", "c/source/03_merging/03_merging.ipynb"], "c",
                        {"ada": 1}),
    "nbgrader one": (["submitted/ada/03_merging/03_merging.ipynb"], "submitted/ada", {"ada": 1}),
    "nbgrader inbound": (["in/ada+03_merging+2026-11-30 04:40:19 UTC/03_merging.ipynb"], "in", {"ada": 1}),
    "GitHub Classroom": (["in/03-merging-ada/03_merging.ipynb", "in/03-merging-bob/03_merging.ipynb"], "in",
                         {"ada": 1, "bob": 1}),
    "Moodle": (["in/Ada Lovelace_123_assignsubmission_file/03_merging.ipynb",
                "in/Bob B_124_assignsubmission_file_/03_merging.ipynb"], "in", {"Ada Lovelace": 1, "Bob B": 1}),
    "Moodle flat": (["in/Ada Lovelace_123_assignsubmission_file_03_merging.ipynb"], "in", {"Ada Lovelace": 1}),
    "Moodle namesakes": (["in/Ada_123_assignsubmission_file/03_merging.ipynb",
                          "in/Ada_124_assignsubmission_file/03_merging.ipynb"], "in", {"Ada (123)": 1, "Ada (124)": 1}),
    "Canvas": (["in/lovelaceada_123_4567_03_merging.ipynb", "in/bobb_LATE_124_4568_03_merging-1.ipynb"], "in",
               {"lovelaceada": 1, "bobb": 1}),
    "Blackboard": (["in/HW 1_adal_attempt_2026-11-30-04-40-19_03_merging.ipynb"], "in", {"adal": 1}),
    "Brightspace": (["in/12-345 - Ada Lovelace - Nov 30, 2026 440 AM/03_merging.ipynb"], "in", {"Ada Lovelace": 1}),
    "sections": (["in/a/ada/03_merging.ipynb", "in/a/bob/03_merging.ipynb", "in/b/cy/03_merging.ipynb",
                  "in/b/di/03_merging.ipynb"], "in", {"a / ada": 1, "a / bob": 1, "b / cy": 1, "b / di": 1}),
    "lesson first": (["in/03_merging/ada.ipynb", "in/03_merging/bob.ipynb"], "in", {"ada": 1, "bob": 1}),
    "checkpoints": (["in/ada/03_merging.ipynb", "in/ada/.ipynb_checkpoints/03_merging-checkpoint.ipynb"], "in",
                    {"ada": 1}),
    "a clone": (["in/ada/labs/x.py", "in/ada/notebooks/03_merging.ipynb", "in/ada/solutions/03_merging.ipynb",
                 "in/ada/book/lessons/03_merging.ipynb"], "in", {"ada": 1}),
    "numbers": (["in/03_merging-group-12.ipynb", "in/03_merging-group-13.ipynb"], "in", {"group-12": 1, "group-13": 1}),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(two, tmp_path, layout):
    paths, top, wanted = LAYOUTS[layout]
    make(tmp_path, *paths)
    found = learners.find([tmp_path / top], two)
    assert {name: len(lessons) for name, lessons in who(found).items()} == wanted
    if layout == "a clone":
        assert found.submissions[0].path == tmp_path / "in/ada/notebooks/03_merging.ipynb"
    assert not [item.label for item in found.submissions if str(tmp_path) in item.label]


def test_files_given_one_by_one_belong_to_their_folders(two, tmp_path, monkeypatch):
    make(tmp_path, "ada/03_merging.ipynb", "bob/notebooks/03_merging.ipynb", "cy-03_merging.ipynb")
    paths = [tmp_path / p for p in ("ada/03_merging.ipynb", "cy-03_merging.ipynb")]
    assert set(who(learners.find(paths, two))) == {"ada", "cy"}
    make(tmp_path, "notebooks/03_merging.ipynb")
    monkeypatch.chdir(tmp_path)
    assert set(who(learners.find(["notebooks/03_merging.ipynb"], two))) == {"you"}


def test_the_newest_of_two_counts_and_both_are_named(two, tmp_path):
    make(tmp_path, "in/ada/03_merging.ipynb", "in/ada/old/03_merging.ipynb")
    os.utime(tmp_path / "in/ada/03_merging.ipynb", (1000, 1000))
    (item,) = learners.find([tmp_path / "in"], two).submissions
    assert item.path == tmp_path / "in/ada/old/03_merging.ipynb"
    (note,) = item.notes
    assert "handed in 2 times" in note and note.endswith("left out: in/ada/03_merging.ipynb")


def test_a_higher_attempt_counts_whatever_its_date(two, tmp_path):
    make(tmp_path, "in/a_12_345_03_merging-2.ipynb", "in/a_12_344_03_merging-1.ipynb", "in/a_12_343_03_merging.ipynb")
    os.utime(tmp_path / "in/a_12_345_03_merging-2.ipynb", (1000, 1000))
    (item,) = learners.find([tmp_path / "in"], two).submissions
    assert item.path.name == "a_12_345_03_merging-2.ipynb"


def test_what_does_not_fit_is_named(two, tmp_path):
    make(tmp_path, "in/ada/03_merging.ipynb", "in/ada/mine.ipynb", "in/bob.zip", "in/cy/03_merging.py", "in/ada/x.csv")
    notes = "\n".join(learners.find([tmp_path / "in"], two).notes)
    assert "belong to no lesson and were left out: in/ada/mine.ipynb" in notes
    assert "unpack them first: in/bob.zip" in notes and "left out: in/cy/03_merging.py" in notes
    assert "x.csv" not in notes
    with pytest.raises(CourseError, match=r"bob\.zip"):
        learners.find([make(tmp_path, "only/bob.zip") / "only"], two)


def test_a_renamed_file_is_known_by_its_checks(two, tmp_path):
    make(tmp_path, "in/ada/homework.ipynb", notebook=learner(edit=_only("sort_merge", "coder")))
    make(tmp_path, "in/bob/03_merging.ipynb", notebook=learner(edit=_only("patience", "pass_on")))
    items = {item.learner: item for item in learners.find([tmp_path / "in"], two).submissions}
    assert items["ada"].lesson == "03_merging" and "named after no lesson" in items["ada"].notes[0]
    assert items["bob"].lesson == "04_waiting" and "named after 03_merging" in items["bob"].notes[0]


def _only(*exercises):
    def edit(notebook):
        notebook["cells"] = [code(f"exercises.{name}({name})") for name in exercises]

    return edit


def test_links_lead_nowhere(two, tmp_path):
    make(tmp_path, "elsewhere/eve/03_merging.ipynb", "in/ada/03_merging.ipynb")
    (tmp_path / "in/link").symlink_to(tmp_path / "elsewhere")
    assert set(who(learners.find([tmp_path / "in"], two))) == {"ada"}


# ---- names -----------------------------------------------------------------------------------------------------------
ODD = ["../../etc/passwd", "con", "NUL", "Ada", "ada", "ADA", "..", ".hidden", "a" * 300, "李雷", "=cmd|' /C calc'!A0",
       "<script>", "\u202eevil", "a\nb", "\udcff", "Zoë", "Zoe\u0308", "", "a/b\\c:d*e?", "ada-2"]  # fmt: skip


def test_pages_are_safe_file_names_and_never_the_same(tmp_path):
    pages = names.pages(ODD)
    assert len({page.casefold() for page in pages}) == len(ODD)
    for page in pages:
        assert page and not set(page) & set('/\\:*?"<>|.\n\u202e') and not page.startswith("-")
        assert page.casefold() not in {"con", "nul"} and len(page.encode()) < 120
        (tmp_path / f"{page}.html").write_text("x")
    assert len(list(tmp_path.iterdir())) == len(ODD)


def test_learners_whose_names_cannot_be_shown_stay_apart(two, tmp_path):
    for raw in (b"ada\xff", b"ada\xfe", b"ada\n", b"ada"):
        folder = os.path.join(os.fsencode(tmp_path / "in"), raw)
        os.makedirs(folder)
        with open(os.path.join(folder, b"03_merging.ipynb"), "w") as f:
            f.write("{}")
    found = learners.find([tmp_path / "in"], two)
    assert len(found.learners) == len({one.name for one in found.learners}) == len({one.page for one in found.learners})
    assert len(found.submissions) == 3 + (len(found.learners) == 4)


def test_a_gradebook_opens_in_a_spreadsheet_and_runs_nothing():
    people = tuple(
        Learner(str(i), name, f"p{i}") for i, name in enumerate(["=1+1", "-2", "@x", "+1", 'Ada, "A"', "李"])
    )
    results = tuple(
        Result("x", f"0{k}_x", (Mark("a", "A", i / 2, 3, "partly"),), learner=str(i))
        for i in range(len(people)) for k in (3, 4) if (i, k) != (5, 4)
    )  # fmt: skip
    text = gradebook.as_csv(Grades(people, results))
    assert text.startswith("\ufeff")
    head, *rows = csv.reader(io.StringIO(text[1:]))
    assert head == ["learner", "03_x points", "03_x possible", "04_x points", "04_x possible", "total points",
                    "total possible", "percent", "notes", "feedback"]  # fmt: skip
    assert [row[0] for row in rows] == ["'=1+1", "'-2", "'@x", "'+1", 'Ada, "A"', "李"]
    assert rows[1][1:8] == ["0.5", "3", "0.5", "3", "1", "6", "16.7"]
    assert rows[5][3:7] == ["", "3", "2.5", "6"]
