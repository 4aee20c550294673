"""``python -m labs grade PATH...``: the command line of the grader."""

import contextlib
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

from labs.course.grade.fault import CourseError, NoSandbox

GB = 1 << 30


def add_arguments(parser):
    """Describe the arguments to an `argparse.ArgumentParser`."""
    text = "a notebook, a learner's folder, or a folder of learners"
    parser.add_argument("paths", nargs="+", metavar="PATH", help=text)
    text = "where results, gradebook and feedback pages go; what stands there already is not graded again"
    parser.add_argument("--out", metavar="DIR", help=text)
    text = "text or number that decides the secret cases (default: LABS_SEED, else one that is made once for you)"
    parser.add_argument("--seed", metavar="S", help=text)
    text = "notebooks graded at the same time (default: the CPU cores that this process may use)"
    parser.add_argument("--jobs", type=int, default=cores(), metavar="N", help=text)
    text = "seconds for the cases of one exercise; half of it for a cell, ten times for a notebook (default: 60)"
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help=text)
    text = "memory that the answers of one notebook may use (default: 4)"
    parser.add_argument("--memory", type=float, default=4.0, metavar="GB", help=text)
    parser.add_argument("--source", metavar="DIR", help="folder of the source notebooks (default: solutions/)")
    parser.add_argument("--again", action="store_true", help="grade also what was graded already")
    parser.add_argument("--require-full", action="store_true", help="exit with 1 unless every point was reached")
    parser.add_argument("--require-isolation", action="store_true", help="refuse to run answers unless isolated")


def cores():
    """The number of CPU cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


def main(args):
    """Grade, print the table and write what was asked for.

    Parameters
    ----------
    args : argparse.Namespace
        With the arguments of `add_arguments`.

    Returns
    -------
    int
        0 when grading worked, whatever the points; 1 with ``--require-full`` when points are missing; 2 when nothing
        could be graded; 130 when interrupted.
    """
    # Here and not above: other verbs describe this one's arguments and shall not wait for zmq.
    from labs.course.grade import report
    from labs.course.grade.fault import Stopped

    try:
        with _terminated_like_interrupted():
            grades = _grade(args)
            print(report.table(grades, detailed=not args.out))
            if args.out:
                _write(args.out, grades)
    except (CourseError, NoSandbox, OSError) as error:
        print(f"Grading did not work: {error}", file=sys.stderr)
        return 2
    except Stopped as stopped:
        print(stopped, file=sys.stderr)
        return 130
    except KeyboardInterrupt:
        print("Grading was stopped before anything was graded.", file=sys.stderr)
        return 130
    return 1 if args.require_full and not all(result.full for result in grades.results) else 0


def _grade(args):
    """Everything between the command line and the results."""
    from labs.course.grade import compiled, learners, sandbox, secret, store
    from labs.course.grade.bar import Bar
    from labs.course.grade.course import Course
    from labs.course.grade.fault import Stopped
    from labs.course.grade.grade import grade_as_they_come
    from labs.course.grade.verdict import Limits

    course = Course.here(args.source)
    handed_in = learners.find(args.paths, course)
    chosen = secret.find(args.seed)
    if args.timeout <= 0 or args.jobs < 1 or args.memory <= 0:
        raise CourseError("--timeout and --memory must be above 0 and --jobs at least 1.")
    limits = Limits(cell=args.timeout / 2, exercise=args.timeout, total=10 * args.timeout)
    memory, isolate = int(args.memory * GB), True if args.require_isolation else None
    kept = store.Store(Path(args.out, "graded")) if args.out else None
    make = store.Keys(course, secret.fingerprint(chosen) if kept else "", limits, memory)
    submissions, found, keys = handed_in.submissions, {}, {}
    for number, item in enumerate(submissions if kept else ()):
        keys[number] = make.key(item.path, item.lesson)
        result = None if args.again or not keys[number] else kept.get(keys[number])
        if result and (result.isolation == "isolated" or not args.require_isolation):
            found[number] = _owned(result, item)
    if found:
        print(f"{len(found)} of {len(submissions)} notebooks were graded before.", file=sys.stderr)
    todo = [number for number in range(len(submissions)) if number not in found]
    if not todo:
        return _gathered(found, handed_in, course)
    work = [(submissions[number].path, submissions[number].lesson) for number in todo]
    try:
        compiled.prepare(course, dict.fromkeys(lesson for _, lesson in work if lesson))
        with contextlib.ExitStack() as stack:
            box = stack.enter_context(sandbox.sandbox((course.package,), course.hidden, isolate, memory=memory))
            bar = stack.enter_context(contextlib.closing(Bar(len(submissions), len(found))))
            options = {"limits": limits, "jobs": args.jobs, "pictures": bool(kept)}
            coming = grade_as_they_come(work, course, chosen, box, **options)
            for position, result in stack.enter_context(contextlib.closing(coming)):
                number = todo[position]
                found[number] = _owned(result, submissions[number])
                if keys.get(number):
                    kept.put(keys[number], result)
                bar.step(submissions[number].label)
    except KeyboardInterrupt:
        raise Stopped(len(found), len(submissions), args.out) from None
    return _gathered(found, handed_in, course)


def _gathered(found, handed_in, course):
    from labs.course.grade.grades import Grades

    results = tuple(found[number] for number in sorted(found))
    titles = {lesson: course.title(lesson) for lesson in {result.lesson for result in results} - {""}}
    return Grades(handed_in.learners, results, handed_in.notes, titles)


def _owned(result, submission):
    """The result with the name of whoever handed it in; it does not matter whose it was when it was reached."""
    notes = (*submission.notes, *result.notes)
    return replace(result, learner=submission.learner, notebook=submission.label, notes=notes)


def _write(folder, grades):
    from labs.course.grade import outputs

    with _uninterrupted():
        written = outputs.write(folder, grades)
    pages = [path for name, path in written.items() if name.startswith(outputs.FEEDBACK)]
    page = pages[0] if len(pages) == 1 else written["index.html"]
    print(f"\nResults are in {folder}. Open {page} in a browser.")


@contextlib.contextmanager
def _terminated_like_interrupted():
    """A CI service that cancels a job sends SIGTERM: take it for Ctrl-C, so that nothing is left running."""

    def stop(*_):
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _uninterrupted():
    """Files that belong together are written together: an interrupt waits for the last one."""
    came = []
    try:
        before = signal.signal(signal.SIGINT, lambda *_: came.append(True))
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt
