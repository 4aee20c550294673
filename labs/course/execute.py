"""Execute the sources of the lessons and store their outputs, byte-identical where nothing is measured.

A lesson is executed in a fresh kernel of this very environment, from its own folder, with a fixed seed for hashes, a
fixed width of text, one thread for linear algebra, UTC, and an empty folder for progress. What was executed is kept in
the notebook as hashes of its code cells (metadata ``labs.executed``) and of their outputs (``labs.outputs``): only
changed lessons run again, prose may change freely, and outputs of an author's own session are noticed.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from labs.course.canonical import NotebookError, canonical, dumps, read, where

SIZE_LIMIT = 1_000_000  # bytes of one stored notebook
CELL_TIMEOUT = 120  # s; a lesson as a whole stays below 60 s, this only ends a cell that hangs
ENVIRONMENT = {
    "COLUMNS": "80",
    "LABS_STATIC": "1",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "NO_COLOR": "1",
    "OMP_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "PYTHON_COLORS": "0",
    "TZ": "UTC",
}


@dataclass(frozen=True)
class Execution:
    """What came of executing one lesson.

    Attributes
    ----------
    name : str
        File name of the notebook.
    seconds : float
        Wall time with the start of the kernel (s).
    size : int
        Size of the stored notebook (B).
    changed : bool
        Whether the stored file is another than before.
    """

    name: str
    seconds: float
    size: int
    changed: bool


def code_hash(notebook):
    """Return the hash of what a notebook executes: the text of its code cells, in order.

    Parameters
    ----------
    notebook : nbformat.NotebookNode

    Returns
    -------
    str
        16 hexadecimal digits.
    """
    digest = hashlib.sha256()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            digest.update(cell.source.encode() + b"\0")
    return digest.hexdigest()[:16]


def outputs_hash(notebook):
    """Return the hash of a canonical notebook's outputs: 16 hexadecimal digits."""
    outputs = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    return hashlib.sha256(json.dumps(outputs, sort_keys=True).encode()).hexdigest()[:16]


def is_stale(notebook):
    """Say whether a canonical notebook's code or outputs are others than those of its stored execution."""
    return notebook.metadata.get("labs") != _executed(notebook)


def _executed(notebook):
    """Return what a notebook keeps about its execution."""
    return {"executed": code_hash(notebook), "outputs": outputs_hash(notebook)}


def check_stored(path, root=None):
    """Check that the outputs of a source are there, up to date and in canonical form.

    Parameters
    ----------
    path : path-like
        A notebook in solutions/.
    root : path-like, optional
        Folder of the course.

    Returns
    -------
    list of str
        A sentence for each fault; empty when all is well.
    """
    path = Path(path)
    notebook = read(path)
    form = canonical(notebook, path.name, root)
    name, again = path.name, f"Run: python -m labs solutions {path.stem}"
    if "executed" not in notebook.metadata.get("labs", {}):
        return [f"{name} has not been executed. {again}"]
    if notebook.metadata["labs"]["executed"] != code_hash(form):
        return [f"{name}: a code cell has changed since its outputs were stored. {again}"]
    if is_stale(form):
        return [f"{name}: its outputs are not those that were stored (run by hand in an editor?). {again}"]
    text = path.read_text(encoding="utf-8")
    if text != dumps(form):
        return [f"{name} is not in canonical form (saved by an editor?). {again}"]
    size = len(text.encode())
    if size > SIZE_LIMIT:
        return [f"{name} is {size / 1e6:.2f} MB; a notebook may be {SIZE_LIMIT / 1e6:.0f} MB. Show less."]
    return []


def execute(path, root=None, *, timeout=CELL_TIMEOUT):
    """Execute a notebook in a fresh kernel.

    Parameters
    ----------
    path : path-like
        The notebook; the file is not changed.
    root : path-like, optional
        Folder of the course, from which the kernel imports `labs`.
    timeout : float
        Limit for one cell (s).

    Returns
    -------
    nbformat.NotebookNode
        In canonical form, with outputs and the hash of the code that gave them.

    Raises
    ------
    NotebookError
        When a cell raises that is not tagged "raises-exception", hangs, or ends the kernel; the message shows the cell.
    """
    # nbclient is for authors and graders; a learner's command line starts without it.
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    path = Path(path).resolve()
    notebook = canonical(read(path), path.name, root)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    running = []
    manager = _kernel_manager()
    client = NotebookClient(
        notebook,
        km=manager,
        timeout=timeout,
        record_timing=False,
        store_widget_state=False,
        resources={"metadata": {"path": str(path.parent)}},
        on_cell_execute=lambda cell, cell_index: running.append(cell_index),
    )
    with tempfile.TemporaryDirectory(prefix="labs-") as state:
        fault = None
        try:
            client.execute(env=_environment(state, root))
        except CellExecutionError as error:
            fault = f"raised {error.ename}: {error.evalue}"
        except CellTimeoutError:
            fault = f"was still running after {timeout:g} s"
        except DeadKernelError:
            fault = "ended the kernel"
        finally:
            _shut_down(manager)  # nbclient leaves the kernel of a manager that it was given
    if fault:
        raise NotebookError(_failure(path.name, notebook, running[-1] if running else 0, fault, root))
    result = canonical(notebook, path.name, root)
    result.metadata["labs"] = _executed(result)
    return result


