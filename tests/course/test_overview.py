"""The learner's map of the course: solved exercises, points, the next step, and no failure whatever is missing."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from labs.course import catalogue, overview
from labs.course.canonical import NotebookError
from labs.kit.exercise import progress as records


@dataclass(frozen=True)
class Task:
    """As much of an exercise as the map looks at."""

    id: str
    title: str
    points: float = 3.0
    core: bool = True


def lesson(name, *exercises):
    made = tuple(Task(identity, f"Do {identity}") for identity in exercises)
    return catalogue.Lesson(int(name[:2]), name[3:], f"<{name[3:].title()}>", Path(f"{name}.ipynb"), 40, made)


@pytest.fixture
def course(monkeypatch, tmp_path):
    monkeypatch.setenv("LABS_STATE", str(tmp_path))
    monkeypatch.delenv("LABS_STATIC", raising=False)
    made = {"00_first": lesson("00_first", "a", "b"), "01_second": lesson("01_second", "c")}
    monkeypatch.setattr(catalogue, "sources", lambda root=None: [each.path for each in made.values()])
    monkeypatch.setattr(catalogue, "lesson", lambda path: made[path.stem])
    return made


def test_nothing_solved_yet(course):
    seen = overview.progress()
    assert seen.summary() == "0 of 3 exercises solved, 0 of 9 points."
    assert seen.step() == "Next: Do a, in 00 · <First>."


def test_what_is_solved_counts_and_the_next_step_moves_on(course):
    records.record("a", True, points=3.0, of=3.0)
    records.record("b", True, points=3.0, of=3.0)
    records.record("c", False, points=1.5, of=3.0)
    seen = overview.progress()
    assert seen.summary() == "2 of 3 exercises solved, 7.5 of 9 points."
    assert [line.share for line in seen.lines] == [1.0, 0.5]
    assert seen.next.name == "01_second"
    first, second = str(seen).splitlines()[:2]
    assert "#" * 20 in first and "#" * 10 + "." * 10 in second
    records.record("c", True, points=3.0, of=3.0)
    assert overview.progress().step() == "Every exercise is solved."


def test_the_page_links_to_notebooks_and_escapes_titles(course):
    page = overview.progress()._repr_html_()
    assert '<a href="00_first.ipynb">00 · &lt;First&gt;</a>' in page
    assert "<First>" not in page and "aria-label='0 of 6 points'" in page


def test_a_lesson_that_cannot_be_read_is_named_and_the_others_stay(course, monkeypatch):
    def broken(path):
        if path.stem == "00_first":
            raise NotebookError("00_first.ipynb: broken")
        return course[path.stem]

    monkeypatch.setattr(catalogue, "lesson", broken)
    seen = overview.progress()
    assert [line.name for line in seen.lines] == ["01_second"] and "00_first is left out" in seen.note


def test_without_a_checkout_it_says_so(tmp_path):
    seen = overview.progress(tmp_path)
    assert not seen.lines and "clone it" in str(seen) and "clone it" in seen._repr_html_()


def test_forgetting(course):
    records.record("a", True, points=3.0, of=3.0)
    overview.reset()
    assert overview.progress().summary().startswith("0 of 3")
