"""Notebooks as other programs save them, as learners rearrange them, and of an older version of the lesson.

Each is right in all its answers, so each must keep all its points, with the note that names what happened.
"""

import json

import nbformat
import pytest
from tiny_course.notebooks import ANSWERS, CALLS, POINTS, STUBS, code, learner, source

from labs.course.grade import notebook, recognise
from labs.course.grade.recognise import Form


def checks(document):
    return [cell for cell in document["cells"] if cell["metadata"].get("nbgrader", {}).get("grade")]


def answer(document, name):
    return next(c for c in document["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") == name)


# ---- what programs do ------------------------------------------------------------------------------------------------
def vs_code(document):
    document["metadata"] = {"language_info": {"name": "python", "version": "3.12.1"}}
    for number, cell in enumerate(document["cells"]):
        cell["id"] = f"{number:08x}"
        cell["metadata"]["vscode"] = {"languageId": "python"}


def colab(document):
    document.update(nbformat=4, nbformat_minor=0)
    document["metadata"] = {"colab": {"provenance": [], "toc_visible": True}, "kernelspec": {"name": "python3"}}
    for cell in document["cells"]:
        cell.pop("id", None)
        cell["metadata"] = {"id": "xYz12", "outputId": "a-b-c", "cellView": "form"}
        cell["source"] = [line + "\n" for line in cell["source"].split("\n")]


def classic(document):
    document.update(nbformat=4, nbformat_minor=1)
    for cell in document["cells"]:
        cell.pop("id", None)
        cell["metadata"] |= {"collapsed": False, "scrolled": True, "trusted": True}
        cell["source"] = cell["source"].splitlines(keepends=True)


def nteract(document):
    document["metadata"]["nteract"] = {"version": "0.28.0"}
    for cell in document["cells"]:
        cell["metadata"] |= {"inputHidden": False, "outputHidden": False, "execution": {"shell.execute_reply": "x"}}


def jupytext(document):
    """The round trip through a .py file: new ids, no outputs, no empty cells."""
    document["metadata"]["jupytext"] = {"formats": "ipynb,py:percent"}
    document["cells"] = [cell for cell in document["cells"] if cell["source"].strip()]
    for number, cell in enumerate(document["cells"]):
        cell["id"], cell["source"] = f"new-{number}", cell["source"].strip()


def strip_extra_keys(document):
    """nbstripout --extra-keys "metadata.kernelspec cell.metadata"."""
    document["metadata"] = {}
    for number, cell in enumerate(document["cells"]):
        cell["metadata"], cell["id"] = {}, str(number)


def windows(document):
    for cell in document["cells"]:
        cell["source"] = cell["source"].replace("\n", "\r\n")


def old_format(document):
    converted = nbformat.convert(nbformat.from_dict(document), 3)
    document.clear()
    document.update(json.loads(nbformat.v3.writes_json(converted)))


PROGRAMS = {
    "VS Code": (vs_code, ""),
    "Colab": (colab, "lost their names (it was saved with Colab); checks were recognised by their text"),
    "classic Notebook": (classic, ""),
    "JupyterLab": (lambda document: None, ""),
    "nteract": (nteract, ""),
    "Jupytext": (jupytext, ""),
    "nbstripout": (strip_extra_keys, "lost their names; checks were recognised by their text, answers by what"),
    "Windows": (windows, ""),
    "format 3": (old_format, "lost their names (it was saved with an old program, in format 3)"),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_notebook_saved_by_another_program_keeps_its_points(mark, program):
    change, says = PROGRAMS[program]
    result = mark(learner(edit=change))
    assert {m.exercise: m.points for m in result.marks} == POINTS, result.notes
    assert [says in note for note in result.notes] == [True] * bool(says)


def test_a_wrong_answer_without_names_still_costs_its_points(mark):
    result = mark(learner({"coder": STUBS["coder"], "patience": "def patience(n):\n    return n + 1"},
                          edit=strip_extra_keys))  # fmt: skip
    assert {m.exercise: m.points for m in result.marks} == POINTS | {"coder": 0, "patience": 0}


def test_a_file_with_a_byte_order_mark_is_read(tmp_path):
    path = tmp_path / "03_merging.ipynb"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(learner()).encode())
    assert len(notebook.read(path).cells) == len(learner()["cells"])


# ---- what learners do ------------------------------------------------------------------------------------------------
def moved(document):
    cells = document["cells"]
    at = cells.index(answer(document, "coder"))
    cells[3:3] = [cells.pop(at), cells.pop(at)]


def setup_last(document):
    document["cells"].append(document["cells"].pop(1))
    answer(document, "patience")["source"] = "limit = np.inf\n" + ANSWERS["patience"]


def renamed(document):
    answer(document, "coder")["metadata"]["nbgrader"]["grade_id"] = "mine"
    answer(document, "check-patience")["metadata"]["nbgrader"]["grade_id"] = "cell-123"


def copied_with_a_new_check(document):
    answer(document, "patience")["source"] = STUBS["patience"]
    document["cells"] += [code(ANSWERS["patience"]), code("%%time\nexercises.patience(patience)")]


