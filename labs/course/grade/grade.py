"""Grade one notebook, or many at once, each by a worker process of its own."""

import contextlib
import importlib
import multiprocessing
import os
import resource
import signal
import sys
import time
from collections import deque
from multiprocessing.connection import wait

from labs.course.grade import notebook, oracles, recognise
from labs.course.grade.kernel import Kernel, KernelLost
from labs.course.grade.marks import Mark, Result
from labs.course.grade.reasons import HARMLESS
from labs.course.grade.verdict import Limits, judge, seed
from labs.course.grade.words import tidy

WORKER_MEMORY = 4 << 30
"""Address space (bytes) that judging one notebook may add: a hostile output must not take the machine down."""


def grade_notebook(path, course, secret, sandbox, *, limits=None, slot=0, lesson=None, pictures=False):
    """Grade one learner's notebook in this process.

    Parameters
    ----------
    path : path-like
    course : Course
    secret : bytes
        From which the seeds of the cases are made.
    sandbox : Sandbox
    limits : Limits, optional
    slot : int
        Number among the notebooks that are graded at the same time.
    lesson : str, optional
        Its name; found by the name of the file when left out (see `Course.name_of`).
    pictures : bool
        Whether the pictures of hints are drawn.

    Returns
    -------
    Result
        Also for a file that cannot be graded: then `refused` says why.

    Raises
    ------
    CourseError
        When the course's own source is at fault.
    """
    began, limits = time.monotonic(), limits or Limits()
    name = course.name_of(path) if lesson is None else lesson
    if not name:
        why = f"no lesson is called so. Lessons: {', '.join(course.names)}"
        return Result(str(path), "", isolation=sandbox.isolation, refused=f"this file was not graded: {why}")
    lesson = course.lesson(name)
    marks = {id: Mark(id, e.title, 0, e.points, core=e.core) for id, e in lesson.exercises.items()}
    notes, refused = [], ""
    try:
        cells, before, after = recognise.recognise(notebook.read(path), lesson.form)
        plan = notebook.plan(cells, lesson.locked, lesson.shown)
        notes += [*before, *plan.notes]
        _Play(plan, lesson, cells, secret, sandbox, slot, limits, began, marks, notes, pictures).run()
        notes += after
    except notebook.BadNotebook as error:
        refused = tidy(f"this file was not graded: {error}")
    seconds = time.monotonic() - began
    return Result(str(path), name, tuple(marks.values()), tuple(notes), seconds, sandbox.isolation, refused)


class _Play:
    """Run a plan, with as many kernels as it takes; marks and notes are filled in."""

    def __init__(self, plan, lesson, cells, secret, sandbox, slot, limits, began, marks, notes, pictures):
        self.steps, self.lesson, self.cells, self.secret = plan.steps, lesson, cells, secret
        self.sandbox, self.slot, self.limits, self.until = sandbox, slot, limits, began + limits.total
        self.marks, self.notes, self.pictures = marks, notes, pictures
        self.over = set()  # steps not to run again: finished checks, cells that cost a kernel

    def run(self):
        """Start a kernel and go on until a step costs it, then start again without that step."""
        checks = {i for i, step in enumerate(self.steps) if isinstance(step, notebook.Check)}
        for _ in range(self.limits.starts):
            if checks <= self.over:
                return
            if time.monotonic() > self.until:
                self.notes.append(f"stopped: the notebook used up its {self.limits.total:.0f} s")
                return
            try:
                with Kernel(self.sandbox, self.slot) as kernel:
                    last = max(checks - self.over)  # nobody needs the cells behind the last check
                    for i in range(last + 1):
                        if i not in self.over and not self._step(kernel, i):
                            break
            except KernelLost as error:
                self.notes.append(f"a kernel could not be started: {error}")
        if not checks <= self.over:
            self.notes.append(f"stopped: {self.limits.starts} kernels were lost")

    def _step(self, kernel, i):
        """Returns whether the kernel lives."""
        step, left = self.steps[i], self.until - time.monotonic()
        if left <= 0:
            return False
        if isinstance(step, notebook.Check):
            self.over.add(i)
            number = seed(self.secret, step.exercise, self.cells)
            exercise = self.lesson.exercises[step.exercise]
            limits = Limits(**vars(self.limits) | {"exercise": min(self.limits.exercise, left)})
            self.marks[step.exercise], alive = judge(kernel, step, exercise, number, limits, self.pictures)
            return alive
        try:
            reply = kernel.execute(step.source, min(self.limits.cell, left))
        except KernelLost as error:
            self.over.add(i)
            self.notes.append(f"{_named(step)} was left out: {error}")
            return False
        if reply.get("status") == "ok":
            return True
        met = kernel.limit_met(f"{str(reply.get('ename'))[:60]}: {str(reply.get('evalue'))[:200]}")
        if met and met[0] not in HARMLESS:
            self.over.add(i)
            self.notes.append(f"{_named(step)} was left out: it {met[1]}")
            return False
        why = f": it {met[1]}" if met else ""
        note = tidy(f"{_named(step)} stopped with {str(reply.get('ename'))[:60]}{why}", 200)
        if note not in self.notes:
            self.notes.append(note)
        return True


