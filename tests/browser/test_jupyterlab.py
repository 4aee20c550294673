"""The welcome notebook in JupyterLab, as a newcomer meets it: run it, move a slider, be wrong, be right."""

import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser
_driving = runpy.run_path(str(Path(__file__).with_name("driving.py")))  # test folders are no packages
PATIENCE, cell_with, idle, menu, output = (_driving[n] for n in ("PATIENCE", "cell_with", "idle", "menu", "output"))
run_cell, write = _driving["run_cell"], _driving["write"]


@pytest.fixture(scope="module")
def page(browser, lab):
    """The welcome notebook, open, its kernel idle."""
    address, token, _ = lab
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    page.elsewhere = []
    local = (address, address.replace("http", "ws"), "data:", "blob:")
    page.on("request", lambda request: request.url.startswith(local) or page.elsewhere.append(request.url))
    page.goto(f"{address}/?token={token}")  # as the browser that `make lab` opens: it leads to the welcome notebook
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=PATIENCE)
    idle(page)
    page.wait_for_timeout(1500)  # "Run all" before the notebook has settled is dropped without a word
    yield page
    page.close()


SQUARE = 'def square(dist):\n    """Return the square of this rank\'s number."""\n    return '


def test_it_opens_at_the_welcome_notebook_without_pop_ups(page):
    assert page.locator(".jp-NotebookPanel h1").first.inner_text().startswith("00")
    assert page.locator(".jp-Dialog").count() == 0
    assert page.locator(".Toastify__toast").count() == 0


def test_run_all_stops_at_the_first_unsolved_exercise(page):
    menu(page, "Run", "Run All Cells")
    assert "rank 3 of 4" in output(cell_with(page, "def hello(dist)"), "rank 3 of 4")
    output(cell_with(page, "exercises.square(square)"), "not solved yet")
    idle(page)


def test_a_wrong_answer_gets_its_own_question(page):
    write(page, cell := cell_with(page, "def square(dist)"), SQUARE + "dist.get_rank() ^ 2")
    run_cell(page, cell)
    check = cell_with(page, "exercises.square(square)")
    run_cell(page, check)
    assert "Traceback" not in output(check, "not a power")


def test_a_right_answer_in_one_changed_line(page):
    write(page, cell := cell_with(page, "def square(dist)"), SQUARE + "dist.get_rank() ** 2")
    run_cell(page, cell)
    check = cell_with(page, "exercises.square(square)")
    run_cell(page, check)
    assert "not a power" not in output(check, "all 5 cases pass")


def test_the_deadlock_explains_itself(page):
    cell = cell_with(page, "def swap(dist)")
    run_cell(page, cell)
    text = output(cell, "Deadlock")
    for rank in (0, 1):
        assert f"rank {rank} waits in send to rank {1 - rank}" in text
    assert "line 4 of your cell" in text


def test_a_slider_changes_the_picture(page):
    cell = cell_with(page, "figures.explore_all_reduce()")
    run_cell(page, cell)
    picture = cell.locator(".jp-OutputArea svg[role=img][aria-label*='4 ranks']").first
    picture.wait_for(timeout=PATIENCE)
    before = picture.get_attribute("aria-label")
    handle = cell.locator(".widget-slider .noUi-handle").first
    handle.scroll_into_view_if_needed()
    handle.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "([cell, before]) => { const p = cell.querySelector('.jp-OutputArea svg[role=img]');"
        " return p && p.getAttribute('aria-label') !== before }",
        arg=[cell.element_handle(), before],
        timeout=PATIENCE,
    )
    assert "5 ranks" in cell.locator(".jp-OutputArea svg[role=img]").first.get_attribute("aria-label")


def test_the_slider_of_a_prediction_has_a_name(page):
    cell = cell_with(page, "guess = figures.predict_messages()")
    run_cell(page, cell)
    handle = cell.locator(".noUi-handle[aria-label='Your prediction']").first
    handle.wait_for(timeout=PATIENCE)


def test_the_whole_visit_asked_no_other_host(page):
    assert page.elsewhere == []
