"""The CI workflows do what they promise: every command in them is run here, on one lesson."""

import csv
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from labs.course import colab
from labs.course.catalogue import lessons

ROOT = Path(__file__).resolve().parents[2]
FORK = ROOT / ".github/workflows/grade.yml"
CI = ROOT / ".github/workflows/ci.yml"
SITE = ROOT / ".github/workflows/site.yml"
CLASS = ROOT / "ci/class-repository/.github/workflows/grade.yml"
WORKFLOWS = [FORK, CI, SITE, CLASS]
LESSON = "00_welcome"
POINTS = lessons(ROOT, [LESSON])[0].points
SEED = "a seed of the class that nobody else knows"


def load(path):
    workflow = yaml.safe_load(path.read_text())
    workflow["on"] = workflow.pop(True)  # YAML 1.1 reads the key `on` as true
    return workflow


def jobs(path):
    return load(path)["jobs"]


def steps(path, key):
    return [step for job in jobs(path).values() for step in job["steps"] if key in step]


def names(path):
    return f"{path.parents[2].name}-{path.stem}"


# ---- what they say -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("path", WORKFLOWS, ids=names)
def test_a_workflow_takes_no_more_rights_and_time_than_it_needs(path):
    workflow = load(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert "concurrency" in workflow
    assert all(0 < job["timeout-minutes"] <= 360 for job in workflow["jobs"].values())
    assert not {"pull_request_target", "workflow_run", "issue_comment"} & set(workflow["on"])
    extra = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
    wanted = {"pages": {"pages": "write", "id-token": "write"}, "colab": {"contents": "write"}}
    assert extra == (wanted if path == SITE else {})


@pytest.mark.parametrize("path", WORKFLOWS, ids=names)
def test_actions_are_the_platforms_own_and_pinned(path):
    for step in steps(path, "uses"):
        assert re.fullmatch(r"actions/[a-z-]+(/[a-z-]+)?@v\d+", step["uses"])
        if step["uses"].startswith("actions/checkout") and step not in jobs(SITE).get("colab", {}).get("steps", []):
            assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("path", WORKFLOWS, ids=names)
def test_commands_are_the_projects_own_and_hold_no_expression(path):
    """An expression inside a command is how a branch's name becomes a program."""
    targets = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text()))
    for step in steps(path, "run"):
        assert "${{" not in step["run"]
        for line in step["run"].strip().splitlines():
            words = line.removeprefix("sudo ").split()
            if words[0] == "make":
                assert words[1] in targets
            else:
                program = ROOT / words[0].removeprefix("course/")
                assert program.parent.name in ("ci", ".ci") and os.access(program, os.X_OK), line


def test_the_courses_own_repository_does_not_grade_itself():
    condition = jobs(FORK)["grade"]["if"]
    assert "github.event.repository.fork" in condition and "vars.LABS_GRADE == 'yes'" in condition
    assert load(FORK)["on"]["push"] == {"paths": ["notebooks/**"]}


def test_the_seed_reaches_only_the_grading_step():
    text = CLASS.read_text()
    assert text.count("secrets.") == 1
    [step] = [step for step in steps(CLASS, "run") if "secrets." in json.dumps(step)]
    assert step["env"] == {"LABS_SEED": "${{ secrets.LABS_SEED }}"} and "grade.sh" in step["run"]
    assert set(load(CLASS)["on"]) == {"push", "workflow_dispatch"}


def test_gitlab_runs_the_same_command():
    script = yaml.safe_load((CLASS.parents[2] / ".gitlab-ci.yml").read_text())["grade"]["script"]
    [ours] = [step["run"] for step in steps(CLASS, "run") if "grade.sh" in step["run"]]
    assert script[-1] == ours.replace("class/", "")


# ---- what they do --------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """The course with one lesson, in a folder of its own."""
    folder = tmp_path_factory.mktemp("workspace") / "course"
    for part in ("labs", "ci", ".ci"):
        shutil.copytree(ROOT / part, folder / part)
    for part in ("Makefile", "pyproject.toml", "requirements.txt"):
        shutil.copy(ROOT / part, folder)
    for part in ("solutions", "notebooks"):
        (folder / part).mkdir()
        shutil.copy(ROOT / part / f"{LESSON}.ipynb", folder / part)
    return folder


def environment(course, folder, **more):
    """What a runner sets; the packages of this environment take the place of an installation (LABS_PYTHON)."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    return kept | {
        "CI": "true",
        "GITHUB_STEP_SUMMARY": str(folder / "step_summary.md"),
        "GITHUB_OUTPUT": str(folder / "output"),
        "LABS_PYTHON": sys.executable,
        "LABS_STATE": str(folder / "state"),
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(course),
    } | more  # fmt: skip


def run_job(path, job, workspace, env, known=None):
    """Run the commands of a job as a runner does, and return what they print."""
    printed = ""
    for step in jobs(path)[job]["steps"]:
        if "run" not in step:
            continue
        own = {name: (known or {}).get(str(value), str(value)) for name, value in step.get("env", {}).items()}
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(
            command, cwd=workspace, env=env | own, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL
        )
        printed += done.stdout + done.stderr
        if "isolat" in done.stderr and "--require-isolation" in step["run"] and done.returncode == 2:
            pytest.skip(f"this system cannot isolate answers: {done.stderr.strip().splitlines()[-1]}")
        assert done.returncode == 0, f"{step['run']}\n{done.stdout}\n{done.stderr}"
    return printed


def test_a_fork_shows_the_learners_points_and_leaves_feedback(course, tmp_path):
    mine = course / "notebooks" / f"{LESSON}.ipynb"
    untouched = mine.read_bytes()
    notebook = json.loads((ROOT / "solutions" / mine.name).read_text())
    # As Colab saves it: the cell that brings the course there is one more, and does nothing where the course is.
    first = {"cell_type": "code", "execution_count": None, "id": "colab", "metadata": {}, "outputs": []}
    notebook["cells"].insert(0, first | {"source": colab.first_cell("https://host/owner/name")})
    mine.write_text(json.dumps(notebook))
    run_job(FORK, "grade", course, environment(course, tmp_path))
    mine.write_bytes(untouched)
    summary = (tmp_path / "step_summary.md").read_text()
    assert f"{POINTS:g} of {POINTS:g}" in summary
    [upload] = [step for step in steps(FORK, "uses") if "upload-artifact" in step["uses"]]
    left = course / upload["with"]["path"]
    assert list(left.glob("feedback/*.html")) and (left / "results.json").exists()


def test_a_class_is_graded_with_its_seed_and_taken_up_again(course, tmp_path):
    workspace = course.parent
    shutil.copytree(CLASS.parents[2], workspace / "class")
    for learner, source in (("ada", "solutions"), ("bob", "notebooks")):
        (workspace / "class/submissions" / learner).mkdir()
        shutil.copy(ROOT / source / f"{LESSON}.ipynb", workspace / "class/submissions" / learner)
    env = environment(course, tmp_path)
    printed = run_job(CLASS, "grade", workspace, env, {"${{ secrets.LABS_SEED }}": SEED})
    saved = workspace / next(s["with"]["path"] for s in steps(CLASS, "uses") if "cache/save" in s["uses"])
    with (saved / "gradebook.csv").open(newline="") as table:
        learners = {row[0] for row in csv.reader(table) if row}
    summary = (tmp_path / "step_summary.md").read_text()
    by_name = {line.split("|")[1].strip(): line for line in summary.splitlines() if line.count("|") > 2}
    assert re.search(rf"\b{POINTS:g}\b", by_name["ada"]), summary
    assert not re.search(rf"\b{POINTS:g}\b", by_name["bob"].replace(f"of {POINTS:g}", "")), summary
    assert {"ada", "bob"} <= learners
    assert not [path for path in saved.rglob("*") if path.is_file() and SEED.encode() in path.read_bytes()]
    assert SEED not in printed + summary

    results = json.loads((saved / "results.json").read_text())
    again = run_job(CLASS, "grade", workspace, env, {"${{ secrets.LABS_SEED }}": SEED})
    assert "2 of 2 notebooks were graded before" in again
    assert json.loads((saved / "results.json").read_text()) == results


def test_without_a_seed_a_class_is_not_graded(tmp_path):
    (tmp_path / "submissions").mkdir()
    env = environment(ROOT, tmp_path)
    done = subprocess.run(
        [ROOT / "ci/grade.sh", "submissions", "grades"], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "LABS_SEED is empty" in done.stderr and "New repository secret" in done.stderr
    usage = subprocess.run([ROOT / "ci/grade.sh"], env=env, capture_output=True, text=True)
    assert usage.returncode == 2 and "SUBMISSIONS OUT" in usage.stderr


@pytest.fixture
def recorded_make(tmp_path):
    """A `make` and a `sudo` that write down what they are asked for."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (("make", f'echo "$@" >>"{tmp_path}/asked"'), ("sudo", '"$@"')):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def test_the_courses_ci_runs_every_check(tmp_path, recorded_make):
    run_job(CI, "test", ROOT, environment(ROOT, tmp_path, **recorded_make))
    assert (tmp_path / "asked").read_text().split("\n")[:2] == ["system", "test"]


def test_the_book_and_the_lessons_for_colab_are_published(course, tmp_path, recorded_make):
    run_job(SITE, "build", ROOT, environment(ROOT, tmp_path, **recorded_make))
    assert (tmp_path / "asked").read_text() == "book\n"
    git = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    env = environment(course, tmp_path, LABS_REPOSITORY="https://host/owner/name", LABS_REF="main", **git)

    def run(*command):
        done = subprocess.run(command, cwd=course, env=env, capture_output=True, text=True, check=True)
        return done.stdout

    run("git", "init", "-q", "-b", "main", ".")
    run("git", "add", "-A")
    run("git", "commit", "-qm", "a course")
    run("git", "init", "-q", "--bare", tmp_path / "origin.git")
    run("git", "remote", "add", "origin", tmp_path / "origin.git")
    for _ in range(2):  # the second time over the first
        run_job(SITE, "colab", course, env)
    assert run("git", "ls-remote", "--heads", "origin").split()[1::2] == ["refs/heads/colab"]
    run("git", "fetch", "-q", "origin", "colab")
    assert run("git", "ls-tree", "-r", "--name-only", "FETCH_HEAD").split() == [f"{LESSON}.ipynb"]
    assert run("git", "rev-list", "--count", "FETCH_HEAD").strip() == "1"
    assert run("git", "status", "--porcelain", "--untracked-files=no") == ""


def test_scripts_are_executable_and_strict():
    for path in (ROOT / "ci").glob("*.sh"):
        assert path.stat().st_mode & stat.S_IXUSR, path.name
        assert "set -euo pipefail" in path.read_text(), path.name
