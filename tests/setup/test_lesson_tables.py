"""README and book list the lessons that are there, with the time and the points that the lessons say."""

import re
from pathlib import Path

import pytest
import yaml

from labs.course.catalogue import lessons

ROOT = Path(__file__).resolve().parents[2]
LESSONS = lessons(ROOT)


def row(text, number):
    """The cells of the table row that begins with a lesson's number."""
    line = next((line for line in text.splitlines() if line.startswith(f"| {number:02} |")), "")
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_the_readme_lists_a_lesson(lesson):
    _, title, _, minutes, points = row((ROOT / "README.md").read_text(), lesson.number)
    assert title.lower() == lesson.title.lower()
    assert int(minutes) == lesson.minutes
    assert float(points) == lesson.points


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_instructors_find_a_lesson_with_its_time_and_three_errors(lesson):
    text = (ROOT / "book" / "teaching.md").read_text()
    section = re.search(rf"(?ms)^## Lesson {lesson.number:02} ·.*?(?=^## |\Z)", text)
    assert section, f"book/teaching.md has no section for {lesson.name}"
    assert f"{lesson.minutes} minutes" in section[0]
    assert len(re.findall(r"(?m)^[123]\. ", section[0])) == 3


def test_the_contents_hold_every_lesson_in_order():
    contents = yaml.safe_load((ROOT / "book" / "_toc.yml").read_text())
    files = [chapter["file"] for part in contents["parts"] for chapter in part["chapters"]]
    assert [file for file in files if file.startswith("lessons/")] == [f"lessons/{lesson.name}" for lesson in LESSONS]
