"""Links that lead nowhere, in pages, lessons and docstrings: each is named with its place."""

import json

import pytest

from labs.course.lint import check_links


@pytest.fixture
def course(tmp_path):
    """A course of a page, a book page, a lesson and a module, in which every link is good."""
    for folder in ("book", "solutions", "labs/sums", "labs/kit"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "book" / "teaching.md").write_text(
        "# Teaching\n\n(top)=\n## Lesson 08 · All-reduce\n\n[up](../README.md)\n"
    )
    (tmp_path / "labs" / "sums" / "kernels.py").write_text('"""See labs/sums/kernels.py and labs/NN_topic.py."""\n')
    cell = {
        "cell_type": "markdown",
        "id": "one",
        "metadata": {},
        "source": "# 90 · Sums\n\nSee `labs/sums/kernels.py`.",
    }
    text = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}
    (tmp_path / "solutions" / "90_sums.ipynb").write_text(json.dumps(text))
    write(
        tmp_path, "[teach](book/teaching.md#lesson-08--all-reduce) [top](book/teaching.md#top) https://example.org/a."
    )
    return tmp_path


def write(course, words):
    (course / "README.md").write_text("# Course\n\n" + words + "\n")


def test_good_links_have_no_faults(course):
    assert check_links(course) == []


BAD = [
    ("[x](gone.md)", "the link gone.md leads nowhere: there is no gone.md"),
    ("![x y](book/gone.png)", "the link book/gone.png leads nowhere"),
    ('<img alt="x" src="gone.png">', "the link gone.png leads nowhere"),
    ("[![x](gone.png)](book/teaching.md)", "the link gone.png leads nowhere"),
    ("[x]: gone.md", "the link gone.md leads nowhere"),
    ("[x](book/teaching.md#lesson-09)", "leads to no heading of teaching.md"),
    ("[x](../other/README.md)", "leads out of the course"),
    ("[x](/home/me/README.md)", "leads to a place on one machine"),
    ("http://example.org/a", "http://example.org/a is not https"),
    ("https://localhost:8888/lab", "leads to a place on one machine"),
    ("[x](https://127.0.0.1/lab)", "leads to a place on one machine"),
    ("[x](file:///README.md)", "leads to a place on one machine"),
    ("https://example/a", "names no host"),
    ("https://example.org:port/a", "is no address"),
    ("https://example.org/a https://www.example.org/a/", "is written https://example.org/a at README.md, line 3"),
    ("`labs/sums/gone.py` counts", "it names labs/sums/gone.py, and there is no such file"),
]


@pytest.mark.parametrize(("words", "fault"), BAD)
def test_a_bad_link_of_a_page(course, words, fault):
    write(course, words)
    (found,) = check_links(course)
    assert found.startswith("README.md, line 3: ") and fault in found


@pytest.mark.parametrize(
    "words",
    [
        "`[x](gone.md)`",
        "```text\n[x](gone.md) http://localhost\n```",
        "`http://localhost:8888` is where Jupyter listens",
        "`labs/<topic>/figures.py`, `solutions/NN_topic.ipynb`, `labs/topic/exercises.py`, `/labs/gone.py`",
        "`image[i](a, b)` and mailto:someone",
        "https://example.org/a and again https://example.org/a, and (https://example.org/b).",
    ],
)
def test_code_and_placeholders_are_no_links(course, words):
    write(course, words)
    assert check_links(course) == []


def test_lessons_and_docstrings_are_read_too(course):
    path = course / "solutions" / "90_sums.ipynb"
    path.write_text(path.read_text().replace("See `labs", "See [x](gone.ipynb), `labs"))
    (course / "labs" / "kit" / "a.py").write_text(
        'x = 1\n\n\ndef f():\n    """Sum.\n\n    Like tests/gone.py.\n    """\n'
    )
    assert check_links(course) == [
        "90_sums.ipynb, cell 1 (one), line 3: the link gone.ipynb leads nowhere: there is no solutions/gone.ipynb.",
        "labs/kit/a.py, line 7: it names tests/gone.py, and there is no such file.",
    ]