def _named(cell):
    first = next((line for line in cell.source.splitlines() if line.strip()), "").strip()
    return f"the cell {cell.name}" if cell.name else f"the cell that begins “{tidy(first, 50)}”"


def grade_many(paths, course, secret, sandbox, *, limits=None, jobs=1):
    """Grade notebooks, `jobs` at a time, and yield their results in the order of `paths`; see `grade_as_they_come`."""
    found, turn = {}, 0
    work = [(path, course.name_of(path) or "") for path in paths]
    for number, result in grade_as_they_come(work, course, secret, sandbox, limits=limits, jobs=jobs):
        found[number] = result
        while turn in found:
            yield found.pop(turn)
            turn += 1


def grade_as_they_come(work, course, secret, sandbox, *, limits=None, jobs=1, pictures=False):
    """Grade notebooks, `jobs` at a time.

    Parameters
    ----------
    work : sequence of (path-like, str)
        Notebooks and the names of their lessons; an empty name where there is none.
    course, secret, sandbox, limits, pictures
        As for `grade_notebook`.
    jobs : int
        Number of worker processes.

    Yields
    ------
    number : int
        Position in `work`.
    result : Result
        As soon as it is there.
    """
    limits = limits or Limits()
    for name in {name for _, name in work} - {""}:
        lesson = course.lesson(name)  # a fault of the course shows here, once; and forked workers find it imported
        oracles.prepare(lesson.exercises.values())
    if pictures:
        _import_drawing()
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    options = {"limits": limits, "pictures": pictures}
    waiting, running, free = deque(enumerate(work)), {}, list(range(max(1, jobs)))
    try:
        while waiting or running:
            while waiting and free:
                (number, (path, lesson)), slot = waiting.popleft(), free.pop()
                started = _start(context, (path, course, secret, sandbox), options | {"lesson": lesson, "slot": slot})
                running[started] = (number, path, lesson, slot)
            first = min(worker.deadline for worker in running)
            ready = wait([worker.pipe for worker in running], max(0.0, first - time.monotonic()))
            for worker in [w for w in running if w.pipe in ready or time.monotonic() > w.deadline]:
                number, path, lesson, slot = running.pop(worker)
                free.append(slot)
                yield number, worker.finish(path, lesson, course, sandbox)
    finally:
        for worker in running:
            worker.stop()


def _import_drawing():
    """Forked workers find it imported; each would need a second for it."""
    for name in ("matplotlib.backends.backend_svg", "matplotlib.figure", "labs.kit.draw"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


class _Work:
    """One worker process and the end of the pipe on which its result comes."""

    def __init__(self, process, pipe, deadline):
        self.process, self.pipe, self.deadline = process, pipe, deadline

    def finish(self, path, name, course, sandbox):
        """Its result, or one that says why there is none."""
        result = None
        if self.pipe.poll():
            try:
                result = self.pipe.recv()
            except (EOFError, OSError):
                pass
        self.stop()
        if isinstance(result, dict):
            return Result.from_data(result)
        why = "this file was not graded: " + (result or "the grader's own worker had to be stopped")
        exercises = course.lesson(name).exercises.items() if name else ()
        marks = tuple(Mark(id, e.title, 0, e.points, core=e.core) for id, e in exercises)
        return Result(str(path), name, marks, isolation=sandbox.isolation, refused=why, passing=True)

    def stop(self):
        """End it; its kernel's jail ends when its side of the socket closes."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _start(context, args, options):
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_worker, args=(theirs, args, options), daemon=True)
    process.start()
    theirs.close()
    limits = options["limits"]
    return _Work(process, ours, time.monotonic() + limits.total + limits.grace)


def _worker(pipe, args, options):
    _bound_memory()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the parent, which ends its workers
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        pipe.send(grade_notebook(*args, **options).as_data())
    except Exception as error:  # a fault of ours must cost one notebook, not the class
        pipe.send(tidy(f"the grader failed with {type(error).__name__}: {error}", 500))
    finally:
        pipe.close()


def _bound_memory():
    try:
        with open("/proc/self/statm") as f:
            now = int(f.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (now + WORKER_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    except (OSError, ValueError):  # no /proc here: the limit is left out
        return
