"""The same sandbox without root: an ordinary user in a user namespace."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest
from tiny_course import attacks
from tiny_course.attacks import merge
from tiny_course.notebooks import learner

import labs
from labs.course.grade.marks import Result

SCRIPT = Path(__file__).parent / "fixtures" / "as_user.py"
NOBODY = 65534
AS_NOBODY = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": "/", "capture_output": True, "text": True}


def python_for_nobody():
    """A Python of this version that another user may run, with the packages beside this one: command and environment.

    Returns
    -------
    tuple of str, dict or None
        When there is none, the reason and None.
    """
    packages = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    root = str(Path(labs.__file__).parent.parent)
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": os.pathsep.join([*packages, root]), "OMP_NUM_THREADS": "1"}
    code = f"import numpy, zmq, labs, sys; assert sys.version_info[:2] == {tuple(sys.version_info[:2])}"
    system = shutil.which(f"python3.{sys.version_info.minor}", path="/usr/bin")
    reasons = []
    for python in filter(None, [sys.executable, system]):
        try:
            done = subprocess.run([python, "-c", code], env=environment, **AS_NOBODY)
        except OSError as error:
            reasons.append(f"{python}: {error.strerror}")
            continue
        if done.returncode == 0:
            return python, environment
        reasons.append(f"{python}: {done.stderr.strip().splitlines()[-1]}")
    return "; ".join(reasons), None


def test_an_ordinary_user_grades_isolated(course):
    if os.geteuid() != 0:
        pytest.skip("not root: the other tests of this folder have just done this")
    python, environment = python_for_nobody()
    if environment is None:
        pytest.skip(f"no other user can run Python here: {python}")
    wish = ["unshare", "--user", "--mount", "--pid", "--net", "--fork", "--map-root-user", "true"]
    if (refused := subprocess.run(wish, **AS_NOBODY)).returncode:
        pytest.skip(f"no user namespaces on this machine: {refused.stderr.strip()}")
    names = ["", "search", "sockets", "kill_all"]
    if os.environ.get("LABS_SOAK") == "1":
        names = ["", *attacks.LOOKING, "kill_all", "fork_bomb", "loop_deaf"]
    folder = Path(tempfile.mkdtemp(prefix="labs-as-user-"))  # pytest's own folders are closed to others
    try:
        shutil.copytree(course.source_dir, folder / "solutions")
        paths = []
        for name in names:
            body = (attacks.LOOKING | attacks.HOGS).get(name)
            paths.append(folder / (name or "right") / "03_merging.ipynb")
            paths[-1].parent.mkdir()
            paths[-1].write_text(json.dumps(learner({"sort_merge": merge(body)} if body else {})))
        folder.chmod(0o755)
        command = [python, SCRIPT, folder / "solutions", *paths]
        done = subprocess.run(command, env=environment | {"HOME": str(folder)}, **AS_NOBODY, timeout=180)
        assert done.returncode == 0, done.stderr
    finally:
        shutil.rmtree(folder)
    found = json.loads(done.stdout)
    assert found["uid"] == NOBODY
    results = dict(zip(names, map(Result.from_data, found["results"]), strict=True))
    assert results[""].points == 11 and results[""].isolation == "isolated" and results[""].notes == ()
    for name in names[1:]:
        assert [mark.points for mark in results[name].marks] == [0, 2, 2, 1, 3], (name, results[name])
        if name in attacks.LOOKING and name != "escape":
            assert "found []" in results[name].marks[0].question, (name, results[name])
    running = [p.info for p in psutil.process_iter(["pid", "cmdline", "uids"]) if p.info["uids"].real == NOBODY]
    assert not running
