"""Where the lessons, their exercises and their source notebooks are."""

import functools
import importlib
import re
from dataclasses import dataclass
from pathlib import Path

import nbformat

import labs
from labs.course.anatomy import Check, opening_box
from labs.course.grade import notebook, recognise
from labs.course.grade.fault import CourseError

NAME = re.compile(r"(\d\d)_([a-z][a-z0-9_]*)")


@dataclass(frozen=True)
class Lesson:
    """What grading needs to know of one lesson.

    Attributes
    ----------
    name : str
        Such as ``08_all_reduce``.
    locked : dict of str to notebook.Cell or notebook.Check
        Cells that always come from the source, by grade_id.
    shown : frozenset of str
        Texts of cells that no answer needs; they are skipped when a learner left them as they are.
    exercises : dict of str to labs.kit.exercise.Exercise
        The exercises that the check cells name, in their order.
    form : recognise.Form
        What the source looks like.
    """

    name: str
    locked: dict
    shown: frozenset
    exercises: dict
    form: object = None


@dataclass(frozen=True)
class Course:
    """A folder of source notebooks and the package of their lessons.

    Attributes
    ----------
    source_dir : pathlib.Path
        Folder of ``NN_topic.ipynb``, the sources.
    package : str
        Importable package; the exercises of ``NN_topic`` are in ``package.topic.exercises``.
    """

    source_dir: Path
    package: str = "labs"

    @classmethod
    def here(cls, source_dir=None):
        """The course that this package belongs to, or one whose sources lie elsewhere.

        Raises
        ------
        CourseError
            When there are no source notebooks, with what to do.
        """
        places = [Path(source_dir)] if source_dir else [Path(labs.__file__).resolve().parent.parent / "solutions",
                                                         Path.cwd() / "solutions"]  # fmt: skip
        for place in places:
            for folder in (place, place / "solutions"):
                if any(folder.glob("[0-9][0-9]_*.ipynb")):
                    return cls(folder.resolve())
        raise CourseError(
            f"There are no source notebooks (NN_topic.ipynb) in {' or '.join(str(p) for p in places)}. "
            "Grading compares with them: say where they are with --source DIR."
        )

    @property
    def names(self):
        """Names of all lessons, sorted."""
        return sorted(path.stem for path in self.source_dir.glob("[0-9][0-9]_*.ipynb"))

    def name_of(self, path):
        """The lesson that a learner's file belongs to, by the file's name; None when no name or several fit.

        ``08_all_reduce.ipynb`` fits, and so do ``ada-08_all_reduce (1).ipynb``, ``08-all-reduce.ipynb`` and the like.
        """
        stem, lessons = Path(path).stem, self.names
        if stem in lessons:
            return stem
        fits = [name for name in lessons if self.pattern(name).search(stem)]
        longest = max(map(len, fits), default=0)
        fits = [name for name in fits if len(name) == longest]
        return fits[0] if len(fits) == 1 else None

    @staticmethod
    def pattern(name):
        """A pattern that finds a lesson's name in the name of a file."""
        return re.compile(rf"(?<![a-z0-9]){name.replace('_', '[-_ ]')}(?![a-z0-9])", re.IGNORECASE)

    def by_contents(self, path):
        """How many checks of each lesson a learner's file holds, for lessons of which it holds any, as a dict."""
        try:
            text = notebook.read_bytes(path).decode(errors="replace")
        except notebook.BadNotebook:
            return {}
        asked = set(re.findall(r"exercises\.([A-Za-z_]\w*)\(", text))
        return {name: count for name, checks in self._checks.items() if (count := len(asked & checks))}

    @functools.cached_property
    def _checks(self):
        """Ids of the exercises that each source checks."""
        found = {}
        for name in self.names:
            source = self._source(name)
            found[name] = {item.exercise for item in notebook.locked(source).values() if isinstance(item, Check)}
        return found

    def title(self, name):
        """Title of a lesson, as its notebook says it."""
        return opening_box(self._source(name)).title

    def lesson(self, name):
        """Read one lesson.

        Raises
        ------
        CourseError
            When the source cannot be read or a check cell asks for an exercise that does not exist.
        """
        source, path = self._source(name), self.source_dir / f"{name}.ipynb"
        try:
            locked = notebook.locked(source)
        except ValueError as error:
            raise CourseError(f"{path.name}: {error}") from None
        exercises = {}
        module = f"{self.package}.{NAME.fullmatch(name)[2]}.exercises"
        wanted = [item.exercise for item in locked.values() if isinstance(item, Check)]
        if wanted:
            found = importlib.import_module(module)
            for exercise in wanted:
                if not hasattr(found, exercise):
                    raise CourseError(f"{path.name} checks exercises.{exercise}, but {module} has no such exercise.")
                exercises[exercise] = getattr(found, exercise)
        return Lesson(name, locked, notebook.shown(source), exercises, recognise.Form.of(source, locked))

    def _source(self, name):
        path = self.source_dir / f"{name}.ipynb"
        try:
            return nbformat.read(path, 4)
        except Exception as error:
            raise CourseError(f"{path.name}: the source notebook cannot be read ({error}).") from None

    @property
    def hidden(self):
        """Folders that nothing in a sandbox may see."""
        root = self.source_dir.parent
        return (self.source_dir, root / "tests", root)
