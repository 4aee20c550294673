"""Publishing: no answer gets through, what the learner finds works, and the bytes are always the same."""

import ast
import json

import pytest

from labs.course.canonical import NotebookError, dumps, loads
from labs.course.publish import describe_drift, drift, publish, published_text, write_all
from labs.course.stubs import clear_source

ANSWER = """def total(values):
    \"\"\"Sum of the values.\"\"\"
    result = 0
    ### BEGIN SOLUTION
    for secret_name in values:
        result += secret_name
    ### END SOLUTION
    return result"""
REPAIR = """def larger(a, b):
    if a == b:
        ### BEGIN SOLUTION
        return max(a, b)
        ### END SOLUTION

        ### BEGIN START
        #| if a < b:
        #|     return a
        #|
        #| return b
        ### END START
    return max(b, a)"""
CHOICE = """### BEGIN SOLUTION
slowest = "c"
fastest = 'a'  # because
### END SOLUTION
question(slowest)"""
CUDA = """%%cuda
__global__ void divide(float* x, int n) {
    // BEGIN SOLUTION
    int secret = threadIdx.x;
    // END SOLUTION
}"""
CPP_REPAIR = """%%cpp
int twice(int x) {
    // BEGIN SOLUTION
    return 2 * x;
    // END SOLUTION
    // BEGIN START
    //| return x;
    // END START
}"""


def cell(source, identity, kind="code", tags=(), **nbgrader):
    """A cell as an author's notebook holds it."""
    metadata = {"tags": list(tags)} if tags else {}
    if nbgrader:
        defaults = {"grade": False, "locked": False, "solution": False, "task": False, "schema_version": 3}
        metadata["nbgrader"] = defaults | {"grade_id": identity} | nbgrader
    made = {"cell_type": kind, "id": identity, "metadata": metadata, "source": source}
    if kind == "code":
        made |= {"execution_count": 7, "outputs": [{"output_type": "stream", "name": "stdout", "text": "secret out"}]}
    return made


def notebook(*cells):
    """A notebook of these cells."""
    return loads(
        json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {"labs": {"executed": "ab"}}, "cells": cells})
    )


@pytest.fixture
def source():
    return notebook(
        cell("# 90 · Sums", "title", "markdown"),
        cell("import math", "setup", locked=True),
        cell(ANSWER, "total", solution=True),
        cell("exercises.total(total)", "check-total", grade=True, locked=True, points=3),
        cell("Prose between the answers stays.", "between", "markdown"),
        cell(REPAIR, "larger", solution=True),
        cell(CHOICE, "quiz", tags=["choose", "show"], solution=True),
        cell(CUDA, "divide", solution=True),
        cell(CPP_REPAIR, "twice", solution=True),
    )


@pytest.fixture
def course(tmp_path, source):
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "90_sums.ipynb").write_text(json.dumps(source))
    return tmp_path


def test_no_answer_and_no_output_is_published(source):
    text = dumps(publish(source))
    for secret in ("secret", "max(a, b)", '\\"c\\"', "'a'", "2 * x", "BEGIN", "END ", "#|", "//|", "executed"):
        assert secret not in text, secret
    assert all(not c.outputs and c.execution_count is None for c in publish(source).cells if c.cell_type == "code")


def test_prose_signature_and_checks_stay(source):
    cells = {c.id: c for c in publish(source).cells}
    assert list(cells) == [c.id for c in source.cells]
    assert cells["between"].source == "Prose between the answers stays."
    assert cells["check-total"].source == "exercises.total(total)"
    assert cells["check-total"].metadata.nbgrader.points == 3
    assert cells["check-total"].metadata.editable is False
    assert cells["check-total"].metadata.nbgrader.checksum
    assert cells["quiz"].metadata.tags == ["choose", "show"]
    assert '"""Sum of the values."""' in cells["total"].source


def test_the_stub_stands_at_its_indent_and_raises_only_when_called(source):
    cells = {c.id: c for c in publish(source).cells}
    space = {}
    exec(cells["total"].source, space)
    with pytest.raises(NotImplementedError):
        space["total"]([1])


def test_a_repair_begins_with_the_broken_code():
    assert clear_source(REPAIR).split("\n")[2:6] == [
        "        if a < b:",
        "            return a",
        "",
        "        return b",
    ]
    space = {}
    exec(clear_source(REPAIR), space)
    assert space["larger"](2, 2) == 2
    exec(REPAIR, space)  # in the source the START region does nothing
    assert space["larger"](2, 2) == 2


