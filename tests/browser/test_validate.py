"""nbgrader's Validate button in the JupyterLab of `make lab`: it names the checks that fail, if any does."""

import runpy
from pathlib import Path

import nbformat
import pytest

from labs.course.testing import answers_of, filled

pytestmark = pytest.mark.browser
_driving = runpy.run_path(str(Path(__file__).with_name("driving.py")))  # test folders are no packages
PATIENCE, idle = _driving["PATIENCE"], _driving["idle"]
ROOT = Path(__file__).resolve().parents[2]
KNOWN = answers_of(ROOT, "welcome")


def answer(exercise, style):
    return next(known.source for known in KNOWN[exercise] if known.style == style)


def right(exercise):
    return next(known.source for known in KNOWN[exercise] if known.right)


LEARNERS = {
    "half": {"square": right("square"), "average": answer("average", "sum_not_mean")},
    "solved": {exercise: right(exercise) for exercise in KNOWN},
}


@pytest.fixture(scope="module")
def page(browser, lab):
    """JupyterLab with a welcome notebook of each learner; what a browser's console and the network say is kept."""
    address, token, home = lab
    for name, answers in LEARNERS.items():
        notebook = filled(ROOT / "notebooks/00_welcome.ipynb", answers)
        nbformat.write(notebook, home / "notebooks" / f"{name}.ipynb")
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    page.failed, page.complaints = [], []
    page.on("response", lambda answer: answer.status < 400 or page.failed.append(f"{answer.status} {answer.url}"))
    page.on("console", lambda line: line.type == "error" and page.complaints.append(line.text))
    page.goto(f"{address}/?token={token}")
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=PATIENCE)
    yield page
    page.close()


def validate(page, lab, name):
    """Press the button in a learner's notebook; returns the text of nbgrader's answer."""
    address, token, _ = lab
    page.goto(f"{address}/lab/tree/notebooks/{name}.ipynb?token={token}&reset")
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=PATIENCE)
    idle(page)
    button = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)").get_by_text("Validate", exact=True)
    button.wait_for(timeout=PATIENCE)
    assert page.locator(".jp-Dialog").count() == 0, "a pop-up before anybody asked for one"
    button.click()
    dialog = page.locator(".jp-Dialog")
    dialog.wait_for(timeout=PATIENCE)
    text = dialog.inner_text()
    dialog.get_by_role("button", name="Ok", exact=True).click()
    return text


def test_nothing_of_nbgrader_complains_or_pops_up_for_who_does_not_use_it(page, lab):
    idle(page)
    page.wait_for_timeout(1500)
    assert page.locator(".jp-Dialog").count() == page.locator(".Toastify__toast").count() == 0
    assert [line for line in page.failed + page.complaints if "nbgrader" in line or "formgrader" in line] == []
    assert page.get_by_role("menuitem", name="Nbgrader").count() == 0
    log = (lab[2] / "lab.log").read_text()
    assert "validate_assignment | extension was successfully loaded" in log
    assert "formgrader" not in log and "course directory" not in log


def test_half_solved_names_the_checks_that_fail(page, lab):
    told = validate(page, lab, "half")
    assert told.count("The following cell failed") == 2
    assert "exercises.square(square)" not in told
    assert "exercises.average(average)" in told and "exercises.add_one(add_one)" in told
    assert "not solved yet" in told.partition("exercises.add_one(add_one)")[2]
    assert "Traceback" not in told and "?" in told.partition("exercises.average(average)")[2]


def test_solved_is_a_success(page, lab):
    assert "Success! Your notebook passes all the tests." in validate(page, lab, "solved")
