"""The course as the book needs it: parts, lessons, what each one needs, read from the lessons and the contents."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import yaml

from labs.course import catalogue
from labs.course.canonical import read


@dataclass(frozen=True)
class Entry:
    """One lesson.

    Attributes
    ----------
    number : int
    name : str
        Name of its notebook without the ending, for example ``08_all_reduce``.
    title : str
        Without the number.
    part : str
        Caption in the contents.
    minutes : int
    points : float
    builds : str
        What the opening box promises, as plain text: "the ring all-reduce that ...".
    needs, helped_by : tuple of int
        Lessons that must come before, and lessons that only help.
    """

    number: int
    name: str
    title: str
    part: str
    minutes: int
    points: float
    builds: str
    needs: tuple[int, ...] = ()
    helped_by: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        """Number and title, for example "08 · All-reduce"."""
        return f"{self.number:02} · {self.title}"


def outline(root: Path) -> tuple[Entry, ...]:
    """Read all lessons of the course, in order.

    Parameters
    ----------
    root : pathlib.Path
        Folder of the course.

    Returns
    -------
    tuple of Entry

    Raises
    ------
    SystemExit
        When the contents lack a lesson, or a lesson needs one that does not exist or comes later.
    """
    parts = parts_of(root / "book" / "_toc.yml")
    entries = []
    for lesson in catalogue.lessons(root):
        if lesson.name not in parts:
            raise SystemExit(f"book/_toc.yml does not list lessons/{lesson.name}. Add it to one of the parts.")
        box = opening(lesson.path)
        needs, helped_by = prerequisites(box)
        entries.append(
            Entry(
                lesson.number,
                lesson.name,
                lesson.title,
                parts[lesson.name],
                lesson.minutes or 0,
                lesson.points,
                promise(box),
                needs,
                helped_by,
            )
        )
    numbers = {entry.number for entry in entries}
    for entry in entries:
        for number in (*entry.needs, *entry.helped_by):
            if number not in numbers or number >= entry.number:
                raise SystemExit(f"{entry.name} says that it needs lesson {number:02}, which is not an earlier lesson.")
    return tuple(entries)


def parts_of(contents: Path) -> dict[str, str]:
    """Return the caption of the part in which each lesson stands, in the order of the contents.

    Parameters
    ----------
    contents : pathlib.Path
        _toc.yml.

    Returns
    -------
    dict of str to str
        By name of the notebook.
    """
    return {
        chapter["file"].removeprefix("lessons/"): part["caption"]
        for part in yaml.safe_load(contents.read_text(encoding="utf-8"))["parts"]
        for chapter in part["chapters"]
        if chapter["file"].startswith("lessons/")
    }


def opening(path: Path) -> str:
    """Return the opening box of a lesson as one line of Markdown, without its quote marks."""
    text = read(path).cells[0].source
    lines = [line.lstrip("> ").strip() for line in text.splitlines() if line.startswith(">")]
    return " ".join(line for line in lines if line)


def prerequisites(box: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Read "You need 01 Messages (07 Data parallel helps)" as the lessons that are needed and those that help.

    Parameters
    ----------
    box : str
        An opening box as one line.

    Returns
    -------
    needs, helped_by : tuple of int
    """
    match = re.search(r"\*\*You need\*\*(.*?)\*\*Time\*\*", box)
    text = match[1] if match else ""
    aside = " ".join(re.findall(r"\(([^)]*)\)", text))
    plain = re.sub(r"\([^)]*\)", "", text)

    def numbers(words):
        return tuple(int(number) for number in re.findall(r"\b(\d\d)\b", words))

    return numbers(plain), numbers(aside)


def promise(box: str) -> str:
    """Read what a lesson lets you build, as plain text that ends with a full stop."""
    match = re.search(r"\*\*You will build\*\*\s*(.*?)\s*\*\*You need\*\*", box)
    return re.sub(r"[*`]", "", match[1]) if match else ""
