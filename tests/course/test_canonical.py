"""The canonical form: the same bytes whatever an editor, a kernel or a machine left in a notebook."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labs.course.canonical import WIDGET_MIME, NotebookError, canonical, dumps, loads, read, without_machine


def notebook(*cells, **metadata):
    return loads(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}))


def code(source="1", identity="a", outputs=(), count=None, **metadata):
    return {
        "cell_type": "code", "id": identity, "source": source, "outputs": list(outputs), "execution_count": count,
        "metadata": metadata,
    }  # fmt: skip


def stream(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


def display(**data):
    return {"output_type": "display_data", "metadata": {}, "data": {k.replace("_", "/"): v for k, v in data.items()}}


def only_output(*outputs, root=None):
    result = canonical(notebook(code(outputs=outputs)), root=root).cells[0].outputs
    assert len(result) == 1
    return result[0]


text = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=20)
values = st.one_of(st.integers(), text, st.booleans(), st.lists(text, max_size=2))
junk = st.dictionaries(st.text(max_size=8), values, max_size=4)
noise = st.dictionaries(
    st.sampled_from(["execution", "collapsed", "scrolled", "jupyter", "ExecuteTime", "widgets", "vscode"]),
    junk,
    max_size=3,
)


@settings(max_examples=60, deadline=None)
@given(metadata=noise, cell_metadata=noise, source=text, out=text, count=st.none() | st.integers(1, 99), root=noise)
def test_junk_in_metadata_changes_nothing_and_twice_is_once(metadata, cell_metadata, source, out, count, root):
    dirty = canonical(notebook(code(source, "a", [stream(out)], count, **cell_metadata), **metadata))
    clean = canonical(notebook(code(source, "a", [stream(out)])))
    assert dumps(dirty) == dumps(clean)
    assert dumps(canonical(loads(dumps(clean)))) == dumps(clean)


def test_keys_are_sorted_and_the_text_ends_with_one_newline():
    written = dumps(canonical(notebook(code())))
    assert written.endswith("}\n") and not written.endswith("\n\n")
    assert json.dumps(json.loads(written), indent=1, sort_keys=True, ensure_ascii=False) + "\n" == written


def test_execution_counts_run_from_one_over_code_cells():
    prose = {"cell_type": "markdown", "id": "p", "source": "words", "metadata": {}}
    result = {"output_type": "execute_result", "execution_count": 9, "metadata": {}, "data": {"text/plain": "1"}}
    cells = canonical(notebook(code(identity="a", count=5), prose, code(identity="b", outputs=[result]))).cells
    assert [cells[0].execution_count, cells[2].execution_count] == [1, 2]
    assert cells[2].outputs[0].execution_count == 2


def test_tags_nbgrader_and_ids_are_kept_and_empty_tags_are_not():
    kept = canonical(notebook(code(identity="mine", tags=["show"], nbgrader={"grade_id": "x"}))).cells[0]
    assert kept.id == "mine" and kept.metadata == {"tags": ["show"], "nbgrader": {"grade_id": "x"}}
    assert canonical(notebook(code(tags=[]))).cells[0].metadata == {}


def test_pieces_of_one_stream_are_joined_and_streams_kept_apart():
    outputs = [stream("a"), stream("b\n"), stream("c", "stderr"), stream("d")]
    result = canonical(notebook(code(outputs=outputs))).cells[0].outputs
    assert [(o.name, o.text) for o in result] == [("stdout", "ab\n"), ("stderr", "c"), ("stdout", "d")]


def test_trailing_spaces_go_in_code_and_stay_in_prose_where_they_break_a_line():
    prose = {"cell_type": "markdown", "id": "p", "source": "one  \ntwo\n\n", "metadata": {}}
    cells = canonical(notebook(code("x = 1  \r\ny = 2\n\n"), prose)).cells
    assert cells[0].source == "x = 1\ny = 2"
    assert cells[1].source == "one  \ntwo"


def test_a_live_widget_keeps_its_static_form_only():
    live = {WIDGET_MIME: {"model_id": "7f"}, "text/html": "<p>slider</p>", "text/plain": "S()"}
    both = {"output_type": "display_data", "metadata": {"a": 1}, "data": live}
    assert only_output(both).data == {"text/html": "<p>slider</p>", "text/plain": "S()"}


def test_a_widget_without_a_static_form_is_refused_with_its_place():
    bare = {
        "output_type": "display_data",
        "metadata": {},
        "data": {WIDGET_MIME: {"model_id": "7f"}, "text/plain": "S()"},
    }
    with pytest.raises(NotebookError, match=r"^08_x\.ipynb, cell 1 \(a\): this output is a live widget"):
        canonical(notebook(code(outputs=[bare])), "08_x.ipynb")


def test_addresses_of_objects_are_replaced_and_numbers_stay():
    text = "<object at 0x7f01ab23cd45>\nmov.f32 %f1, 0x3f800000"
    assert without_machine(text) == "<object at 0x…>\nmov.f32 %f1, 0x3f800000"
    assert only_output(display(text_plain="<A at 0x7f01ab23cd45>")).data["text/plain"] == "<A at 0x…>"


@pytest.mark.parametrize(
    ("machine", "plain"),
    [
        ("File /home/ada/course/labs/kit/ranks/run.py:12, in run", "File labs/kit/ranks/run.py:12, in run"),
        ("File /home/ada/.venv/lib/python3.11/site-packages/torch/x.py:3", "File site-packages/torch/x.py:3"),
        ("File ~/.venv/lib/python3.11/site-packages/torch/x.py:3", "File site-packages/torch/x.py:3"),
        ('File "/usr/lib/python3.11/json/decoder.py", line 3', 'File "python3.11/json/decoder.py", line 3'),
        ("/tmp/ipykernel_123/456.py:3: UserWarning", "cell:3: UserWarning"),
        ("saved in /tmp/labs-abc123/progress.json", "saved in …/progress.json"),
        ("see https://example.org/lib/python3.11/x and a/b", "see https://example.org/lib/python3.11/x and a/b"),
        ("speed 3/tmp/s", "speed 3/tmp/s"),
    ],
)
def test_paths_of_this_machine_are_replaced(machine, plain):
    assert without_machine(machine, "/home/ada/course") == plain


def test_a_traceback_stays_readable_without_colours_and_paths():
    error = {
        "output_type": "error",
        "ename": "ValueError",
        "evalue": "in /tmp/ipykernel_12/34.py",
        "traceback": [
            "\x1b[0;31mValueError\x1b[0m  Traceback",
            "File \x1b[1m/course/labs/a.py:3\x1b[0m\nraise ValueError",
        ],
    }
    result = only_output(error, root="/course")
    assert result.traceback == ["ValueError  Traceback", "File labs/a.py:3", "raise ValueError"]
    assert result.evalue == "in cell"


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([code(identity="a"), code(identity="a")], 'cell 2 .* also has the id "a"'),
        ([{k: v for k, v in code().items() if k != "id"}], "cell 1 .* has no id"),
        ([code(identity="not an id!")], "not a valid notebook"),
    ],
)
def test_faulty_ids_are_refused_not_repaired(cells, words):
    with pytest.raises(NotebookError, match=words):
        canonical(notebook(*cells), "08_x.ipynb")


@pytest.mark.parametrize(
    ("content", "words"), [("{", "cannot be read"), ("[]", "cannot be read"), ('{"nbformat": 3}', "format is 3")]
)
def test_a_file_that_is_no_notebook_is_named(tmp_path, content, words):
    path = tmp_path / "08_x.ipynb"
    path.write_text(content)
    with pytest.raises(NotebookError, match=rf"^08_x\.ipynb: .*{words}"):
        read(path)
    with pytest.raises(NotebookError, match="no such notebook"):
        read(tmp_path / "nothing.ipynb")
