"""One sandbox for all tests of the grader, and `mark`, which grades a notebook and looks at what it leaves behind."""

import contextlib
import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

FIXTURES = str(Path(__file__).parent / "fixtures")
if FIXTURES not in sys.path:
    sys.path.insert(0, FIXTURES)

from labs.course.grade import library  # noqa: E402
from labs.course.grade.course import Course  # noqa: E402
from labs.course.grade.grade import grade_notebook  # noqa: E402
from labs.course.grade.sandbox import sandbox  # noqa: E402
from labs.course.grade.verdict import Limits  # noqa: E402

SECRET = b"only the grader knows this"
QUICK = Limits(cell=2, exercise=3, total=60, verify=1)


@pytest.fixture(scope="session")
def course(tmp_path_factory):
    """The tiny course."""
    from tiny_course import notebooks

    root = tmp_path_factory.mktemp("course")
    notebooks.write_source(root / "solutions")
    return Course(root / "solutions", "tiny_course")


@functools.cache
def namespaces_are_refused():
    """What another program says to the same wish; empty when it gets what it wants."""
    wish = ["unshare", "--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "--mount-proc"]
    wish += [] if os.geteuid() == 0 else ["--map-root-user"]
    try:
        done = subprocess.run([*wish, "true"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stderr.strip() if done.returncode else ""


@pytest.fixture(scope="session")
def box(course):
    """A sandbox with namespaces; tests that need one are skipped with the reason where there is none."""
    if reason := namespaces_are_refused():
        pytest.skip(f"no namespaces on this machine: {reason}")
    with sandbox(("tiny_course",), course.hidden, isolate=True) as made:
        yield made


REFUSE = """
def _isolated(spec, alive, start):
    raise OSError("no namespaces in this test")
"""


@pytest.fixture(scope="session")
def open_box(course):
    """What `sandbox` makes where the system refuses namespaces."""
    real = library.build

    def build(folder, *packages):
        real(folder, *packages)
        with open(folder / "labs_sandbox/jail.py", "a") as f:
            f.write(REFUSE)

    with contextlib.ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(library, "build", build)
            made = stack.enter_context(sandbox(("tiny_course",), course.hidden))
        yield made


def left_behind(box):
    """Processes of learners, and folders of this process's jails."""
    uids = {box.first_uid} if os.geteuid() == 0 else set()
    everyone = [p.info for p in psutil.process_iter(["pid", "name", "uids"]) if p.info["uids"]]
    running = [info for info in everyone if info["uids"].real in uids]
    return running, sorted(Path(tempfile.gettempdir()).glob(f"labs-jail-{os.getpid()}-*"))


@pytest.fixture
def mark(course, box, tmp_path):
    """mark(notebook) -> Result. Afterwards nothing of it may be alive, and the grader must not have grown."""
    before = psutil.Process().memory_info().rss

    def run(submitted, *, where=box, limits=QUICK):
        path = submitted
        if not isinstance(submitted, Path):
            path = tmp_path / "03_merging.ipynb"
            path.write_bytes(submitted if isinstance(submitted, bytes) else json.dumps(submitted).encode())
        result = grade_notebook(path, course, SECRET, where, limits=limits)
        print(result)
        assert (psutil.Process().memory_info().rss - before) >> 20 < 600
        return result

    yield run
    assert left_behind(box) == ([], [])
