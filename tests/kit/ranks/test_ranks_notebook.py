"""Real ranks from notebook cells: under nbclient, under nbval, and when a cell is interrupted."""

import signal
import subprocess
import sys
import threading
import time

import nbformat
import psutil
import pytest
from nbclient import NotebookClient

DEFINE = """\
import os
import torch
from labs.kit.ranks import run

def double(tensor, dist):
    print("on rank", dist.get_rank())
    return tensor * 2

def program(tensor, dist):
    result = double(tensor, dist)
    dist.all_reduce(result)
    return result.item()
"""
CALL = 'run(program, 2, lambda rank: (torch.tensor([rank + 1.0]),), on="gloo").results'
FAIL = """\
def broken(dist):
    if dist.get_rank() == 1:
        double(None, dist)
    dist.barrier()

run(broken, 2, on="gloo")
"""
LEFT = """\
import psutil
psutil.Process().children(recursive=True)[0].children()
"""
HANG = """\
import time
def sleeps(dist):
    print("asleep")
    time.sleep(100)

run(sleeps, 2, on="gloo")
"""


def notebook(*cells):
    book = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_code_cell(text) for text in cells]
    book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return book


def text_of(cell):
    parts = [out.get("text") or out.get("data", {}).get("text/plain", "") for out in cell.outputs]
    return "\n".join([*filter(None, parts), *("\n".join(o.traceback) for o in cell.outputs if "traceback" in o)])


def interrupt(client, cell):
    """Interrupt the kernel once the ranks that `cell` has started are asleep."""
    deadline = time.monotonic() + 60
    while "asleep" not in text_of(cell) and time.monotonic() < deadline:
        time.sleep(0.05)
    psutil.Process(client.km.provisioner.pid).send_signal(signal.SIGINT)


@pytest.fixture(scope="module")
def executed():
    """All cells in one kernel; the ranks of the cell HANG are interrupted."""
    book = notebook(DEFINE, CALL, FAIL, HANG, CALL, LEFT)
    client = NotebookClient(book, timeout=120, kernel_name="python3", allow_errors=True)
    with client.setup_kernel():
        for index, cell in enumerate(book.cells):
            if cell.source == HANG:
                threading.Thread(target=interrupt, args=(client, cell)).start()
            client.execute_cell(cell, index)
    return book


def test_output_arrives_in_the_cell_that_runs(executed):
    for cell in (executed.cells[1], executed.cells[4]):
        printed = "".join(out.text for out in cell.outputs if out.output_type == "stream")
        assert sorted(printed.splitlines()) == ["[rank 0] on rank 0", "[rank 1] on rank 1"]
        assert cell.outputs[-1].data["text/plain"] == "(6.0, 6.0)"
    assert executed.cells[0].outputs == []


def test_a_failure_shows_the_line_of_the_cell_and_no_machinery(executed):
    shown = text_of(executed.cells[2])
    assert "Rank 1 raised an exception: TypeError" in shown
    assert "line 3 of your cell, in broken: double(None, dist)" in shown
    assert "line 7 of your cell, in double: return tensor * 2" in shown
    assert "Rank 0 was waiting in barrier at line 4 of your cell, in broken: dist.barrier()" in shown
    assert "worker.py" not in shown and "launch.py" not in shown and "site-packages" not in shown


def test_an_interrupted_cell_leaves_no_rank_and_the_next_works(executed):
    _, _, _, hang, again, left = executed.cells
    assert "KeyboardInterrupt" in text_of(hang)
    assert again.outputs[-1].data["text/plain"] == "(6.0, 6.0)"
    assert left.outputs[-1].data["text/plain"] == "[]"


def test_under_nbval(tmp_path, executed):
    book = notebook(DEFINE, CALL)
    for cell, done in zip(book.cells, executed.cells, strict=False):
        cell.outputs, cell.execution_count = done.outputs, done.execution_count
    book.cells[1].source = CALL.replace('on="gloo"', 'on="gloo", stream=False')  # two ranks print in any order
    book.cells[1].outputs = [out for out in book.cells[1].outputs if out.output_type != "stream"]
    nbformat.write(book, tmp_path / "lesson.ipynb")
    command = [sys.executable, "-m", "pytest", "--nbval", "-q", "-p", "no:cacheprovider", "lesson.ipynb"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
