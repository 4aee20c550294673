"""Progress: counted right, never in the way, whatever happens to the file."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import labs
from labs.kit.exercise import progress
from labs.kit.exercise.progress import Record

ROOT = str(Path(labs.__file__).parents[1])


def test_records_counts_and_keeps_the_best(state):
    assert progress.record("ring", False, 1.5, 3, "all_reduce") == 1
    assert progress.record("ring", False, 0.5, 3) == 2
    assert progress.attempts("ring") == 2 and progress.attempts("other") == 0
    assert progress.record("ring", True, 3, 3) == 2
    assert progress.record("ring", False, 0, 3) == 3
    assert progress.load()["ring"] == Record(True, failed=3, checks=4, points=3.0, of=3.0, lesson="all_reduce")
    data = json.loads((state / "progress.json").read_text())
    assert data["version"] == 1 and list(data["exercises"]) == ["ring"]


def test_load_cannot_be_changed():
    with pytest.raises(TypeError):
        progress.load()["ring"] = Record()


def test_reset_one_and_all():
    progress.record("a", True)
    progress.record("b", True)
    progress.remember("guess", 2.5)
    progress.reset("a")
    assert list(progress.load()) == ["b"] and progress.recall("guess") == 2.5
    progress.reset()
    assert not progress.load() and progress.recall("guess") is None


@pytest.mark.parametrize(
    "text",
    ["", "not json", "[]", "null", "3", '{"exercises": 3}', '{"exercises": {"ring": 3}}', "[" * 100_000, "\x00\x01"],
    ids=lambda text: text[:12] or "empty",
)
def test_a_broken_file_does_no_harm(state, text):
    state.mkdir()
    (state / "progress.json").write_text(text)
    assert progress.attempts("ring") == 0
    assert progress.record("ring", False) == 1 and progress.record("ring", False) == 2


def test_a_file_that_is_not_json_is_kept_aside(state):
    state.mkdir()
    (state / "progress.json").write_text('{"exercises": {"ring": {"solved": tru')
    progress.record("ring", False)
    assert (state / "progress.broken.json").read_text().endswith("tru")  # codespell:ignore tru


def test_fields_of_the_wrong_type_fall_back(state):
    state.mkdir()
    entry = {"solved": "yes", "failed": [], "checks": 2, "points": float("nan"), "of": 3, "lesson": None, "more": 1}
    (state / "progress.json").write_text(json.dumps({"version": 1, "exercises": {"ring": entry}}))
    assert progress.load()["ring"] == Record(checks=2, of=3.0)


def test_a_file_of_a_newer_course_is_left_alone(state):
    state.mkdir()
    text = json.dumps({"version": 2, "exercises": {"ring": {"failed": 4}}, "more": [1]})
    (state / "progress.json").write_text(text)
    assert progress.record("ring", False) == 5
    assert (state / "progress.json").read_text() == text


def test_a_folder_that_cannot_be_written(state, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LABS_STATE", str(tmp_path / "file" / "below"))
    assert progress.record("ring", False) == 1
    progress.remember("guess", 1.0)
    progress.reset()
    assert progress.recall("guess") is None and not progress.load()


def test_a_failed_write_leaves_the_old_file_and_no_litter(state, monkeypatch):
    progress.record("ring", False)

    def full(*args):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", full)
    assert progress.record("ring", False) == 2
    monkeypatch.undo()
    monkeypatch.setenv("LABS_STATE", str(state))
    assert progress.attempts("ring") == 1
    assert sorted(path.name for path in state.iterdir()) == ["progress.json", "progress.lock"]


def test_several_notebooks_at_once_lose_nothing(state):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "from labs.kit.exercise import progress;"
        "[progress.record(name, False) for _ in range(25) for name in ('shared', sys.argv[2])]"
    )
    env = {**os.environ, "LABS_STATE": str(state), "OMP_NUM_THREADS": "1"}
    many = [subprocess.Popen([sys.executable, "-c", code, ROOT, f"own{k}"], env=env) for k in range(4)]
    assert [process.wait(60) for process in many] == [0] * 4
    counts = {name: record.failed for name, record in progress.load().items()}
    assert counts == {"shared": 100, **{f"own{k}": 25 for k in range(4)}}


def test_the_folder_can_be_chosen(monkeypatch, tmp_path):
    monkeypatch.setenv("LABS_STATE", str(tmp_path / "x"))
    assert progress.folder() == tmp_path / "x"
    monkeypatch.delenv("LABS_STATE")
    assert progress.folder().name == "warp-to-cluster"


def test_who_grades_others_with_nbgrader_keeps_their_own_progress(monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert progress.record("ring", False) == 1 and progress.record("ring", True, points=3, of=3) == 0
    assert "ring" not in progress.load()
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")  # a learner's own button
    progress.record("ring", True, points=3, of=3)
    assert progress.load()["ring"].solved
