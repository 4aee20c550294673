"""The grader's parts: what the sandbox holds, what is shown to it, workers and kernels that end, real lessons' form."""

import json
import os
import re
import signal
import time
from dataclasses import replace
from pathlib import Path

import nbformat
import psutil
import pytest
from tiny_course.notebooks import learner, source

import labs
from labs.course.grade import grade, library, notebook, sandbox
from labs.course.grade.fault import NoSandbox
from labs.course.grade.grade import grade_many
from labs.course.grade.kernel import Kernel, KernelLost
from labs.course.grade.verdict import Limits, _TooLong, alarm, tidy


# ---- the copy of the course ------------------------------------------------------------------------------------------
def test_library_holds_the_kit_and_no_exercises(tmp_path):
    replaced = library.build(tmp_path, ("tiny_course",))
    assert set(replaced) == {"tiny_course/merging/exercises.py", "tiny_course/merging/reference.py"}
    kit = Path(labs.__file__).parent / "kit"
    for path in kit.rglob("*.py"):
        assert (tmp_path / "labs/kit" / path.relative_to(kit)).read_bytes() == path.read_bytes()
    copied = [path for path in tmp_path.rglob("*.py") if "kit" not in path.parts]
    assert not [path for path in copied if "Wrong(" in path.read_text() or "def merge(" in path.read_text()]
    assert {path.name for path in (tmp_path / "labs").iterdir()} == {"__init__.py", "kit", "course"}


def test_library_of_the_course_itself_holds_no_verdicts(tmp_path):
    library.build(tmp_path)
    lessons = [path for path in tmp_path.rglob("*.py") if "kit" not in path.parts]
    telling = re.compile(r"^(from labs.kit.exercise import .*\b(Case|Wrong)\b|def verify)|\bExercise\(|\bWrong\(", re.M)
    assert not [path for path in lessons if telling.search(path.read_text())]
    assert not list(tmp_path.rglob("*.ipynb"))
    assert [path.name for path in (tmp_path / "labs/course").iterdir()] == ["__init__.py"]


def test_stub_does_nothing_with_whatever_is_asked():
    from labs.course.grade import stub

    nothing = stub.anything(1, x=2).deeper
    assert isinstance(nothing, stub.Nothing) and nothing() is not None
    with pytest.raises(AttributeError):
        nothing._ipython_display_()


# ---- what a jail shows -----------------------------------------------------------------------------------------------
def test_a_checkout_below_a_shown_folder_is_covered_but_its_python_is_not():
    box = sandbox.Sandbox("", "/library", True, "isolated", ("/usr/src/course", "/usr/src/course/tests", "/srv/course"))
    shown = ["/usr", "/usr/src/course/.venv", "/library"]
    covers = box._covers(shown)
    assert covers["/usr/src/course"] is None
    assert "/srv/course" not in covers and "/usr/src/course/.venv" not in covers


def test_an_installed_course_is_replaced_by_its_copy(monkeypatch):
    installed = "/usr/lib/python3/site-packages/labs"
    monkeypatch.setattr(library, "package_folder", lambda name: Path(installed))
    box = sandbox.Sandbox("", "/library", True, "isolated")
    assert box._covers(["/usr", "/library"]) == {installed: "/library/labs"}


def test_inside_the_checkout_is_absent_and_the_course_is_read_only(box):
    checkout = Path(labs.__file__).resolve().parent.parent
    code = (
        "import labs, labs.kit.exercise, os, sys\n"
        f"seen = [n for n in ('labs', 'solutions', 'tests', '.git') if os.path.exists({str(checkout)!r} + '/' + n)]\n"
        "try:\n    open(labs.__path__[0] + '/kit/x.py', 'w')\nexcept OSError as error:\n    written = error.strerror\n"
    )
    with Kernel(box) as k:
        reply = k.execute(code, 20, {"all": "(seen, written, os.getuid(), 'torch' in sys.modules)"})
    text = reply["user_expressions"]["all"]["data"]["text/plain"]
    seen, written, uid, warm = eval(text, {"__builtins__": {}})
    assert seen == [] and written in ("Read-only file system", "Permission denied")
    assert uid == (box.first_uid if os.geteuid() == 0 else os.geteuid())
    assert warm, "the warm server has not imported torch"


