"""nbgrader's Formgrader on a course folder: hand out, grade and look through a notebook with the mouse alone."""

from pathlib import Path

import nbformat
import pytest

from labs.course.testing import answers_of, filled

pytestmark = pytest.mark.browser
ROOT = Path(__file__).resolve().parents[2]
LESSON = "00_welcome"
PATIENCE = 90_000  # ms; only an upper bound


@pytest.fixture(scope="module")
def page(browser, teacher):
    """Formgrader, with the notebook that ada handed in: all solved, but her average is a sum."""
    address, token, folder = teacher
    known = answers_of(ROOT, "welcome")
    answers = {exercise: next(one.source for one in some if one.right) for exercise, some in known.items()}
    answers["average"] = next(one.source for one in known["average"] if one.style == "sum_not_mean")
    notebook = filled(ROOT / "notebooks" / f"{LESSON}.ipynb", answers)
    path = folder / "submitted" / "ada" / LESSON / f"{LESSON}.ipynb"
    path.parent.mkdir(parents=True)
    nbformat.write(notebook, path)
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(PATIENCE)
    page.goto(f"{address}/formgrader?token={token}")
    yield page
    page.close()


def press(page, row, column):
    """Press the button in a row of a table, and return what Formgrader says when it is done."""
    page.locator("tr", has_text=row).locator(f".{column} a").click()
    said = page.locator(".modal.in")
    said.get_by_text("Log Output").wait_for()
    text = said.inner_text()
    said.get_by_role("button", name="OK").click()
    said.wait_for(state="detached")
    return text


def test_a_lesson_is_handed_out_graded_and_looked_through(page, teacher):
    address, _, folder = teacher
    assert "Successfully created the student version" in press(page, LESSON, "assign")
    released = folder / "release" / LESSON / f"{LESSON}.ipynb"
    assert released.read_bytes() == (ROOT / "notebooks" / released.name).read_bytes()

    page.goto(f"{address}/formgrader/manage_submissions/{LESSON}")
    assert "Successfully autograded" in press(page, "ada", "autograde")
    row = page.locator("tr", has_text="ada")
    row.get_by_text("graded", exact=True).wait_for()
    row.locator(".score", has_text="6 / 9").wait_for()

    page.goto(f"{address}/formgrader/gradebook/{LESSON}/{LESSON}")
    page.get_by_role("link", name="Submission #1").click()
    filled_in = page.locator("input.score[placeholder]")  # Formgrader asks for the points when the page is there
    filled_in.nth(2).wait_for()
    assert [box.get_attribute("placeholder") for box in filled_in.all()] == ["3", "0", "3"]
    report = page.locator(".output_html", has_text="How does a sum become an average?")
    assert report.locator("svg").count() >= 1