def test_a_choice_is_left_open():
    assert clear_source(CHOICE, choose=True) == "slowest = ...\nfastest = ...\nquestion(slowest)"


def test_cpp_and_cuda_get_an_error_directive_or_their_broken_start():
    assert '    #error "not solved yet"' in clear_source(CUDA).split("\n")
    assert "    return x;" in clear_source(CPP_REPAIR).split("\n")


def test_each_region_gets_its_own_stub():
    two = ANSWER + "\n\n\n" + ANSWER.replace("total", "again")
    assert clear_source(two).count("raise NotImplementedError()") == 2
    ast.parse(clear_source(two))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1", "no BEGIN SOLUTION"),
        ("### BEGIN SOLUTION\nx = 1", "not closed"),
        ("### BEGIN SOLUTION\n### BEGIN SOLUTION\nx\n### END SOLUTION", "inside a SOLUTION region"),
        ("x\n### END SOLUTION", "not begun"),
        ("### BEGIN SOLUTION\n\n### END SOLUTION", "empty"),
        ("### BEGIN SOLUTION of part 1\nx = 1\n### END SOLUTION", "nothing but its marker"),
        ("### BEGIN START\n#| x\n### END START\n### BEGIN SOLUTION\nx\n### END SOLUTION", "right after the SOLUTION"),
        ("### BEGIN SOLUTION\nx\n### END SOLUTION\ny = 1\n### BEGIN START\n#| x\n### END START", "right after"),
        ("### BEGIN SOLUTION\nx\n### END SOLUTION\n### BEGIN START\nx\n### END START", "#| "),
    ],
)
def test_wrong_regions_are_refused_in_words(text, words):
    with pytest.raises(ValueError, match=words.replace("|", r"\|")):
        clear_source(text)


def test_a_choice_of_anything_but_assignments_is_refused():
    with pytest.raises(ValueError, match="may only hold lines like"):
        clear_source("### BEGIN SOLUTION\nprint(1)\n### END SOLUTION", choose=True)


@pytest.mark.parametrize("line", ["### BEGIN SOLUTION", "    // END SOLUTION", "# BEGIN START"])
def test_an_answer_in_an_unmarked_cell_is_refused_with_its_place(line):
    bad = notebook(cell("x = 1", "one"), cell(f"y = 2\n{line}\nz = 3", "two"))
    with pytest.raises(NotebookError, match=r"90_sums\.ipynb, cell 2 \(two\): line 2 marks an answer"):
        publish(bad, "90_sums.ipynb")


def test_an_answer_in_prose_is_refused():
    bad = notebook(cell("The answer.", "one", "markdown", solution=True))
    with pytest.raises(NotebookError, match="only a code cell can hold an answer"):
        publish(bad)


def test_publishing_leaves_its_source_alone_and_gives_the_same_bytes(course):
    path = course / "solutions" / "90_sums.ipynb"
    before = path.read_bytes()
    assert published_text(path) == published_text(path)
    assert path.read_bytes() == before


def test_a_published_notebook_is_in_the_form_it_would_be_published_in(course):
    assert write_all(course) == ["90_sums.ipynb"]
    assert write_all(course) == []
    assert drift(course) == {}


def test_drift_is_found_and_shown(course):
    write_all(course)
    target = course / "notebooks" / "90_sums.ipynb"
    target.write_text(target.read_text().replace("Prose between", "Words between"))
    changed = drift(course)
    assert list(changed) == ["90_sums.ipynb"]
    shown = describe_drift(course, "90_sums.ipynb", changed["90_sums.ipynb"])
    assert "Words between" in shown and "Prose between" in shown
    target.unlink()
    assert "is missing" in describe_drift(course, "90_sums.ipynb", drift(course)["90_sums.ipynb"])


def test_a_notebook_without_a_source_is_found_and_removed(course):
    write_all(course)
    stray = course / "notebooks" / "91_gone.ipynb"
    stray.write_text("{}")
    assert drift(course) == {"91_gone.ipynb": None}
    assert "no source" in describe_drift(course, "91_gone.ipynb", None)
    write_all(course)
    assert not stray.exists()
