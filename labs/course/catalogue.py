"""The lessons of the course, read from their sources.

A lesson is a notebook ``solutions/NN_topic.ipynb`` and a package ``labs.topic``; nothing else lists the lessons.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass, field
from pathlib import Path

import labs
from labs.course.anatomy import checks, opening_box
from labs.course.canonical import NotebookError, read

LESSON_FILE = re.compile(r"^(?P<number>\d\d)_(?P<topic>[a-z][a-z0-9_]*)$")
BAD_NAME = "{}: a lesson's file is called NN_topic.ipynb, for example 08_all_reduce.ipynb."


class NoCourse(Exception):
    """This installation of `labs` has no notebooks beside it."""


@dataclass(frozen=True)
class Lesson:
    """One lesson.

    Attributes
    ----------
    number : int
        Its place in the course.
    topic : str
        Name of its package, ``labs.<topic>``.
    title : str
        As the notebook says it.
    path : pathlib.Path
        Its source, solutions/NN_topic.ipynb.
    minutes : int or None
        Time that the opening box announces (min).
    exercises : tuple of labs.kit.exercise.Exercise
        In the order of the notebook's check cells.
    """

    number: int
    topic: str
    title: str
    path: Path
    minutes: int | None = None
    exercises: tuple = field(default=())

    @property
    def name(self):
        """Name of the notebook without its ending, for example ``08_all_reduce``."""
        return self.path.stem

    @property
    def points(self):
        """Points of all exercises."""
        return sum(exercise.points for exercise in self.exercises)


def course_root(start=None):
    """Return the folder that holds solutions/, notebooks/ and labs/.

    Parameters
    ----------
    start : path-like, optional
        Folder to look at; the one that `labs` was imported from by default.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    NoCourse
        When there are no lessons, for example in a package installed without its checkout.
    """
    root = Path(start) if start is not None else Path(labs.__file__).resolve().parent.parent
    if not (root / "solutions").is_dir():
        raise NoCourse(
            f"There are no lessons beside the package `labs` (looked in {root}). The notebooks come with the course's "
            "repository: clone it and run `make lab` there, or `pip install -e .` and this command again."
        )
    return root


def sources(root=None, names=()):
    """Return the paths of the lessons' sources, in order.

    Parameters
    ----------
    root : path-like, optional
        Folder of the course.
    names : sequence of str
        Only these: ``08_all_reduce``, ``all_reduce``, ``08`` or ``8``, with or without ``.ipynb``; all when empty.

    Returns
    -------
    list of pathlib.Path

    Raises
    ------
    NotebookError
        When a name fits no lesson, or two lessons have the same number.
    """
    found, numbers = {}, {}
    for path in sorted((course_root(root) / "solutions").glob("*.ipynb")):
        match = LESSON_FILE.match(path.stem)
        if match is None:
            raise NotebookError(BAD_NAME.format(path.name))
        number = int(match["number"])
        if number in numbers:
            raise NotebookError(f"{path.name} and {numbers[number]} have the same number. Rename one of them.")
        numbers[number] = path.name
        for key in {path.stem, match["topic"], match["number"], str(number)}:
            found[key] = path
    paths = sorted(set(found.values()))
    if not names:
        return paths
    chosen = []
    for name in names:
        path = found.get(Path(name).name.removesuffix(".ipynb"))
        if path is None:
            known = ", ".join(path.stem for path in paths)
            raise NotebookError(f"There is no lesson {name!r}. There are: {known or 'none'}.")
        chosen.append(path)
    return sorted(set(chosen))


def lessons(root=None, names=()):
    """Return the lessons in order, with their exercises.

    Parameters
    ----------
    root, names
        As for `sources`.

    Returns
    -------
    tuple of Lesson

    Raises
    ------
    NotebookError
        When a check cell asks for an exercise that the lesson's package does not have.
    """
    return tuple(lesson(path) for path in sources(root, names))


def lesson(path, defined=None):
    """Return the lesson whose source stands at a path.

    Parameters
    ----------
    path : path-like
        solutions/NN_topic.ipynb.
    defined : dict of str to Exercise, optional
        The package's exercises by id; imported when not given.

    Returns
    -------
    Lesson
    """
    path = Path(path)
    match = LESSON_FILE.match(path.stem)
    if match is None:
        raise NotebookError(BAD_NAME.format(path.name))
    notebook = read(path)
    asked = [check.exercise for check in checks(notebook).values()]
    if defined is None:
        defined = exercises_of(match["topic"]) if asked else {}
    for name in asked:
        if name not in defined:
            raise NotebookError(
                f"{path.name} checks exercises.{name}, but labs/{match['topic']}/exercises.py has no exercise with "
                f"that id. It has: {', '.join(defined) or 'none'}."
            )
    box = opening_box(notebook)
    found = tuple(defined[name] for name in dict.fromkeys(asked))
    title = box.title or match["topic"].replace("_", " ").capitalize()
    return Lesson(int(match["number"]), match["topic"], title, path, box.minutes, found)


def exercises_of(topic):
    """Return the exercises of a lesson's package, by id.

    Parameters
    ----------
    topic : str
        Name of the package below `labs`.

    Returns
    -------
    dict of str to labs.kit.exercise.Exercise
        Module-level exercises of ``labs.<topic>.exercises``, in the order of their definition; empty when the package
        has no such module.
    """
    from labs.kit.exercise import Exercise

    try:
        module = importlib.import_module(f"labs.{topic}.exercises")
    except ModuleNotFoundError as error:
        if error.name in {f"labs.{topic}", f"labs.{topic}.exercises"}:
            return {}
        raise
    return {value.id: value for value in vars(module).values() if isinstance(value, Exercise)}
