"""The command line and the three forms of its results."""

import argparse
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from tiny_course.notebooks import STUBS, learner

from labs.course.grade import command, junit, report, sandbox, secret
from labs.course.grade.course import Course
from labs.course.grade.fault import CourseError
from labs.course.grade.grades import Grades
from labs.course.grade.learners import Learner
from labs.course.grade.marks import Mark, Result

HERE = Path(__file__).parent


def result(**more):
    marks = (
        Mark("ring", "A ring", 3, 3, "solved"),
        Mark("mesh", "A mesh", 1.5, 3, "partly", "bytes", "Why \x1b[31m<twice> & again?", "a \x00 case"),
        Mark("tree", "A tree", 0, 2, "unsolved", "unsolved", "This one is not solved yet."),
        Mark("loop", "A loop", 0, 1, "lost", "timeout", "Does it end?", "any"),
    )
    return Result(
        **{"notebook": "ada/08_x.ipynb", "lesson": "08_x", "learner": "ada", "marks": marks, "seconds": 1.0} | more
    )


def grades(*results):
    return Grades((Learner("ada", "ada", "ada"),), tuple(results))


def test_table_has_a_line_for_each_exercise_and_the_isolation_in_words():
    text = report.table(grades(result(isolation="not isolated: no."), result(refused="x was not graded: broken")))
    lines = text.splitlines()
    assert lines[0] == "ada/08_x.ipynb: 4.5 of 9 points (1.0 s)"
    assert lines[1].split() == ["✔", "ring", "3", "of", "3"]
    assert "[bytes]" in lines[2] and "not solved yet" in lines[3].lower() and "Does it end?" in lines[4]
    assert "x was not graded: broken" in text and text.endswith("not isolated: no.")


def test_json_holds_everything():
    data = json.loads(report.as_json(grades(result(notes=("one",)))))
    assert (data["points"], data["of"]) == (4.5, 9)
    assert Result.from_data(data["notebooks"][0]) == result(notes=("one",))


def test_junit_counts_and_survives_any_character():
    root = ET.fromstring(junit.junit([result(notes=("note \x07\ud800",)), result(refused="broken")]))
    assert root.tag == "testsuites"
    suite, broken = root
    assert {k: suite.get(k) for k in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4", "failures": "1", "errors": "1", "skipped": "1"}  # fmt: skip
    assert {k: root.get(k) for k in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5", "failures": "1", "errors": "2", "skipped": "1"}  # fmt: skip
    allowed = {"testcase": {"classname", "name", "time"}, "failure": {"type", "message"}, "skipped": {"message"},
               "error": {"type", "message"}, "property": {"name", "value"}, "properties": set(), "system-out": set(),
               "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"}}  # fmt: skip
    for element in list(root.iter())[1:]:
        assert set(element.attrib) <= allowed[element.tag]
    assert [e.tag for e in suite] == ["properties", *["testcase"] * 4, "system-out"]
    assert broken.find("testcase/error").get("message") == "broken"


def parse(*words):
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return parser.parse_args([str(word) for word in words])


def test_the_command_grades_a_folder_and_writes_files(course, box, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Course, "here", classmethod(lambda cls, source=None: course))
    monkeypatch.setenv("LABS_STATE", str(tmp_path / "state"))
    for name, answers in (("ada", {}), ("bob", {"coder": STUBS["coder"]})):
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / "03_merging.ipynb").write_text(json.dumps(learner(answers)))
    (tmp_path / "class" / "notes.ipynb").write_text("not one of ours")
    out = tmp_path / "out"
    assert command.main(parse(tmp_path / "class", "--out", out, "--jobs", 2)) == 0
    assert "2 notebooks, 20 of 22 points" in capsys.readouterr().out
    assert [r["points"] for r in json.loads((out / "results.json").read_text())["notebooks"]] == [11, 9]
    assert ET.parse(out / "junit.xml").getroot().get("tests") == "10"
    assert (tmp_path / "state" / "grading-secret").stat().st_mode & 0o777 == 0o600


def test_missing_points_can_fail_a_build(course, box, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Course, "here", classmethod(lambda cls, source=None: course))
    monkeypatch.setattr(sandbox, "sandbox", lambda *args, **options: _made(box))
    path = tmp_path / "03_merging.ipynb"
    for answers, code in (({}, 0), ({"patience": STUBS["patience"]}, 1)):
        path.write_text(json.dumps(learner(answers)))
        assert command.main(parse(path, "--require-full", "--seed", "0123")) == code
    capsys.readouterr()


class _made:
    def __init__(self, box):
        self.box = box

    def __enter__(self):
        return self.box

    def __exit__(self, *_):
        return None


@pytest.mark.parametrize("words, says", [(["gone.ipynb"], "does not exist"), (["."], "no notebook of a lesson")])
def test_a_command_that_makes_no_sense_says_what_to_do(course, tmp_path, monkeypatch, capsys, words, says):
    monkeypatch.setattr(Course, "here", classmethod(lambda cls, source=None: course))
    monkeypatch.chdir(tmp_path)
    assert command.main(parse(*words)) == 2
    assert says in capsys.readouterr().err


def test_no_sources_names_the_option(tmp_path):
    with pytest.raises(CourseError, match="--source DIR"):
        Course.here(tmp_path)


def test_a_secret_is_made_once_and_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("LABS_STATE", str(tmp_path))
    monkeypatch.delenv("LABS_SEED", raising=False)
    assert secret.find() == secret.find() != b""
    assert secret.find(environment={"LABS_SEED": "from the class", "LABS_STATE": str(tmp_path)}) == b"from the class"
    assert secret.find("7", {"LABS_SEED": "from the class"}) == b"7"
    with pytest.raises(CourseError, match="--seed is empty"):
        secret.find(" ")
