"""C++ and CUDA C++ cells in JupyterLab: not solved, wrong, crashing and right, with the kernel alive all the time."""

import runpy
import shutil
import sysconfig
from pathlib import Path

import pytest

HEADERS = Path(sysconfig.get_path("include"), "Python.h")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ here: C++ cells only say that it is missing"),
    pytest.mark.skipif(not HEADERS.exists(), reason=f"no {HEADERS} here: %%cpp cells only say that it is missing"),
]
_driving = runpy.run_path(str(Path(__file__).with_name("driving.py")))  # test folders are no packages
PATIENCE, cell_with, idle, output = (_driving[name] for name in ("PATIENCE", "cell_with", "idle", "output"))
run_cell, write = _driving["run_cell"], _driving["write"]


@pytest.fixture(scope="module")
def opened(browser, lab):
    """Open a notebook by its name; the pages are closed at the end."""
    address, token, _ = lab
    pages = []

    def open_notebook(name):
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        pages.append(page)
        page.goto(f"{address}/lab/workspaces/{name[:2]}/tree/notebooks/{name}?token={token}")
        page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=PATIENCE)
        idle(page)
        page.wait_for_timeout(1500)
        run_cell(page, cell_with(page, "%load_ext"))
        idle(page)
        return page

    yield open_notebook
    for page in pages:
        page.close()


def test_a_cuda_cell_is_unsolved_then_wrong_then_right(opened):
    page = opened("06_tensor_cores.ipynb")
    cell = cell_with(page, "%%cuda tiled_grid")
    run_cell(page, cell)  # as it is given: right for one block only
    check = cell_with(page, "exercises.tiled_grid(tiled_grid)")
    run_cell(page, check)
    told = output(check, "Repair the tiled kernel")
    assert "First to fail" in told and "Your row strides" in told and "Traceback" not in told.split("All 6 cases")[0]
    product = cell_with(page, "%%cuda wmma_product")
    run_cell(page, product)
    check = cell_with(page, "exercises.wmma_product(wmma_product)")
    run_cell(page, check)
    output(check, "not solved yet")


CENTER = """%%cpp center_columns
void center_columns(lab::Vector<double> numbers, int rows, int columns) {
    for (int j = 0; j < columns; ++j) {
        double sum = 0;
        for (int i = 0; i < rows; ++i) sum += numbers.data()[i * columns + j];
        for (int i = 0; i < rows; ++i) numbers.data()[i * columns + j] -= sum / SCALE;
    }
}"""


def test_a_cpp_cell_is_unsolved_then_wrong_then_right(opened):
    page = opened("21_cpp_data_formats.ipynb")
    cell = cell_with(page, "%%cpp center_columns")
    run_cell(page, cell)
    check = cell_with(page, "exercises.center_columns(center_columns)")
    run_cell(page, check)
    output(check, "not solved yet")
    write(page, cell, CENTER.replace("SCALE", "columns"))
    run_cell(page, cell)
    run_cell(page, check)
    told = output(check, "Map row-major memory")
    assert "First to fail" in told
    write(page, cell, CENTER.replace("SCALE", "rows"))
    run_cell(page, cell)
    run_cell(page, check)
    output(check, "all 9 cases pass")


def test_a_crash_costs_neither_kernel_nor_variables(opened):
    page = opened("21_cpp_data_formats.ipynb")
    for text in ("import numpy as np", "%%cpp total", "%%cpp beyond"):
        run_cell(page, cell_with(page, text))
        idle(page)
    run_cell(page, crash := cell_with(page, "beyond(np.array"))
    assert "read element 3" in output(crash, "Crashed")
    run_cell(page, after := cell_with(page, "still here"))
    output(after, "still here: 6.5")