def duplicated_answer(document):
    wrong = json.loads(json.dumps(answer(document, "patience"))) | {"source": STUBS["patience"]}
    document["cells"].insert(document["cells"].index(answer(document, "patience")), wrong)


def deleted(document):
    document["cells"].remove(answer(document, "check-coder"))


def added(document):
    document["cells"][4:4] = [code("x = 1"), code("x += 1")]


def changed(document):
    answer(document, "setup")["source"] += "\nimport math"


EDITS = {
    "moved": (moved, "cells were moved: sort_merge stands behind coder"),
    "set-up last": (setup_last, "setup stood behind cells that need it and was moved up"),
    "renamed": (renamed, "the cell check-patience had lost its name and was recognised by what it holds"),
    "new check": (copied_with_a_new_check, "a second copy of the cell check-patience was left out"),
    "duplicated": (
        duplicated_answer,
        "there are 2 cells for the answer patience; what the last of them defines counts",
    ),
    "deleted": (deleted, "the locked cell check-coder was missing and was put back"),
    "added": (added, "2 cells that are not the lesson's ran, too"),
    "changed": (changed, "the locked cell setup had been changed and was restored"),
}


@pytest.mark.parametrize("name", EDITS)
def test_what_learners_do_to_cells_is_named_and_costs_nothing(mark, name):
    change, says = EDITS[name]
    result = mark(learner(edit=change))
    assert {m.exercise: m.points for m in result.marks} == POINTS, result.notes
    assert says in "\n".join(result.notes)


def test_an_answer_turned_into_prose_is_named(mark):
    def change(document):
        cell = answer(document, "coder")
        cell["cell_type"] = "raw"
        del cell["outputs"], cell["execution_count"]

    result = mark(learner(edit=change))
    assert {m.exercise: m.points for m in result.marks} == POINTS | {"coder": 0}
    assert "the answer cell coder is a cell of text, so nothing in it ran" in result.notes


# ---- an older version of the lesson ----------------------------------------------------------------------------------
def test_an_older_version_of_the_lesson_is_named_with_its_reasons(mark):
    def change(document):
        document["cells"] = [c for c in document["cells"] if "pass_on" not in c["source"]]
        answer(document, "patience")["source"] = "def patience(n, seconds):\n    return n"
        gone = answer(document, "check-patience")
        document["cells"].append(json.loads(json.dumps(gone)) | {"source": "exercises.bubble_sort(bubble_sort)"})
        document["cells"][-1]["metadata"]["nbgrader"]["grade_id"] = "check-bubble_sort"

    result = mark(learner(edit=change))
    (note,) = [note for note in result.notes if "older version of the lesson" in note]
    assert "checks bubble_sort, which the lesson no longer has" in note
    assert "has no cells for pass_on" in note
    assert "its patience takes (n, seconds), today (n)" in note
    assert {m.exercise: m.points for m in result.marks} == POINTS | {"pass_on": 0, "patience": 0}


def test_todays_lesson_is_not_taken_for_an_older_one(course):
    form = course.lesson("03_merging").form
    stubs = recognise.recognise(_document(learner(STUBS)), form)
    assert stubs[1:] == ([], [])
    assert recognise.recognise(_document(json.loads(nbformat.writes(source()))), form)[1:] == ([], [])


def _document(plain):
    return notebook.Document(tuple(notebook._cell(cell) for cell in plain["cells"]))


@pytest.mark.parametrize("text, found", [
    ("def ring(x):\n    pass", True), ("class ring:\n    pass", True), ("ring = partial(f, 1)", True),
    ("%%cpp ring other\nint ring();", True), ("@jit\ndef ring(x): ...", True), ("ring: Callable = f", True),
    ("ring(3)", False), ("def ringing(x): ...", False), ("    def ring(x): ...", False), ("ring == 3", False),
])  # fmt: skip
def test_what_a_cell_defines(text, found):
    assert recognise.defines(text, "ring") is found


def test_every_lesson_recognises_its_own_cells_without_names():
    """The published notebooks, stripped of all metadata: every check and every answer is found again."""
    from labs.course.grade.course import Course

    course = Course.here()
    for name in course.names:
        form = course.lesson(name).form
        path = course.source_dir.parent / "notebooks" / f"{name}.ipynb"
        plain = json.loads(path.read_text())
        whole = recognise.recognise(notebook.read(path), form)
        assert whole[1:] == ([], []), name
        for cell in plain["cells"]:
            cell["metadata"] = {}
        cells, before, after = recognise.recognise(_document(plain), form)
        assert len(before) <= 1 and not after, (name, before, after)
        assert {c.name for c in cells} >= set(form.checks) | {c.exercise for c in form.checks.values()}, name


def test_form_knows_what_a_learner_finds():
    form = Form.of(source(), notebook.locked(source()))
    assert form.signatures["pass_on"] == ("tensor", "dist")
    assert set(form.checks) == {f"check-{name}" for name in CALLS}
