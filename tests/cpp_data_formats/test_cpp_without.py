"""The notebook of lesson 21 where there is no compiler, or no h5py: it runs to its end and says what it leaves out."""

import os
import re
import shutil
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
LESSON = ROOT / "solutions" / "21_cpp_data_formats.ipynb"
soak = pytest.mark.skipif(not os.environ.get("LABS_SOAK"), reason="half a minute more; LABS_SOAK=1 runs it")


def executed(monkeypatch, tmp_path, *, hidden=(), compiler=True):
    """What each cell prints, by its id, in a kernel that lacks some packages, and perhaps the compiler."""
    lines = [f"sys.modules[{name!r}] = None" for name in hidden]
    (tmp_path / "sitecustomize.py").write_text("\n".join(["import sys", *lines]))
    paths = [str(tmp_path), str(ROOT), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    monkeypatch.setenv("LABS_STATE", str(tmp_path))
    monkeypatch.setenv("LABS_STATIC", "1")
    if not compiler:
        tools = tmp_path / "tools"
        tools.mkdir()
        for name in ("sh", "env", "git", "uname"):
            if found := shutil.which(name):
                (tools / name).symlink_to(found)
        monkeypatch.setenv("PATH", str(tools))
        monkeypatch.delenv("CXX", raising=False)
    notebook = nbformat.read(LESSON, 4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    kernel = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    client.create_kernel_manager()
    client.km.kernel_spec.argv = kernel
    client.execute()
    said = {}
    for cell in notebook.cells:
        parts = [each.get("text") or each.get("evalue") or "" for each in cell.get("outputs", ())]
        parts += [str(each.get("data", {}).get("text/plain", "")) for each in cell.get("outputs", ())]
        said[cell.id] = "\n".join(parts)
    return said


def test_without_a_compiler_the_lesson_says_so_and_goes_on(monkeypatch, tmp_path):
    said = executed(monkeypatch, tmp_path, compiler=False, hidden=("cv2",))
    assert re.search(r"no C\+\+ compiler was found|Python\.h", said["cell-total"])  # what is missing first
    for name in ("center-columns", "parse-row", "slab", "json-matrix", "to-nchw"):
        assert said[f"check-{name}"].startswith("Not checked here")
    for name in ("call-total", "parts", "explore-slabs", "scale", "real", "seen-by", "stream-train"):
        assert "This cell needs more than this machine has" in said[name], name
    assert "not tried" in said["others"] and "pandas: [[1, 2, 3], [4, 5, 6]]" in said["others"]
    assert "seen, transposed: [[11.0, 12.0]" in said["transpose"]
    assert "CSV, this lesson is not measured" in said["measure"] and "JSON, json" in said["measure"]
    assert "DOES NOT" not in said["facts"]


@soak
def test_without_h5py_and_opencv_the_rest_runs(monkeypatch, tmp_path, readers_built):
    said = executed(monkeypatch, tmp_path, hidden=("h5py", "cv2", "pyarrow"))
    assert "HDF5 is not measured" in said["measure"] and "Arrow is not measured" in said["measure"]
    assert "h5py" in said["facts"] and "not installed" in said["facts"]
    assert all("all " in said[f"check-{name}"] for name in ("center-columns", "parse-row", "slab", "json-matrix"))
