"""``python -m labs grade PATH...``: the command line of the grader."""

import contextlib
import os
import secrets
import sys
from pathlib import Path

from labs.course.grade.fault import CourseError, NoSandbox


def add_arguments(parser):
    """Describe the arguments to an `argparse.ArgumentParser`."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a notebook, or a folder of notebooks")
    parser.add_argument("--source", metavar="DIR", help="folder of the source notebooks (default: solutions/)")
    parser.add_argument("--json", metavar="FILE", help="also write the results as JSON")
    parser.add_argument("--junit", metavar="FILE", help="also write the results as JUnit XML")
    text = "a file whose bytes decide the secret cases (default: one that is made once for you)"
    parser.add_argument("--secret", metavar="FILE", help=text)
    text = "seconds for the cases of one exercise; half of it for a cell, ten times for a notebook (default: 60)"
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help=text)
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="notebooks graded at the same time")
    parser.add_argument("--require-full", action="store_true", help="exit with 1 unless every point was reached")
    parser.add_argument("--require-isolation", action="store_true", help="refuse to run answers unless isolated")


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
    from labs.course.grade import compiled, report, sandbox
    from labs.course.grade.course import Course
    from labs.course.grade.grade import grade_many
    from labs.course.grade.verdict import Limits

    try:
        course = Course.here(args.source)
        paths = find(args.paths, course)
        secret = read_secret(args.secret)
        if args.timeout <= 0 or args.jobs < 1:
            raise CourseError("--timeout must be above 0 and --jobs at least 1.")
        limits = Limits(cell=args.timeout / 2, exercise=args.timeout, total=10 * args.timeout)
        results = []
        compiled.prepare(course, dict.fromkeys(name for path in paths if (name := course.name_of(path))))
        isolate = True if args.require_isolation else None
        with sandbox.sandbox((course.package,), course.hidden, isolate) as box:
            with contextlib.closing(grade_many(paths, course, secret, box, limits=limits, jobs=args.jobs)) as coming:
                for result in coming:
                    results.append(result)
                    if len(paths) > 1:
                        print(f"{len(results)} of {len(paths)}: {result.notebook}", file=sys.stderr)
        print(report.table(results))
        for path, text in ((args.json, report.as_json), (args.junit, report.junit)):
            if path:
                Path(path).write_text(text(results), encoding="utf-8")
    except (CourseError, NoSandbox, OSError) as error:
        print(f"Grading did not work: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Grading was stopped.", file=sys.stderr)
        return 130
    return 1 if args.require_full and not all(result.full for result in results) else 0


def find(paths, course):
    """Return the notebooks among files and folders, sorted within a folder.

    In a folder, files whose name fits no lesson are passed over.

    Raises
    ------
    CourseError
        When a path does not exist or nothing was found.
    """
    found = []
    for path in map(Path, paths):
        if path.is_dir():
            inside = sorted(p for p in path.rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)
            found += [p for p in inside if course.name_of(p)]
        elif path.exists() or path.is_symlink():
            found.append(path)
        else:
            raise CourseError(f"{path} does not exist.")
    if not found:
        places = ", ".join(map(str, paths))
        raise CourseError(f"no notebook of a lesson in {places}. Lessons: {', '.join(course.names)}.")
    return list(dict.fromkeys(found))


def read_secret(path=None):
    """Return the bytes that decide the secret cases.

    Without a path, a file in the user's state folder is used and made when it is missing, so that grading again gives
    the same cases.
    """
    if path:
        secret = Path(path).read_bytes()
        if len(secret) < 8:
            raise CourseError(f"{path} holds {len(secret)} bytes; a secret needs at least 8, better 32.")
        return secret
    import platformdirs

    folder = Path(os.environ.get("LABS_STATE") or platformdirs.user_state_dir("warp-to-cluster"))
    place = folder / "grading-secret"
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError), open(place, "xb", opener=_private) as f:
            f.write(secrets.token_bytes(32))
    try:
        if len(secret := place.read_bytes()) >= 8:
            return secret
    except OSError:
        pass
    print(f"{place} cannot be used, so the cases are new ones each time; give --secret FILE.", file=sys.stderr)
    return secrets.token_bytes(32)


def _private(path, flags):
    return os.open(path, flags, 0o600)
