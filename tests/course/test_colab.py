"""The lessons for Google Colab: one cell in front, which brings the course to a machine that lacks it."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path

import pytest

from labs.course import colab
from labs.course.canonical import NotebookError
from labs.course.colab_machine import in_use, requirements
from labs.course.command import main

ROOT = Path(__file__).resolve().parents[2]
LESSON = "00_welcome"


@pytest.fixture(scope="module")
def derived(tmp_path_factory):
    folder = tmp_path_factory.mktemp("colab")
    (folder / "99_gone.ipynb").write_text("{}")
    assert main(["publish", "--colab", str(folder), "--repository", "https://host/owner/name", "--ref", "v1.0"]) == 0
    return folder


def cells(path):
    return json.loads(path.read_text())["cells"]


def text(cell):
    return "".join(cell["source"])


def test_every_lesson_gets_exactly_one_cell_more(derived):
    published = sorted((ROOT / "notebooks").glob("*.ipynb"))
    assert [path.name for path in sorted(derived.iterdir())] == [path.name for path in published]
    for path in published:
        first, *rest = cells(derived / path.name)
        assert rest == cells(path)
        assert text(first) == colab.first_cell("https://host/owner/name", "v1.0")


def test_no_lesson_itself_installs_anything():
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        code = "\n".join(text(cell) for cell in cells(path) if cell["cell_type"] == "code")
        assert not re.search(r"(?m)^\s*[!%](pip|git|conda)\b|colab_machine", code), path.name


@pytest.mark.parametrize(
    ("repository", "ref"),
    [
        ("", "main"),
        ("owner/name", "main"),
        ("https://host/a; rm -rf ~", "main"),
        ("https://h/a", "-x"),
        ("https://h/a", "a b"),
    ],
)
def test_an_address_that_is_none_never_reaches_a_command(repository, ref):
    with pytest.raises(NotebookError, match="is no"):
        colab.first_cell(repository, ref)


def test_colabs_front_end_is_left_alone():
    names = {re.match(r"[\w.-]+", wanted)[0] for wanted in requirements(ROOT / "pyproject.toml")}
    assert {"torch", "greenlet", "numpy"} <= names
    assert not {"ipykernel", "ipywidgets", "jupyterlab", "nbgrader"} & names


def test_a_package_that_was_renewed_under_a_running_notebook_is_named():
    before = {"json": "1", "csv": "1", "never-imported": "1", "new": None}
    assert in_use(before, {"json": "2", "csv": "1", "never-imported": "2", "new": "1"}) == ["json"]


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """A Python with the course's packages but without the course, and a clone's address."""
    folder = tmp_path_factory.mktemp("machine")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    own = next((folder / "venv").glob("lib/python*/site-packages"))
    # A plain path: the file in there that makes this checkout importable is not followed.
    (own / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    origin = folder / "origin"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    tracked = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "labs", "pyproject.toml", "solutions"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in tracked.stdout.split():
        target = origin / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
    for command in (["init", "-q", "."], ["add", "-A"], ["commit", "-qm", "the course"]):
        subprocess.run([*git, *command], cwd=origin, check=True, stdout=subprocess.DEVNULL)
    return folder, f"file://{origin}"


def run_cells(machine, *sources):
    """Run cells in one IPython without a server, in an empty folder, and return what they print."""
    folder, _ = machine
    program = f"""
        from IPython.core.interactiveshell import InteractiveShell
        shell = InteractiveShell.instance()
        for source in {sources!r}:
            shell.run_cell(source).raise_error()
    """
    env = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    env |= {"HOME": str(folder), "LABS_STATE": str(folder / "state"), "PIP_NO_INDEX": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [folder / "venv/bin/python", "-c", textwrap.dedent(program)],
        cwd=folder, env=env, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_cell_brings_the_course_to_a_machine_that_lacks_it(machine):
    folder, address = machine
    first = colab.first_cell(address)
    [setup] = [text(c) for c in cells(ROOT / f"notebooks/{LESSON}.ipynb") if c.get("id") == "setup"]
    look = "import labs; print(labs.__file__)"
    with pytest.raises(AssertionError, match="No module named 'labs'"):
        run_cells(machine, look)
    printed = run_cells(machine, first, setup, look)
    assert "The course is here" in printed
    assert str(folder / "warp-to-cluster/labs") in printed
    # After a restart of the session nothing is fetched again, also in processes that the notebook starts.
    again = run_cells(
        machine,
        first,
        "import subprocess, sys",
        f"print(subprocess.check_output([sys.executable, '-c', {look!r}], text=True))",
    )
    assert "The course is here" not in again and str(folder / "warp-to-cluster/labs") in again
