"""The class hub's image, the devcontainer and Binder's environment fit the course that they bring.

No image is built here: tests/setup/hub_image.sh does the Dockerfile's steps in a bare Debian.
"""

import fnmatch
import json
import os
import re
import runpy
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STEPS = list(runpy.run_path(ROOT / "tests/setup/hub_image.py")["instructions"](ROOT / "hub/Dockerfile"))


def said(name):
    return [rest for step, rest in STEPS if step == name]


def test_every_copied_path_is_there_and_reaches_the_build():
    ignored = (ROOT / ".dockerignore").read_text().split("\n")
    let_in = [line[1:] for line in ignored if line.startswith("!")]
    assert "*" in ignored
    for rest in said("COPY"):
        for source in rest.split()[:-1]:
            assert (ROOT / source).exists(), source
            assert any(source == path or source.startswith(f"{path}/") for path in let_in), source


def test_nothing_secret_and_nothing_of_this_machine_is_built_in():
    text = (ROOT / "hub/Dockerfile").read_text()
    assert not re.search(r"(?i)secret|token|passw|seed|--mount", text)
    assert not said("ADD")
    let_in = [line[1:] for line in (ROOT / ".dockerignore").read_text().split("\n") if line.startswith("!")]
    assert not [path for path in (".git", ".venv", "build", "tests", "inbox") if fnmatch.filter(let_in, path)]


def test_learners_are_not_root_and_do_not_own_the_course():
    assert said("USER") == ["$NB_UID"] and "NB_UID=1000" in said("ARG")
    assert STEPS[-1][0] == "CMD" and "USER" in [name for name, _ in STEPS[-5:]]
    assert not [rest for rest in said("COPY") + said("RUN") if "chown" in rest]


def test_versions_are_the_locked_ones():
    [base] = said("FROM")
    assert re.fullmatch(r"python:3\.11-slim-[a-z]+", base)
    [pip] = [rest for rest in said("RUN") if "pip install" in rest]
    assert "-c requirements.txt" in pip and "-e ." in pip
    assert '"jupyterhub==$JUPYTERHUB_VERSION"' in pip
    [version] = [rest.partition("=")[2] for rest in said("ARG") if rest.startswith("JUPYTERHUB_VERSION")]
    assert re.fullmatch(r"\d+\.\d+\.\d+", version) and version in (ROOT / "hub/Dockerfile").read_text().split("FROM")[0]
    copied = next(i for i, (name, rest) in enumerate(STEPS) if name == "COPY" and "requirements.txt" in rest)
    assert copied < STEPS.index(("RUN", pip))


def test_the_start_gives_a_learner_their_own_lessons_and_never_overwrites_work(tmp_path):
    (tmp_path / "course/notebooks").mkdir(parents=True)
    for name in ("00_welcome", "01_messages"):
        (tmp_path / f"course/notebooks/{name}.ipynb").write_text(f"published {name}")
    home = tmp_path / "home of ada"
    (home / "notebooks").mkdir(parents=True)
    (home / "notebooks/01_messages.ipynb").write_text("my work")
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "LABS_COURSE": str(tmp_path / "course")}
    command = [ROOT / "hub/start.sh", "sh", "-c", 'echo "$PWD" "$1"', "-", "an argument"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == f"{home} an argument\n"
    assert (home / "notebooks/00_welcome.ipynb").read_text() == "published 00_welcome"
    assert (home / "notebooks/01_messages.ipynb").read_text() == "my work"


def test_the_devcontainer_uses_the_courses_own_commands():
    text = re.sub(r"(?m)^\s*//.*$", "", (ROOT / ".devcontainer/devcontainer.json").read_text())
    container = json.loads(text)
    verb = container["postCreateCommand"].removeprefix("make ")
    assert re.search(rf"(?m)^{verb}:", (ROOT / "Makefile").read_text())
    assert re.search(r":3\.11-", container["image"])
    assert 8888 in container["forwardPorts"]


def test_binder_finds_the_environment_and_nothing_that_comes_before_it():
    """repo2docker prefers a folder `binder`, then a Dockerfile, to environment.yml at the root."""
    assert (ROOT / "environment.yml").exists()
    for name in ("binder", ".binder", "Dockerfile", "postBuild", "runtime.txt"):
        assert not (ROOT / name).exists(), name


@pytest.mark.parametrize("name", ["fresh_machine.sh", "hub_image.sh"])
def test_a_bare_machine_is_made_or_the_reason_is_given(name, tmp_path):
    """Without debootstrap and root nothing is tried, and nothing fails."""
    for program in ("bash", "dirname", "cat", "id", "uname"):
        (tmp_path / program).symlink_to(
            next(Path(d, program) for d in os.environ["PATH"].split(":") if Path(d, program).exists())
        )
    done = subprocess.run(
        [tmp_path / "bash", ROOT / "tests/setup" / name], env={"PATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stdout.startswith("Skipped: "), done.stderr