def keep(path, root=None):
    """Keep the outputs of a source whose code has not changed, and bring the file into canonical form.

    Parameters
    ----------
    path, root
        As for `execute`.

    Returns
    -------
    bool
        Whether the outputs could be kept; if not, the file is untouched and wants `store`.
    """
    path = Path(path)
    form = canonical(read(path), path.name, root)
    if is_stale(form):
        return False
    text = dumps(form)
    if path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
    return True


def store(path, root=None, *, timeout=CELL_TIMEOUT):
    """Execute a notebook and store its outputs in place.

    Parameters
    ----------
    path : path-like
        A notebook in solutions/.
    root, timeout
        As for `execute`.

    Returns
    -------
    Execution

    Raises
    ------
    NotebookError
        As for `execute`, and when the result is larger than 1 MB; the file then stays as it was.
    """
    path, start = Path(path), time.perf_counter()
    text = dumps(execute(path, root, timeout=timeout))
    seconds, size = time.perf_counter() - start, len(text.encode())
    if size > SIZE_LIMIT:
        raise NotebookError(
            f"{path.name} would be {size / 1e6:.2f} MB with its outputs; a notebook may be "
            f"{SIZE_LIMIT / 1e6:.0f} MB. {_largest(text)}"
        )
    changed = path.read_text(encoding="utf-8") != text
    if changed:
        path.write_text(text, encoding="utf-8")
    return Execution(path.name, seconds, size, changed)


def _environment(state, root):
    """Return the environment of the kernel: what a learner's machine sets must not show in the outputs."""
    result = {**os.environ, **ENVIRONMENT, "LABS_STATE": state, "IPYTHONDIR": os.path.join(state, "ipython")}
    if root is not None:
        result["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(root).resolve()), os.environ.get("PYTHONPATH")]))
    return result


def _kernel_manager():
    """Return a manager whose kernel is this interpreter, whatever kernels the user has installed."""
    from ipykernel.kernelspec import get_kernel_dict
    from jupyter_client import AsyncKernelManager
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager

    own = get_kernel_dict()  # begins with sys.executable
    # No history on disk, and no warning that a kernel on this machine talks to it without encryption.
    own["argv"] = [*own["argv"], "--HistoryManager.enabled=False", "--log-level=ERROR"]

    class ThisInterpreter(KernelSpecManager):
        """Knows one kernel."""

        def get_kernel_spec(self, kernel_name):
            return KernelSpec(**own)

    return AsyncKernelManager(kernel_name="python3", kernel_spec_manager=ThisInterpreter())


def _shut_down(manager):
    """End a kernel and what belongs to it, whether it still runs or not."""
    from jupyter_core.utils import run_sync

    if manager.has_kernel:
        run_sync(manager.shutdown_kernel)(now=True)
    run_sync(manager.cleanup_resources)()


def _failure(name, notebook, index, fault, root):
    """Show the cell that failed, with line numbers, and its traceback."""
    cell = notebook.cells[index]
    lines = [f"{where(name, index, cell)} {fault}"]
    lines += [f"    {number:>3}  {text}" for number, text in enumerate(cell.source.split("\n"), start=1)]
    shown = canonical(notebook, name, root).cells[index]
    for output in shown.get("outputs", []):
        if output.output_type == "error":
            lines += [f"    {text}" for text in output.traceback[-30:]]
    lines.append('    If it is meant to fail, tag the cell "raises-exception".')
    return "\n".join(lines)


def _largest(text):
    """Name the cell with the largest outputs."""
    cells = json.loads(text)["cells"]
    sizes = [len(json.dumps(cell.get("outputs", []))) for cell in cells]
    index = max(range(len(cells)), key=sizes.__getitem__)
    return f"The largest outputs, {sizes[index] / 1e6:.2f} MB, are those of {where('it', index, cells[index])}."
