"""The command line: what it prints and its exit status, on a small course in a folder of its own."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

import labs
from labs.course import catalogue, command
from labs.course.lab import WELCOME, lab_command


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course of one lesson without exercises, in place of the real one."""
    (tmp_path / "solutions").mkdir()
    (tmp_path / "pyproject.toml").write_text("[tool.codespell]\n")
    box = "# 90 · Tiny\n\n> **You will build** nothing.\n> **You need** nothing · **Time** 5 minutes · **Points** 0"
    cells = [
        {"cell_type": "markdown", "id": "title", "metadata": {}, "source": box},
        {
            "cell_type": "code",
            "id": "one",
            "metadata": {},
            "source": "print(1)",
            "outputs": [],
            "execution_count": None,
        },
    ]
    text = json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells})
    (tmp_path / "solutions" / "90_tiny.ipynb").write_text(text)
    monkeypatch.setattr(catalogue, "course_root", lambda start=None: tmp_path)
    monkeypatch.setenv("LABS_STATE", str(tmp_path / "state"))
    return tmp_path


def test_publish_check_fails_until_published(course, capsys):
    assert command.main(["publish", "--check"]) == 1
    assert "notebooks/90_tiny.ipynb is missing" in capsys.readouterr().out
    assert not (course / "notebooks").exists()
    assert command.main(["publish"]) == 0
    assert command.main(["publish", "--check"]) == 0


def test_solutions_runs_once_and_then_keeps(course, capsys):
    assert command.main(["solutions", "--check"]) == 1
    assert "has not been executed" in capsys.readouterr().out
    assert command.main(["solutions", "tiny"]) == 0
    assert " s, " in capsys.readouterr().out
    assert command.main(["solutions"]) == 0
    assert "outputs kept" in capsys.readouterr().out
    assert command.main(["solutions", "--check"]) == 0


def test_lint_names_what_is_wrong(course, capsys):
    assert command.main(["lint"]) == 1
    assert "90_tiny.ipynb: no heading says 'Predict'" in capsys.readouterr().out


def test_lint_reads_links_and_spelling_too(course, capsys):
    (course / "README.md").write_text("# Tiny\n\n[gone](gone.md)\n\n### Deep\n")
    path = course / "solutions" / "90_tiny.ipynb"
    path.write_text(path.read_text().replace("nothing.", "what you recieve."))  # codespell:ignore recieve
    assert command.main(["lint"]) == 1
    out = capsys.readouterr().out
    assert "README.md, line 3: the link gone.md leads nowhere" in out
    assert "README.md, line 5: '### Deep' skips a level" in out
    assert "90_tiny.ipynb, cell 1 (title), line 3: 'recieve' is misspelt" in out  # codespell:ignore recieve


def test_lessons_are_listed(course, capsys):
    assert command.main(["lessons"]) == 0
    line = capsys.readouterr().out
    assert "90_tiny" in line and "Tiny" in line and "5 min" in line and "0 points" in line


def test_progress_is_shown_and_forgotten(course, capsys):
    from labs.kit.exercise import progress

    progress.record("something", False)
    assert command.main(["progress"]) == 0
    assert "90 · Tiny" in capsys.readouterr().out
    assert command.main(["progress", "--reset"]) == 0
    assert progress.load() == {}


def test_an_unknown_lesson_is_an_error_in_words(course, capsys):
    assert command.main(["solutions", "08_all"]) == 1
    assert "There is no lesson '08_all'. There are: 90_tiny." in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["dance"], ["publish", "--all"], ["lint", "--port=1"]])
def test_a_command_that_makes_no_sense_ends_with_status_2(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        command.main(arguments)
    assert caught.value.code == 2


def test_without_a_checkout_the_words_say_what_to_do(tmp_path):
    with pytest.raises(catalogue.NoCourse, match="clone it"):
        catalogue.course_root(tmp_path)


def test_two_lessons_of_one_number_and_bad_names_are_refused(course):
    from labs.course.canonical import NotebookError

    other = course / "solutions" / "90_other.ipynb"
    other.write_text("{}")
    with pytest.raises(NotebookError, match="same number"):
        catalogue.sources()
    other.rename(course / "solutions" / "draft.ipynb")
    with pytest.raises(NotebookError, match="NN_topic"):
        catalogue.sources()


def test_lab_allows_root_only_to_root_and_passes_arguments_on(tmp_path):
    assert "--allow-root" in lab_command(tmp_path, administrator=True)
    assert "--allow-root" not in lab_command(tmp_path, administrator=False)
    assert lab_command(tmp_path, ["--no-browser"])[-1] == "--no-browser"
    assert [part for part in lab_command(tmp_path, ["--ServerApp.root_dir=x"]) if "root_dir" in part] == [
        "--ServerApp.root_dir=x"
    ]
    assert not any("default_url" in part for part in lab_command(tmp_path))
    (tmp_path / "notebooks").mkdir()
    (tmp_path / WELCOME).write_text("{}")
    assert f"--LabApp.default_url=/lab/tree/{WELCOME}" in lab_command(tmp_path)


def test_jupyterlab_starts_with_the_learners_settings(tmp_path):
    """A real server, no browser: its settings and page say what a learner will see."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = ["--no-browser", "--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0",
                 "--IdentityProvider.token=secret", f"--ServerApp.root_dir={tmp_path}"]  # fmt: skip
    own = {name: str(tmp_path / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")}
    path = os.pathsep.join([str(Path(labs.__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
    log = (tmp_path / "log").open("w")
    server = subprocess.Popen([sys.executable, "-m", "labs", "lab", *arguments], stdout=log, stderr=log,
                              env={**os.environ, **own, "PYTHONPATH": path})  # fmt: skip

    def get(address):
        request = urllib.request.Request(f"http://127.0.0.1:{port}{address}", headers={"Authorization": "token secret"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read().decode()

    try:
        end = time.monotonic() + 60
        while True:
            try:
                get("/api/status")
                break
            except OSError:
                assert server.poll() is None and time.monotonic() < end, (tmp_path / "log").read_text()
                time.sleep(0.1)
        settings = {entry["id"]: entry for entry in json.loads(get("/lab/api/settings"))["settings"]}

        def default(plugin, name):
            return settings[plugin]["schema"]["properties"][name]["default"]

        assert default("@jupyterlab/notebook-extension:tracker", "codeCellConfig")["lineNumbers"] is True
        assert default("@jupyterlab/apputils-extension:notification", "fetchNews") == "false"
        assert default("@jupyterlab/apputils-extension:notification", "checkForUpdates") is False
        assert default("@jupyterlab/docmanager-extension:plugin", "autosave") is True
        page = get("/lab")
        start = page.index('id="jupyter-config-data"')
        page = json.loads(page[page.index("{", start) : page.index("</script>", start)])
        assert page["news"] == {"disabled": True}
        hidden = {name for name in page["disabledExtensions"] if "nbgrader" in name}
        assert "@jupyter/nbgrader:create-assignment" in hidden and "@jupyter/nbgrader:formgrader" in hidden
        assert "@jupyter/nbgrader:validate-assignment" not in hidden
        assert "@jupyter/nbgrader" in {extension["name"] for extension in page["federated_extensions"]}
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(20)
        log.close()
