"""The %%cpp cell in real kernels: outputs, failures, interrupts, nbval, and publishing."""

import subprocess
import sys
import time

import nbformat
import psutil
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from labs.course.lint import check_lesson
from labs.course.stubs import clear_source

LOAD = "%load_ext labs.kit.native"
ADD = "%%cpp add\nint add(int a, int b) {\n    // BEGIN SOLUTION\n    return a + b;\n    // END SOLUTION\n}"
CRASH = "%%cpp crash\nint crash() {\n    int* volatile p = nullptr;\n    return *p;\n}"
LOOP = "%%cpp --timeout 100 loop\nvoid loop() {\n    volatile bool on = true;\n    while (on) {}\n}"
CHILD = "labs.kit.native.child"


@pytest.fixture
def kernel(shared_parts, tmp_path):
    """kernel(*sources) -> the cells after they ran in one kernel; exceptions are allowed."""

    def run(*sources):
        notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
        NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True,
                       resources={"metadata": {"path": str(tmp_path)}}).execute()  # fmt: skip
        return notebook.cells

    return run


def said(cell):
    return "".join(
        out.text if out.output_type == "stream" else "\n".join(out.get("traceback", [])) or out.data["text/plain"]
        for out in cell.outputs
    )


def test_cells_work_and_a_crash_costs_no_variable(kernel):
    cells = kernel(
        LOAD, "x = 5", ADD, "add(x, 2)", CRASH, "crash()", "add(x, 3)", "%%cpp\nint f();", "import os; os.getpid()"
    )
    assert said(cells[2]) == "" and said(cells[3]) == "7"
    told = said(cells[5])
    assert told.startswith("Crashed: crash() read memory through a null pointer")
    assert "at line 3 of your cell" in told and "return *p;" in told and "Traceback" not in told
    assert said(cells[6]) == "8"
    assert "names the functions that Python shall get" in said(cells[7])
    pid = int(said(cells[8]))
    assert not psutil.pid_exists(pid)
    assert not [
        p for p in psutil.process_iter(["cmdline"]) if CHILD in " ".join(p.info["cmdline"] or []) and p.ppid() == 1
    ]


def test_a_compiler_error_shows_the_line_and_no_machinery(kernel):
    cells = kernel(LOAD, "%%cpp f\nint f() {\n  return missing;\n}", "1 + 1")
    told = said(cells[1])
    assert told.startswith("CompileError: your code does not compile.\nline 2 of your cell: ")
    assert "labs/kit" not in told and said(cells[2]) == "2"


def test_the_published_cell_is_unsolved(kernel):
    cells = kernel(LOAD, clear_source(ADD), "add.unsolved", "add(1, 2)")
    assert said(cells[1]) == "" and said(cells[2]) == "True"
    assert "not solved yet" in said(cells[3])


def test_an_interrupt_from_the_notebook_ends_a_call(shared_parts, tmp_path):
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3", cwd=str(tmp_path))
    try:
        for source in (LOAD, LOOP, ADD):
            assert client.execute_interactive(source, timeout=120)["content"]["status"] == "ok"
        client.execute("loop()", stop_on_error=False)  # else the kernel may turn away what comes right behind
        time.sleep(1.5)
        manager.interrupt_kernel()
        reply = client.get_shell_msg(timeout=60)
        assert reply["content"]["status"] == "error" and reply["content"]["ename"] == "KeyboardInterrupt"
        reply = client.execute_interactive("assert add(1, 2) == 3", timeout=60)
        assert reply["content"]["status"] == "ok"
        child = [
            p for p in psutil.Process(manager.provisioner.process.pid).children() if CHILD in " ".join(p.cmdline())
        ]
        assert len(child) == 1
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    child[0].wait(30)  # raises when it outlives a kernel that was killed


def test_nbval_accepts_it(shared_parts, tmp_path):
    cells = [new_code_cell(source) for source in (LOAD, ADD, "print(add(1, 2))")]
    for number, cell in enumerate(cells, 1):
        cell.execution_count = number
    cells[2].metadata["tags"] = ["nbval-check-output"]
    cells[2].outputs = [nbformat.v4.new_output("stream", name="stdout", text="3\n")]
    path = tmp_path / "cpp.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--nbval-lax", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and "3 passed" in done.stdout, done.stdout


def test_the_rules_for_lessons_know_such_cells(tmp_path):
    """An answer cell in C++ defines the names of its first line, and a check cell may pass them."""
    path = tmp_path / "21_cpp.ipynb"
    base = {"schema_version": 3, "cell_type": "code", "task": False}
    answer = {"nbgrader": base | {"grade_id": "add", "grade": False, "solution": True, "locked": False}}
    check = {
        "nbgrader": base | {"grade_id": "check-add", "grade": True, "solution": False, "locked": True, "points": 3}
    }
    template = "%%cpp --timeout 5 add\ntemplate <class T>\n// BEGIN SOLUTION\nint plus(T);\n// END SOLUTION\n"
    cells = [
        new_code_cell(template, metadata=answer, id="a"),
        new_code_cell("exercises.add(add)", metadata=check, id="b"),
    ]
    nbformat.write(new_notebook(cells=cells), path)

    class Exercise:
        points, core, answers = 3, True, ("add",)

    faults = check_lesson(path, {"add": Exercise})
    assert not [fault for fault in faults if "cell 1" in fault or "cell 2" in fault], faults
