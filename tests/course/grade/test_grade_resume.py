"""A run that is interrupted and taken up again, what counts as graded already, and how far grading is."""

import argparse
import io
import json
import os
import signal

import pytest
from tiny_course.notebooks import STUBS, learner

from labs.course.grade import command, grade, sandbox, secret, store
from labs.course.grade.bar import Bar
from labs.course.grade.course import Course
from labs.course.grade.marks import Mark, Result
from labs.course.grade.verdict import Limits


class Given:
    """The sandbox of all tests, as a context manager; counts how often one was asked for."""

    def __init__(self, box):
        self.box, self.asked = box, 0

    def __call__(self, *args, **options):
        self.asked += 1
        return self

    def __enter__(self):
        return self.box

    def __exit__(self, *_):
        return None


@pytest.fixture
def run(course, box, tmp_path, monkeypatch):
    """run(*words) -> exit status, on an inbox of three learners."""
    monkeypatch.setattr(Course, "here", classmethod(lambda cls, source=None: course))
    monkeypatch.setattr(sandbox, "sandbox", given := Given(box))
    for name, answers in (("ada", {}), ("bob", {"coder": STUBS["coder"]}), ("cy", STUBS)):
        (tmp_path / "in" / name).mkdir(parents=True)
        (tmp_path / "in" / name / "03_merging.ipynb").write_text(json.dumps(learner(answers)))
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)

    def start(*words):
        words = [tmp_path / "in", "--out", tmp_path / "out", "--jobs", 1, "--seed", "first seed", *words]
        return command.main(parser.parse_args([str(word) for word in words]))

    start.out, start.given = tmp_path / "out", given
    return start


def graded(monkeypatch):
    """The notebooks that are really graded from here on, a list that fills up."""
    seen, real = [], grade.grade_as_they_come

    def counting(work, *args, **options):
        for number, result in real(work, *args, **options):
            seen.append(work[number][0].parent.name)
            yield number, result

    monkeypatch.setattr(grade, "grade_as_they_come", counting)
    return seen


def test_an_interrupted_run_goes_on_where_it_stopped(run, monkeypatch, capsys):
    real = grade.grade_as_they_come

    def interrupted(*args, **options):
        for number, result in real(*args, **options):
            yield number, result
            os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(grade, "grade_as_they_come", interrupted)
        assert run() == 130
    said = capsys.readouterr().err
    assert "1 of 3 notebooks are graded" in said and "the same command again" in said
    assert [path.name for path in run.out.iterdir()] == ["graded"]
    seen = graded(monkeypatch)
    assert run() == 0
    assert seen == ["bob", "cy"] and "1 of 3 notebooks were graded before" in capsys.readouterr().err
    data = json.loads((run.out / "results.json").read_text())
    assert [(n["learner"], n["points"]) for n in data["notebooks"]] == [("ada", 11), ("bob", 9), ("cy", 0)]


def test_only_what_is_new_is_graded(run, monkeypatch, tmp_path, capsys):
    assert run() == 0
    before, seen = (run.out / "results.json").read_text(), graded(monkeypatch)
    asked = run.given.asked
    assert run() == 0 and seen == [] and run.given.asked == asked  # not even a sandbox is started
    assert (run.out / "results.json").read_text() == before
    (tmp_path / "in/bob/03_merging.ipynb").write_text(json.dumps(learner(last="x = 1")))
    assert run() == 0 and seen == ["bob"]
    assert run("--seed", "another") == 0 and seen == ["bob", "ada", "bob", "cy"]
    assert run("--again") == 0 and len(seen) == 7
    for path in run.out.rglob("*"):
        assert path.is_dir() or "first seed" not in path.read_text()
    capsys.readouterr()


def test_a_key_holds_all_that_a_result_depends_on(course, tmp_path):
    def key(secret="s", limits=Limits(), memory=1, lesson="03_merging", body="{}", of=course):  # noqa: B008
        (tmp_path / "n.ipynb").write_text(body)
        return store.Keys(of, secret, limits, memory).key(tmp_path / "n.ipynb", lesson)

    keys = [key(), key(secret="t"), key(limits=Limits(cell=7)), key(memory=2), key(lesson=""), key(body="{ }")]
    other = Course(tmp_path / "solutions", "tiny_course")
    other.source_dir.mkdir()
    text = (course.source_dir / "03_merging.ipynb").read_text()
    (other.source_dir / "03_merging.ipynb").write_text(text.replace("Merging", "Joining"))
    keys.append(key(of=other))
    assert len(set(keys)) == len(keys) and key() == keys[0]
    assert secret.fingerprint(b"a") != secret.fingerprint(b"b") and "a" * 4 not in secret.fingerprint(b"aaaa")


def test_a_damaged_or_passing_result_is_graded_again(tmp_path):
    kept = store.Store(tmp_path)
    result = Result("x.ipynb", "03_merging", (Mark("a", "A", 1, 2, "partly"),), learner="ada")
    kept.put("good", result)
    assert kept.get("good") == Result("", "03_merging", result.marks)  # whose it was is not kept
    kept.put("passing", Result("x.ipynb", "", refused="a worker had to be stopped", passing=True))
    (tmp_path / "half.json").write_text((tmp_path / "good.json").read_text()[:50])
    (tmp_path / "list.json").write_text("[]")
    assert [kept.get(name) for name in ("passing", "half", "list", "none")] == [None] * 4


def test_a_file_is_replaced_whole(tmp_path, monkeypatch):
    store.write(tmp_path / "a" / "b.txt", "old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        store.write(tmp_path / "a" / "b.txt", "new")
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["b.txt"] and (tmp_path / "a/b.txt").read_text() == "old"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_bar_says_how_long_it_will_take():
    now, terminal = [0.0], Terminal()
    bar = Bar(10, 2, terminal, lambda: now[0])
    for _ in range(4):
        now[0] += 5
        bar.step("ada/03")
    last = terminal.getvalue().split("\r\x1b[K")[-1]
    assert last.startswith("[##############..........] 6 of 10 notebooks · ada/03 · about 20 s left")
    now[0] += 400
    bar.step("bob")
    assert "about 4 min left" in terminal.getvalue()
    bar.close()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_a_log_gets_a_line_now_and_then():
    now, log = [0.0], io.StringIO()
    bar = Bar(100, 0, log, lambda: now[0])
    for _ in range(100):
        now[0] += 1
        bar.step("x")
    bar.close()
    lines = log.getvalue().splitlines()
    assert lines == [f"{n} of 100 notebooks · x · about {100 - n} s left" for n in (30, 60, 90)]
