"""The command line of the course: `python -m labs VERB`."""

from __future__ import annotations

import argparse
import os
import sys

from labs.course import catalogue
from labs.course.canonical import NotebookError

SLOW = 60  # s; a lesson may take this long on two cores


def main(arguments=None):
    """Run one verb.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command line; that of the process by default.

    Returns
    -------
    int
        Exit status: 0 when all is well, 1 when something has to be done, 2 for a command that makes no sense.
    """
    parser = _parser()
    options, rest = parser.parse_known_args(arguments)
    if rest and options.verb != "lab":  # JupyterLab has options of its own
        parser.error(f"unknown argument: {' '.join(rest)}")
    if options.verb == "lab":
        options.arguments = rest
    try:
        return options.run(options) or 0
    except (NotebookError, catalogue.NoCourse) as error:
        print(error, file=sys.stderr)
        return 1
    except BrokenPipeError:  # `... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _parser():
    parser = argparse.ArgumentParser(prog="python -m labs", description="Warp to Cluster, from the command line.")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

    def add(name, run, text):
        verb = verbs.add_parser(name, help=text, description=text)
        verb.set_defaults(run=run)
        return verb

    add("lab", _lab, "Open JupyterLab at the welcome notebook; further arguments go to JupyterLab.")
    verb = add("doctor", _doctor, "Say what this machine offers the course, and what to do about known traps.")
    verb.add_argument("--verbose", action="store_true", help="let two real ranks try, and show notes and all details")
    verb = add("progress", _progress, "Show what you have solved.")
    verb.add_argument("--reset", action="store_true", help="forget all attempts and points")
    add("lessons", _lessons, "List the lessons.")
    verb = add("grade", _grade, "Grade learners' notebooks.")
    _add_grade_arguments(verb)
    verb = add("publish", _publish, "Write notebooks/ from solutions/.")
    verb.add_argument("--check", action="store_true", help="write nothing, fail when the two differ")
    verb.add_argument("--colab", metavar="DIR", help="write the lessons for Google Colab there instead")
    verb.add_argument("--repository", metavar="URL", default="", help="with --colab: where the course is cloned from")
    verb.add_argument("--ref", default="main", help="with --colab: its branch or tag (default: main)")
    verb = add("solutions", _solutions, "Execute changed lessons and store their outputs.")
    verb.add_argument("names", nargs="*", metavar="NAME", help="for example 08_all_reduce; every lesson by default")
    verb.add_argument("--all", action="store_true", help="also those that have not changed")
    verb.add_argument("--check", action="store_true", help="execute nothing, fail when outputs are missing or stale")
    verb = add("nbgrader", _nbgrader, "Write a course folder for nbgrader's own tools.")
    verb.add_argument("folder", metavar="DIR", help="for example class")
    verb.add_argument("names", nargs="*", metavar="NAME", help="for example 08_all_reduce; every lesson by default")
    verb = add("lint", _lint, "Check the lessons against the rules of the course.")
    verb.add_argument("names", nargs="*", metavar="NAME")
    return parser


def _lab(options):
    from labs.course.lab import start

    return start(catalogue.course_root(), options.arguments)


def _doctor(options):
    from labs.course.doctor import doctor

    found = doctor(ranks=options.verbose)
    encoding = sys.stdout.encoding or "utf-8"  # a terminal without UTF-8 is one of the traps, and must hear of it
    print(found.text(verbose=options.verbose).encode(encoding, "replace").decode(encoding))
    return 0 if found.ready else 1


def _progress(options):
    from labs.course import overview

    if options.reset:
        overview.reset()
        print("Your attempts and points are forgotten.")
        return
    print(overview.progress())


def _lessons(options):
    for lesson in catalogue.lessons():
        minutes = f"{lesson.minutes} min" if lesson.minutes else ""
        print(f"{lesson.name:<28} {lesson.title:<36} {minutes:>7} {lesson.points:>4g} points")
        for exercise in lesson.exercises:
            extra = "" if exercise.core else " (extension)"
            print(f"    {exercise.id:<24} {exercise.title + extra:<44} {exercise.points:>4g}")


def _publish(options):
    from labs.course import colab, publish

    root = catalogue.course_root()
    if options.colab:
        names = colab.write_all(root, options.colab, options.repository, options.ref)
        print(f"{len(names)} lessons for Colab in {options.colab}.")
        return
    if not options.check:
        written = publish.write_all(root)
        print("\n".join(f"notebooks/{name}" for name in written) or "notebooks/ is up to date.")
        return
    changed = publish.drift(root)
    for name, text in changed.items():
        print(publish.describe_drift(root, name, text))
    if changed:
        print("Run: python -m labs publish")
    return 1 if changed else 0


def _solutions(options):
    from labs.course import execute

    root, failed = catalogue.course_root(), False
    for path in catalogue.sources(names=options.names):
        if options.check:
            faults = execute.check_stored(path, root)
            print("\n".join(faults) or f"{path.name}: outputs are up to date")
            failed |= bool(faults)
            continue
        try:
            if not options.all and execute.keep(path, root):
                print(f"{path.name}: code unchanged, outputs kept")
                continue
            done = execute.store(path, root)
        except NotebookError as error:
            print(error)
            failed = True
            continue
        slow = f", more than the {SLOW} s a lesson may take" if done.seconds > SLOW else ""
        same = "" if done.changed else ", the same as before"
        print(f"{done.name}: {done.seconds:.1f} s{slow}, {done.size / 1000:.0f} kB{same}", flush=True)
    return 1 if failed else 0


def _nbgrader(options):
    from labs.course.nbgrader import write_course

    written = write_course(options.folder, options.names)
    print(f"{options.folder}: {', '.join(written)}\nNext, there: nbgrader generate_assignment {written[0]}")


def _lint(options):
    from labs.course import lint

    root = catalogue.course_root()
    paths = catalogue.sources(names=options.names)
    faults = [fault for path in paths for fault in lint.check_lesson(path)]
    faults += lint.check_course(catalogue.lessons()) + lint.check_links(root) + lint.check_pages(root)
    if lint.can_check_spelling():
        faults += lint.check_spelling(paths, root / "pyproject.toml")
    else:
        print(lint.NOT_INSTALLED, file=sys.stderr)
    print("\n".join(faults) or f"{len(paths)} lessons keep the rules.")
    return 1 if faults else 0


def _add_grade_arguments(parser):
    """The grader describes its own arguments; without it the other verbs still work."""
    try:
        from labs.course.grade import command
    except ImportError:
        return
    command.add_arguments(parser)


def _grade(options):
    from labs.course.grade import command

    return command.main(options)


if __name__ == "__main__":
    raise SystemExit(main())
