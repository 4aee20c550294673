"""All lessons at a glance, with what a learner has solved: `progress`."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass

from labs.course import catalogue
from labs.course.canonical import NotebookError

BAR = 20  # characters of a bar in plain text


@dataclass(frozen=True)
class Line:
    """One lesson and how far the learner is.

    Attributes
    ----------
    name, title : str
        Name of the notebook without its ending, and the lesson's title.
    minutes : int or None
        Announced time (min).
    solved, exercises : int
        Exercises solved, and all.
    points, of : float
        Best points so far, and what the lesson is worth.
    next : str
        Title of the first unsolved exercise; empty when all are solved.
    """

    name: str
    title: str
    minutes: int | None
    solved: int
    exercises: int
    points: float
    of: float
    next: str

    @property
    def share(self):
        """Share of the points, from 0 to 1."""
        return min(1.0, self.points / self.of) if self.of else 0.0

    @property
    def number(self):
        """The lesson's number and title, for example "08 · All-reduce"."""
        return f"{self.name[:2]} · {self.title}"


@dataclass(frozen=True)
class Overview:
    """All lessons. Shows itself as a table in a notebook and prints as text.

    Attributes
    ----------
    lines : tuple of Line
        A line for each lesson, in order.
    note : str
        Why the list is empty or not complete; usually empty.
    """

    lines: tuple[Line, ...]
    note: str = ""

    @property
    def next(self):
        """Line of the first lesson with an unsolved exercise, or None."""
        return next((line for line in self.lines if line.next), None)

    def summary(self):
        """Return one sentence about the whole course."""
        solved, exercises = sum(line.solved for line in self.lines), sum(line.exercises for line in self.lines)
        points, of = sum(line.points for line in self.lines), sum(line.of for line in self.lines)
        return f"{solved} of {exercises} exercises solved, {points:g} of {of:g} points."

    def step(self):
        """Return what to do next, in words."""
        if self.next is None:
            return "Every exercise is solved." if self.lines else ""
        return f"Next: {self.next.next}, in {self.next.number}."

    def __str__(self):
        width = max((len(line.number) for line in self.lines), default=0)
        rows = [
            f"{line.number:<{width}}  {'#' * round(BAR * line.share):.<{BAR}}  {line.solved}/{line.exercises} exercises"
            f"  {line.points:g}/{line.of:g} points"
            for line in self.lines
        ]
        return "\n".join(filter(None, [*rows, self.summary() if self.lines else "", self.step(), self.note]))

    __repr__ = __str__

    def _repr_html_(self):
        rows = []
        for line in self.lines:
            label = f"{line.points:g} of {line.of:g} points"
            bar = f"<progress max='100' value='{100 * line.share:.0f}' aria-label='{label}'>{label}</progress>"
            here = " aria-current='step'" if line is self.next else ""
            time = f"{line.minutes} min" if line.minutes else ""
            rows.append(
                f"<tr{here}><th scope='row' style='text-align:left'>{_link(line.name, line.number)}</th>"
                f"<td>{time}</td><td>{line.solved} of {line.exercises}</td><td>{bar}</td><td>{label}</td></tr>"
            )
        head = "".join(f"<th scope='col'>{text}</th>" for text in ("Lesson", "Time", "Solved", "Progress", "Points"))
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>" if rows else ""
        step = html.escape(self.step())
        if self.next is not None:
            step = f"Next: {html.escape(self.next.next)}, in {_link(self.next.name, self.next.number)}."
        words = (self.summary() if rows else "", step, html.escape(self.note))
        return table + "".join(f"<p>{text}</p>" for text in words if text)


def progress(root=None):
    """Show all lessons with the exercises solved, the points, and the next step.

    Parameters
    ----------
    root : path-like, optional
        Folder of the course.

    Returns
    -------
    Overview
        Never raises: a lesson that cannot be read is left out and named in `note`.
    """
    # Here, because most verbs of the command line need no exercises.
    from labs.kit.exercise.progress import load

    known, lines, notes = load(), [], []
    try:
        paths = catalogue.sources(root)
    except (catalogue.NoCourse, NotebookError) as error:
        return Overview((), str(error))
    for path in paths:
        try:
            lines.append(_line(catalogue.lesson(path), known))
        except (NotebookError, ImportError) as error:
            notes.append(f"{path.stem} is left out: {error}")
    if os.environ.get("LABS_STATIC"):
        notes.append("In your own copy this table remembers what you have solved.")
    return Overview(tuple(lines), " ".join(notes))


def reset():
    """Forget all attempts, points and predictions."""
    from labs.kit.exercise.progress import reset as forget

    forget()


def _line(lesson, known):
    """Put a lesson and the records of its exercises together."""
    mine = {exercise: known[exercise.id] for exercise in lesson.exercises if exercise.id in known}
    waiting = [exercise.title for exercise in lesson.exercises if exercise not in mine or not mine[exercise].solved]
    return Line(
        name=lesson.name,
        title=lesson.title,
        minutes=lesson.minutes,
        solved=len(lesson.exercises) - len(waiting),
        exercises=len(lesson.exercises),
        points=sum(min(record.points, exercise.points) for exercise, record in mine.items()),
        of=lesson.points,
        next=waiting[0] if waiting else "",
    )


def _link(name, text):
    """Link to a lesson's notebook, which lies beside the welcome notebook."""
    return f'<a href="{html.escape(name)}.ipynb">{html.escape(text)}</a>'
