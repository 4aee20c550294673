"""The grader on the notebooks of a class, against nbclient that only executes them."""

from __future__ import annotations

import itertools
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from bench.measure import Row, Series

NAME = "grading"
TITLE = "Grading a class's notebooks of lesson 08, against executing them with nbclient"
NOTES = (
    "Of ten learners one has not begun, one has solved all; the others have right and wrong answers from tests/.",
    "Two notebooks at a time; start of the sandbox included; nbclient gets a fresh kernel for each notebook.",
    "CPU time and the share of busy cores are the machine's, so other programs count: measure on a quiet one.",
)
LESSON = "08_all_reduce"
AIM = 1.0  # times faster
JOBS = 2


def write_class(folder: Path, count: int) -> list[Path]:
    """The notebooks of so many learners."""
    import nbformat

    from labs.course.catalogue import course_root
    from labs.course.testing import answers_of, filled, learners

    root = course_root()
    answers = answers_of(root, LESSON.partition("_")[2])
    solved = {exercise: next(one for one in some if one.right) for exercise, some in answers.items()}
    dealt = itertools.cycle(learners(answers))
    paths = []
    for number in range(count):
        chosen = {0: {}, 1: solved}.get(number % 10)
        chosen = next(dealt) if chosen is None else chosen
        path = folder / f"learner{number:02}" / f"{LESSON}.ipynb"
        path.parent.mkdir()
        sources = {exercise: answer.source for exercise, answer in chosen.items()}
        nbformat.write(filled(root / "notebooks" / path.name, sources), path)
        paths.append(path)
    return paths


def grade(paths: list[Path]) -> None:
    """Grade all, as `python -m labs grade --jobs 2` does."""
    from labs.course.grade.course import Course
    from labs.course.grade.grade import grade_many
    from labs.course.grade.sandbox import sandbox

    course = Course.here()
    with sandbox((course.package,), course.hidden) as box:
        results = list(grade_many(paths, course, b"a secret for this run", box, jobs=JOBS))
    wrong = [result for result in results if result.refused or "stopped" in " ".join(result.notes)]
    if wrong or results[0].points or not results[1].full:
        raise AssertionError(f"not graded as it should be, so the time means nothing: {wrong or results[:2]}")


def execute_one(path: Path) -> None:
    """Execute one notebook; a cell that fails does not stop it, as in any execution that is to be graded."""
    import nbformat
    from nbclient import NotebookClient

    quiet = ["--IPKernelApp.log_level=50"]
    NotebookClient(
        nbformat.read(path, 4), timeout=120, allow_errors=True, kernel_name="python3", extra_arguments=quiet
    ).execute()


def execute(paths: list[Path]) -> None:
    """Execute all, two at a time."""
    with ProcessPoolExecutor(JOBS) as pool:
        list(pool.map(execute_one, paths))


def measured(work) -> tuple[float, float, float]:
    """Seconds by the clock, CPU seconds of the machine, and the share of its cores that was busy."""
    import psutil

    def busy():
        times = psutil.cpu_times()
        return sum(times) - times.idle - getattr(times, "iowait", 0.0)

    before, start = busy(), time.perf_counter()
    work()
    wall, cpu = time.perf_counter() - start, busy() - before
    return wall, cpu, cpu / wall / psutil.cpu_count()


def rows(quick: bool) -> list[Row]:
    """Measure both on the same notebooks, some at a time, by turns; then the grader on all of them at once."""
    count, some, whole = (2, 2, 1) if quick else (50, 10, 3)
    ours, theirs = [], []
    with tempfile.TemporaryDirectory(prefix="labs-bench-") as folder:
        paths = write_class(Path(folder), count)
        for first in range(0, count, some):
            part = paths[first : first + some]
            turns = [(ours, grade), (theirs, execute)]
            for taken, work in turns if first // some % 2 == 0 else reversed(turns):
                taken.append(measured(lambda work=work, part=part: work(part)))
        at_once = [measured(lambda: grade(paths)) for _ in range(whole)]
    (wall, cpu, _), (their_wall, their_cpu, _), (all_wall, _, busy) = map(_by_quantity, (ours, theirs, at_once))
    peer, what = "nbclient executes them", f"{some} of {count} notebooks, {JOBS} at a time"
    return [
        Row(f"{what}, by the clock", wall, "s", peer, their_wall, aim=AIM),
        Row(f"{what}, CPU of the machine", cpu, "s CPU", peer, their_cpu, aim=AIM),
        Row(f"{count} notebooks at once, by the clock", all_wall, "s"),
        Row(f"{count} notebooks at once, share of the machine's cores that is busy", busy, "of 1"),
    ]


def _by_quantity(taken):
    return [Series(tuple(values)) for values in zip(*taken, strict=True)]
