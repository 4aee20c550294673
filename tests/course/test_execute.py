"""Executing sources: the same bytes twice, a fixed environment, stale outputs noticed, failures shown."""

import json

import pytest

from labs.course.canonical import NotebookError, dumps, read
from labs.course.execute import SIZE_LIMIT, check_stored, code_hash, execute, keep, store


def write(folder, *cells):
    """Write solutions/90_tiny.ipynb: each cell is its source, or its source and its tags."""
    made = []
    for number, entry in enumerate(cells):
        source, *tags = (entry,) if isinstance(entry, str) else entry
        kind = {"cell_type": "markdown"} if source.startswith("#") else {
            "cell_type": "code", "outputs": [], "execution_count": None
        }  # fmt: skip
        made.append(kind | {"id": f"c{number}", "metadata": {"tags": tags}, "source": source})
    path = folder / "solutions" / "90_tiny.ipynb"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": made}))
    return path


def printed(notebook):
    return "".join(o.text for c in notebook.cells for o in c.get("outputs", []) if o.output_type == "stream")


LOOK = """import os, sys
for name in ("LABS_STATIC", "PYTHONHASHSEED", "COLUMNS", "OMP_NUM_THREADS", "TZ"):
    print(os.environ[name])
print(sys.executable, os.getcwd(), os.listdir(os.environ["LABS_STATE"]))"""


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A notebook executed and stored, with what happened; the tests below change copies of it."""
    path = write(
        tmp_path_factory.mktemp("course"),
        "# 90 · Tiny",
        LOOK,
        "for k in range(3):\n    print(k, end=' ', flush=True)\nprint({hash('a'), hash('b')})",
        ("1 / 0", "raises-exception"),
        "object()",
    )
    return path, store(path, path.parent.parent)


def test_the_environment_is_fixed(stored):
    import sys

    path, _ = stored
    lines = printed(read(path)).splitlines()
    assert lines[:5] == ["1", "0", "80", "1", "UTC"]
    assert lines[5].startswith(sys.executable) or "site-packages" not in lines[5]
    assert "solutions" in lines[5]
    assert "progress.json" not in lines[5]


def test_executed_twice_it_is_the_same_to_the_byte(stored):
    path, first = stored
    before = path.read_bytes()
    second = store(path, path.parent.parent)
    assert path.read_bytes() == before
    assert first.changed and not second.changed
    assert second.size == len(before) and second.seconds > 0


def test_what_is_stored_is_complete_and_current(stored):
    path, _ = stored
    assert check_stored(path) == []
    notebook = read(path)
    assert [c.execution_count for c in notebook.cells if c.cell_type == "code"] == [1, 2, 3, 4]
    error = notebook.cells[3].outputs[0]
    assert error.ename == "ZeroDivisionError" and "\x1b" not in "".join(error.traceback)
    assert notebook.cells[4].outputs[0].data["text/plain"] == "<object at 0x…>"


@pytest.fixture
def copy(stored, tmp_path):
    path = tmp_path / "solutions" / stored[0].name
    path.parent.mkdir()
    path.write_bytes(stored[0].read_bytes())
    return path


def change(path, index, **parts):
    notebook = read(path)
    notebook.cells[index].update(parts)
    path.write_text(dumps(notebook))


def test_changed_code_is_stale(copy):
    change(copy, 4, source="object() is None")
    assert "code cell has changed" in check_stored(copy)[0]
    assert not keep(copy)


def test_changed_prose_keeps_the_outputs(copy):
    before = code_hash(read(copy))
    change(copy, 0, source="# 90 · Smaller")
    assert check_stored(copy) == []
    assert keep(copy) and code_hash(read(copy)) == before


def test_outputs_of_another_session_are_noticed(copy):
    notebook = read(copy)
    notebook.cells[2].outputs[0].text = "by hand\n"
    copy.write_text(dumps(notebook))
    assert "outputs are not those that were stored" in check_stored(copy)[0]
    assert not keep(copy)


def test_another_form_of_the_same_notebook_is_noticed_and_repaired(copy):
    right = copy.read_text()
    copy.write_text(json.dumps(json.loads(right), indent=4))
    assert "not in canonical form" in check_stored(copy)[0]
    assert keep(copy) and copy.read_text() == right


def test_a_notebook_that_never_ran_says_so(tmp_path):
    assert "has not been executed" in check_stored(write(tmp_path, "1"))[0]


def test_a_failing_cell_is_shown_with_its_lines(tmp_path):
    path = write(tmp_path, "x = 1", "y = 2\nraise ValueError(f'no {y}')", "z = 3")
    before = path.read_bytes()
    with pytest.raises(NotebookError) as caught:
        store(path)
    words = str(caught.value)
    assert words.startswith("90_tiny.ipynb, cell 2 (c1) raised ValueError: no 2")
    assert "      2  raise ValueError(f'no {y}')" in words and "raises-exception" in words
    assert path.read_bytes() == before


def test_a_cell_that_hangs_is_ended_and_named(tmp_path):
    path = write(tmp_path, "import time", "time.sleep(60)")
    with pytest.raises(NotebookError, match=r"cell 2 \(c1\) was still running after 2 s"):
        execute(path, timeout=2)


def test_a_cell_that_ends_the_kernel_is_named(tmp_path):
    path = write(tmp_path, "import os", "os._exit(3)")
    with pytest.raises(NotebookError, match=r"cell 2 \(c1\) ended the kernel"):
        execute(path)


def test_a_notebook_over_the_limit_is_refused_and_its_largest_cell_named(tmp_path):
    path = write(tmp_path, "1", f"print('x' * {SIZE_LIMIT})")
    before = path.read_bytes()
    with pytest.raises(NotebookError, match=r"would be 1\.0\d MB.*\n?.*cell 2 \(c1\)"):
        store(path)
    assert path.read_bytes() == before
