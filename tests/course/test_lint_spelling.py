"""Misspelt words in the cells of a lesson; what cells put out, and words on the list, are left alone."""

import json
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from labs.course.lint import can_check_spelling, check_spelling

pytestmark = pytest.mark.skipif(not can_check_spelling(), reason="codespell is not installed")

ROOT = Path(__file__).parents[2]
TYPO = "recieve"  # codespell:ignore recieve


@pytest.fixture
def settings(tmp_path):
    path = tmp_path / "pyproject.toml"
    path.write_text('[tool.codespell]\nskip = "*.ipynb"\nignore-words-list = "simpy"\n')
    return path


@pytest.fixture
def lesson(tmp_path):
    """Write a lesson of a page and a code cell."""

    def write(name="90_a.ipynb", prose="Words.", code="x = 1", shown=""):
        output = {"output_type": "stream", "name": "stdout", "text": shown}
        cells = [
            {"cell_type": "markdown", "id": "words", "metadata": {}, "source": prose},
            {"cell_type": "code", "id": "code", "metadata": {}, "source": code, "outputs": [output],
             "execution_count": 1},
        ]  # fmt: skip
        path = tmp_path / name
        path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}))
        return path

    return write


def test_each_finding_names_lesson_cell_and_line(lesson, settings):
    first = lesson("90_a.ipynb", prose=f"Good.\n\nYou {TYPO} it.")
    second = lesson("91_b.ipynb", code=f"# {TYPO} it")
    found = check_spelling([first, second], settings)
    assert [fault.split(":")[0] for fault in found] == [
        "90_a.ipynb, cell 1 (words), line 3", "91_b.ipynb, cell 2 (code), line 1",
    ]  # fmt: skip
    assert all(f"{TYPO!r} is misspelt; perhaps receive." in fault for fault in found)


def test_outputs_and_listed_words_are_left_alone(lesson, settings):
    assert check_spelling([lesson(prose="Like SimPy.", shown=f"{TYPO}")], settings) == []


def test_a_check_that_cannot_be_made_is_an_error(lesson, settings):
    settings.write_text("this is no TOML")
    with pytest.raises(RuntimeError, match="codespell failed"):
        check_spelling([lesson()], settings)


def test_what_git_ignores_is_not_read_for_spelling():
    """A built book, or an environment in the checkout, must not fail `make lint`."""
    skipped = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["codespell"]["skip"].split(",")
    ignored = [line.rstrip("/") for line in (ROOT / ".gitignore").read_text().splitlines() if line]
    read = [name for name in ignored if not any(fnmatch(name, one.removeprefix("./")) for one in skipped)]
    assert read == [], "add these to the skip list of codespell in pyproject.toml"
