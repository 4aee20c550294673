"""Honest notebooks: right, wrong, untouched, half right, and cells that are skipped, restored or moved."""

import json

import psutil
import pytest
from tiny_course import notebooks
from tiny_course.notebooks import ANSWERS, POINTS, STUBS, learner

from labs.course.grade import sandbox
from labs.course.grade.fault import NoSandbox
from labs.course.grade.grade import grade_many, grade_notebook
from labs.course.grade.notebook import Cell
from labs.course.grade.verdict import seed


def points(result):
    return {mark.exercise: mark.points for mark in result.marks}


def found(result, exercise):
    return next(mark for mark in result.marks if mark.exercise == exercise)


WRONG = {
    "order": ("sort_merge", "def sort_merge(a, b):\n    return np.concatenate([a, b])"),
    "tail": ("sort_merge", "def sort_merge(a, b):\n    return np.unique(np.concatenate([a, b, a]))"),
    "error": ("sort_merge", "def sort_merge(a, b):\n    return a[len(a)]"),
    "type": ("sort_merge", "def sort_merge(a, b):\n    return iter([1])"),
    "shape": ("sort_merge", "def sort_merge(a, b):\n    return 'hello'"),
    "call": ("sort_merge", "sort_merge = [1, 2, 3]"),
    "capacity": ("ring_buffer", ANSWERS["ring_buffer"].replace("[-self.size:]", "")),
    "content": ("ring_buffer", ANSWERS["ring_buffer"].replace("[-self.size:]", "[:self.size]")),
    "round_trip": ("coder", "def encode(text):\n    return ''\ndef decode(coded):\n    return 'a'"),
}


def test_solution_gets_full_points(mark):
    result = mark(learner())
    assert points(result) == POINTS
    assert result.full and result.isolation == "isolated" and not result.notes


def test_untouched_notebook_gets_nothing(mark):
    result = mark(learner(STUBS))
    assert result.points == 0
    assert {m.status for m in result.marks} == {"unsolved"}


@pytest.mark.parametrize("hint", WRONG)
def test_wrong_answer_gets_its_own_hint(mark, hint):
    exercise, answer = WRONG[hint]
    result = mark(learner({exercise: answer}))
    assert points(result) == POINTS | {exercise: 0}
    wrong = found(result, exercise)
    assert (wrong.status, wrong.hint) == ("wrong", hint)
    assert wrong.question.endswith(("?", ".")) and wrong.case


def test_an_error_is_told_with_the_learners_line(mark):
    result = mark(learner({"sort_merge": "def sort_merge(a, b):\n    return a[len(a)]"}))
    assert "IndexError" in found(result, "sort_merge").question


def test_parts_give_parts_of_the_points(mark):
    """Right but for empty rows: half of "correct plus edge" is two thirds here; right but too long: three quarters."""
    answers = {
        "sort_merge": "def sort_merge(a, b):\n    a[0] + b[0]\n    return np.sort(np.concatenate([a, b]))",
        "coder": "def encode(text):\n    return text\ndef decode(coded):\n    return coded",
    }
    result = mark(learner(answers))
    assert found(result, "sort_merge").points == pytest.approx(2)
    assert found(result, "coder").points == pytest.approx(1.5)
    assert found(result, "coder").hint == "too_long"
    assert {found(result, name).status for name in answers} == {"partly"}


def test_cells_that_only_show_are_skipped_until_they_are_changed(mark):
    """The source's show cell raises when it runs."""
    assert mark(learner()).notes == ()

    def edit(notebook):
        notebook["cells"][2]["source"] += "  # mine"

    result = mark(learner(edit=edit))
    assert result.full and "RuntimeError" in result.notes[0]


def test_changes_of_locked_cells_are_told(mark):
    def edit(notebook):
        cells = notebook["cells"]
        cells[1]["source"] = "import numpy as np"
        cells.insert(3, cells.pop(5))  # the first check before its answer
        del cells[-2]

    result = mark(learner(edit=edit))
    assert result.full
    text = "\n".join(result.notes)
    assert "setup had been changed" in text and "moved behind" in text and "was missing" in text


def test_a_cell_that_hangs_before_the_answers_costs_its_own_time_only(mark):
    result = mark(learner(first="while True: pass"))
    assert result.full
    assert "left out: it did not finish in 2 s" in result.notes[0]


def test_regrading_repeats_and_any_change_gives_new_cases():
    cells = (Cell("x = 1"), Cell("text", code=False))
    assert seed(b"secret", "ring", cells) == seed(b"secret", "ring", (*cells, Cell("other", code=False)))
    others = [seed(b"other", "ring", cells), seed(b"secret", "mesh", cells), seed(b"secret", "ring", (Cell("x = 2"),))]
    assert len({seed(b"secret", "ring", cells), *others}) == 4


def test_many_notebooks_in_order_with_their_own_verdicts(course, box, tmp_path):
    paths = []
    for number, answers in enumerate([{}, STUBS, {}, {"coder": STUBS["coder"]}]):
        paths.append(tmp_path / f"learner{number}" / "03_merging.ipynb")
        paths[-1].parent.mkdir()
        paths[-1].write_text(json.dumps(learner(answers)))
    paths.append(tmp_path / "04_other.ipynb")
    paths[-1].write_text("{}")
    results = list(grade_many(paths, course, b"secret", box, jobs=2))
    assert [r.notebook for r in results] == [str(p) for p in paths]
    assert [r.points for r in results] == [11, 0, 11, 9, 0]
    assert "no lesson is called so" in results[-1].refused


def test_not_isolated_is_said_and_grades_the_same(course, open_box, tmp_path):
    path = tmp_path / "03_merging.ipynb"
    mark = "0.51515151"  # by which the processes that the cell leaves behind are known
    daemon = (
        f"import subprocess\nfor _ in range(3): subprocess.Popen(['sleep', '9' + '{mark}'], start_new_session=True)"
    )
    path.write_text(json.dumps(learner({"coder": STUBS["coder"], "patience": "import os; os._exit(0)"}, first=daemon)))
    result = grade_notebook(path, course, b"secret", open_box)
    assert result.points == 8
    assert result.isolation.startswith("not isolated: no namespaces in this test. The answers ran as plain child")
    assert not [p.pid for p in psutil.process_iter(["cmdline"]) if "9" + mark in (p.info["cmdline"] or [])]


def test_isolation_can_be_insisted_on(open_box):
    with pytest.raises(NoSandbox, match="no namespaces in this test"):
        sandbox._choose(open_box.address, open_box.library, (), True)


def test_source_of_the_fixture_is_a_course(course):
    assert course.names == [notebooks.NAME]
    assert course.name_of("Ada 03_merging (1).ipynb") == notebooks.NAME
    assert course.name_of("103_merging.ipynb") is None


def test_rank_programs_are_judged_on_virtual_ranks(mark):
    deadlock = "def pass_on(tensor, dist):\n    rank, size = dist.get_rank(), dist.get_world_size()\n"
    deadlock += (
        "    dist.send(tensor, dst=(rank + 1) % size)\n    dist.recv(tensor, src=(rank - 1) % size)\n    return tensor"
    )
    result = mark(learner({"pass_on": deadlock}))
    assert (found(result, "pass_on").status, found(result, "pass_on").hint) == ("wrong", "deadlock")
    assert result.points == result.of - 3
