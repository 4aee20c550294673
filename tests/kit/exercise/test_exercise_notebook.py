"""Checks in a real kernel: what nbclient, nbval and nbgrader's Validate see of exercises in every state."""

import os
import sys
from pathlib import Path

import nbformat
import nbgrader.utils
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

import labs

ROOT = str(Path(labs.__file__).parents[1])

SETUP = """
from labs.kit.exercise import Case, Exercise, Question, Wrong, completed, predict

def cases(seed):
    return [Case("three", {"n": 3}), Case("zero", {"n": 0}, "edge")]

def run(answers, inputs):
    return answers[0](inputs["n"])

def verify(case, output):
    if output != 2 * case.inputs["n"]:
        raise Wrong("value", "What is twice three?\\nyours: %r" % (output,))

double = Exercise("double", "Double a number", 2, cases, run, verify)
square = Question("square", "What is 3 * 3?", {"a": "6", "b": "9"}, "b", {"a": "That is 3 + 3.", "b": "Three threes."})
"""
CELLS = {
    "setup": SETUP,
    "solved": "double(lambda n: 2 * n)",
    "failing": "double(lambda n: n + 1)",
    "unsolved": "def stub(n):\n    raise NotImplementedError()\ndouble(stub)",
    "slip": "double(6)",
    "error": "def answer(n):\n    rows = [1]\n    return rows[n]\ndouble(answer)",
    "warning": "import warnings\ndef warns(n):\n    warnings.warn('careful')\n    return 2 * n\ndouble(warns)",
    "exit": "def leave(n):\n    raise SystemExit\ndouble(leave)",
    "deep": "def deep(n):\n    return deep(n + 1)\ndouble(deep)",
    "unanswered": "square(...)",
    "wrong choice": "square('a')",
    "right choice": "square('B ')",
    "ask": "guess = predict('How long?', 'ms', 0, 10, name='test.guess')\nguess",
    "unset": "guess.reveal(3, 'Because.')",
    "set": "guess.widget().children[1].children[3].value = '6 ms'\nguess.reveal(3, 'Because.')",
    "value": "print(guess.value)",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Outputs by name of the cell."""
    folder = tmp_path_factory.mktemp("notebook")
    notebook = new_notebook(cells=[new_code_cell(source) for source in CELLS.values()])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "LABS_STATE": str(folder / "state"), "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    environment.pop("LABS_STATIC", None)
    client = NotebookClient(notebook, timeout=60, allow_errors=True, resources={"metadata": {"path": str(folder)}})
    client.create_kernel_manager()
    client.km.kernel_cmd = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    client.execute(env=environment)
    nbformat.validate(notebook)
    return {name: cell.outputs for name, cell in zip(CELLS, notebook.cells)}


def traceback_of(outputs):
    (error,) = [output for output in outputs if output.output_type == "error"]
    return "\n".join(error.traceback)


def test_the_setup_is_silent(outputs):
    assert outputs["setup"] == []


def test_solved_shows_a_card_and_returns_nothing(outputs):
    (shown,) = outputs["solved"]
    assert shown.output_type == "display_data"  # a returned value would be partial credit to nbgrader
    assert "lk-solved" in shown.data["text/html"] and "all 2 cases pass" in shown.data["text/plain"]


def test_failing_shows_the_card_and_then_a_short_verdict(outputs):
    shown, error = outputs["failing"]
    assert shown.output_type == "display_data" and error.output_type == "error" and error.ename == "NotYet"
    assert traceback_of(outputs["failing"]).splitlines() == [
        "✘ Double a number: case 1 of 2 does not pass (three)",
        "  What is twice three?",
        "  hint: double/value",
    ]
    assert "yours: 4" in shown.data["text/plain"] and "What is twice three?" not in shown.data["text/plain"]
    # the card says all of it, and its style hides the verdict that follows
    html = shown.data["text/html"]
    assert "What is twice three?" in html and "lk-raised" in html and ":has(.lk-raised)" in html


def test_unsolved_is_kind_and_still_an_error(outputs):
    assert "lk-unsolved" in outputs["unsolved"][0].data["text/html"]
    assert traceback_of(outputs["unsolved"]).startswith("○ Double a number: not solved yet")


def test_a_slip_in_the_call_gets_words(outputs):
    assert "without brackets" in traceback_of(outputs["slip"])


def test_an_exception_names_the_line_of_the_cell(outputs):
    assert "at line 3 of your cell, in answer: return rows[n]" in outputs["error"][0].data["text/plain"]
    assert "IndexError" in traceback_of(outputs["error"])


def test_neither_exit_nor_endless_recursion_ends_the_kernel(outputs):
    assert "exit" in traceback_of(outputs["exit"])
    assert "RecursionError" in traceback_of(outputs["deep"]) and len(traceback_of(outputs["deep"])) < 600


@pytest.mark.parametrize("name, points", [("solved", 2), ("warning", 2), ("failing", 0), ("unsolved", 0), ("slip", 0)])
def test_nbgrader_sees_full_points_or_none(outputs, name, points):
    cell = new_code_cell("double(answer)", outputs=outputs[name])
    roles = {"grade": True, "locked": True, "solution": False, "task": False}
    cell.metadata["nbgrader"] = {**roles, "points": 2, "grade_id": "check-double"}
    assert nbgrader.utils.determine_grade(cell) == (points, 2)


def test_nothing_is_ever_written_to_stderr(outputs):
    streams = [output for shown in outputs.values() for output in shown if output.output_type == "stream"]
    assert {output.name for output in streams} == {"stdout"}
    assert "careful" in outputs["warning"][0].data["text/html"] and len(outputs["warning"]) == 1


def test_questions(outputs):
    (shown,) = outputs["unanswered"]
    assert 'Not answered yet: write "a" or "b"' in shown.data["text/plain"]
    assert "That is 3 + 3." in outputs["wrong choice"][0].data["text/html"]
    assert "Right. Three threes." in outputs["right choice"][0].data["text/plain"]


def test_predictions(outputs):
    (shown,) = outputs["ask"]
    assert "application/vnd.jupyter.widget-view+json" in shown.data
    assert outputs["unset"][0].text == "No prediction yet: choose a number above, then run this cell again.\n"
    assert "You said 6 ms; it is 3 ms. That was 2 times too high." in outputs["set"][0].data["text/plain"]
    assert outputs["value"][0].text == "6.0\n"