# ---- kernels and workers that end ------------------------------------------------------------------------------------
def test_a_kernel_ends_with_its_grader(box):
    child = os.fork()
    if not child:
        k = Kernel(box, slot=7)
        k.client.execute("import os\nos.fork()\nwhile True: pass")
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    until = time.monotonic() + 20
    while True:
        everyone = [p.info for p in psutil.process_iter(["name", "uids"]) if p.info["uids"]]
        if not (left := [info for info in everyone if info["uids"].real == box.first_uid + 7]):
            break
        assert time.monotonic() < until, left
        time.sleep(0.1)
    for folder in Path(os.environ.get("TMPDIR", "/tmp")).glob(f"labs-jail-{child}-*"):
        folder.rmdir()  # a killed process cannot tidy up; what is left is an empty folder


@pytest.mark.parametrize("name", ["fails", "hangs", "dies"])
def test_a_fault_of_a_worker_costs_one_notebook(course, box, tmp_path, monkeypatch, name):
    real = grade.grade_notebook

    def faulty(path, *args, **kwargs):
        if "bad" not in str(path):
            return real(path, *args, **kwargs)
        if name == "fails":
            raise RuntimeError("on purpose")
        if name == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(1000)

    monkeypatch.setattr(grade, "grade_notebook", faulty)
    paths = [tmp_path / who / "03_merging.ipynb" for who in ("bad", "good")]
    for path in paths:
        path.parent.mkdir()
        path.write_text(json.dumps(learner()))
    limits = Limits(cell=5, exercise=10, total=20, grace=-18) if name == "hangs" else Limits()
    bad, good = grade_many(paths, course, b"secret", box, limits=limits)
    assert bad.refused and bad.points == 0 and bad.of == good.of
    assert ("on purpose" in bad.refused) == (name == "fails")
    assert name == "hangs" or good.full


def test_a_busy_machine_does_not_cost_the_isolation(box, monkeypatch):
    monkeypatch.setattr(Kernel.__init__, "__defaults__", (0, -1.0))
    with pytest.raises(NoSandbox, match="did not start in time"):
        sandbox._choose(box.address, box.library, (), None)


def test_no_warm_server_is_said(box):
    with pytest.raises(KernelLost, match="has gone"):
        Kernel(replace(box, address=box.address + "-not"))


@pytest.mark.parametrize("said", [b"init 7\nready\n", b"ready\ninit 7\n"])
def test_a_jail_may_be_ready_before_its_monitor_has_said_which_process_it_is(said):
    """On a busy machine it sometimes is; a notebook then said "a kernel could not be started: ready"."""
    kernel = Kernel.__new__(Kernel)
    kernel.buffer = said
    assert kernel._started() == 7


def test_alarm_interrupts_and_leaves_nothing_behind():
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(_TooLong) as caught, alarm(0.1):
        while True:
            pass
    assert not isinstance(caught.value, Exception)
    assert signal.getsignal(signal.SIGALRM) is before and signal.getitimer(signal.ITIMER_REAL)[0] == 0


# ---- reading ---------------------------------------------------------------------------------------------------------
def test_plan_of_the_source_itself_changes_nothing():
    locks, shows = notebook.locked(source()), notebook.shown(source())
    assert len(shows) == 1 and len(locks) == 1 + len([n for n in locks if n.startswith("check-")])
    cells = [notebook._cell(cell) for cell in json.loads(nbformat.writes(source()))["cells"]]
    plan = notebook.plan(cells, locks, shows)
    assert plan.notes == ()
    assert [step for step in plan.steps if isinstance(step, notebook.Check)] == list(locks.values())[1:]


def test_a_locked_cell_that_only_shows_is_not_run_either():
    course = source()
    course.cells[2].metadata["nbgrader"] = {"grade_id": "show", "locked": True}
    locks, shows = notebook.locked(course), notebook.shown(course)
    assert "show" not in locks
    cell = notebook.Cell(course.cells[2].source + "\n", "show")
    assert cell not in notebook.plan([cell], locks, shows).steps


def test_a_check_cell_of_the_course_must_be_one_call():
    bad = source()
    bad.cells[4].source = "exercises.sort_merge(lambda a, b: a)"
    with pytest.raises(ValueError, match="check-sort_merge must hold one call"):
        notebook.locked(bad)


def test_tidy_makes_one_printable_line():
    assert tidy("a\x1b[31m\nb" + "x" * 1000, 20) == "a [31m b" + "x" * 10 + " …"


def test_memory_is_a_limit_of_the_jail_and_of_each_process(box):
    spec = replace(box, memory=2 << 30).spec()
    assert (spec["memory"], spec["limits"]["AS"]) == (2 << 30, 2 << 30)
    with pytest.raises(NoSandbox, match="5 MB are too little"), sandbox.sandbox(memory=5 << 20):
        pass
