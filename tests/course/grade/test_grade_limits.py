"""Every limit is set, and whoever meets it is told so in plain words: with namespaces, and where they are refused.

A sample runs always; LABS_SOAK=1 takes all.
"""

import json
import os

import pytest
from tiny_course.attacks import merge
from tiny_course.attacks_limits import LIMITS
from tiny_course.notebooks import POINTS, learner

from labs.course.grade import jail, landlock, syscalls
from labs.course.grade.grade import grade_notebook
from labs.course.grade.kernel import Kernel
from labs.course.grade.verdict import Limits

SOAK = os.environ.get("LABS_SOAK") == "1"
SAMPLE = {
    "time_deaf",
    "memory_100gb",
    "memory_torch",
    "processes",
    "open_files",
    "one_file",
    "inodes",
    "exit",
    "killed",
}
PLAIN_SAMPLE = {"open_files", "one_file", "segfault"}
NO_NPROC = "threads"  # without namespaces, and as root, the system does not count threads


def some(sample):
    skip = pytest.mark.skip(reason="one of the limits that only LABS_SOAK=1 tries")
    return [name if SOAK or name in sample else pytest.param(name, marks=skip) for name in LIMITS]


@pytest.mark.parametrize("name", some(SAMPLE))
def test_a_limit_is_told_and_costs_one_exercise(mark, name):
    body, words = LIMITS[name]
    slow = 3 if name.startswith("time") else 40
    result = mark(learner({"sort_merge": merge(body)}), limits=Limits(cell=slow, exercise=slow, total=150))
    first, *others = result.marks
    assert words in first.question, first
    assert first.points == 0 and [other.points for other in others] == list(POINTS.values())[1:]


@pytest.mark.parametrize("name", some(PLAIN_SAMPLE))
def test_limits_without_namespaces(course, open_box, tmp_path, name):
    body, words = LIMITS[name]
    if name == NO_NPROC and "NPROC" not in open_box.spec()["limits"]:
        pytest.skip("this user's other programs would be counted, so threads are not limited here")
    path = tmp_path / "03_merging.ipynb"
    path.write_text(json.dumps(learner({"sort_merge": merge(body)})))
    slow = 3 if name.startswith("time") else 40
    result = grade_notebook(path, course, b"secret", open_box, limits=Limits(cell=slow, exercise=slow, total=150))
    first, *others = result.marks
    assert words in first.question, first
    assert first.points == 0 and [other.points for other in others] == list(POINTS.values())[1:]


def test_temporary_files_go_to_the_answers_own_folder(open_box):
    """Also when the warm server, whose memory a kernel inherits, has asked for the folder before (torch may)."""
    with Kernel(open_box) as kernel:
        reply = kernel.execute("import os, tempfile", 20, {"same": "tempfile.gettempdir() == os.environ['TMPDIR']"})
    assert reply["user_expressions"]["same"]["data"]["text/plain"] == "True"


def test_limits_are_those_of_the_process(box):
    code = "import resource as r\nfound = {n: r.getrlimit(getattr(r, 'RLIMIT_' + n)) for n in names}"
    limits = box.spec()["limits"]
    with Kernel(box) as kernel:
        reply = kernel.execute(f"names = {list(limits)}\n{code}", 20, {"found": "found"})
    found = eval(reply["user_expressions"]["found"]["data"]["text/plain"], {"__builtins__": {}})
    assert {"AS", "CPU", "FSIZE", "NOFILE", "CORE", "NPROC"} <= set(limits)
    assert all(found[name] == (number, number) for name, number in limits.items())


def test_what_is_not_promised_is_said(open_box):
    text = open_box.isolation
    assert text.startswith("not isolated: no namespaces in this test")
    assert ("read files of this machine" in text) == (landlock.version() == 0)
    assert ("use its network" in text) == (not syscalls.available())
    assert text.endswith("socket files.") or "programs of this user" in text


def test_without_landlock_that_is_said_too(monkeypatch):
    from labs.course.grade import sandbox

    assert "read files of this machine" in sandbox._told("no", True, confine=False)
    monkeypatch.setattr(syscalls, "available", lambda: False)
    assert "use its network" in sandbox._told("no", True, confine=False)


def test_a_covered_folder_cannot_be_read_through_a_shown_one(tmp_path):
    from labs.course.grade.sandbox import _readable

    for name in ("numpy", "labs/kit", "zmq"):
        (tmp_path / "packages" / name).mkdir(parents=True)
    (tmp_path / "packages/sly").symlink_to(tmp_path / "packages/labs")
    packages = str(tmp_path / "packages")
    found = _readable([packages, "/usr"], {packages + "/labs": None})
    assert set(found["readable"]) == {"/usr", packages + "/numpy", packages + "/zmq"}
    assert found["listable"] == [packages]


def test_filter_knows_its_own_machine():
    if not jail.LINUX:
        pytest.skip("system calls are filtered on Linux only")
    program = syscalls._program(*syscalls._ARCHITECTURES["x86_64"], network=False)
    # Every jump stays inside the program and the program ends by returning.
    for at, (operation, true, false, _) in enumerate(program):
        assert operation in (syscalls._LOAD, syscalls._RETURN) or at + 1 + max(true, false) < len(program)
    assert program[-1][0] == syscalls._RETURN
