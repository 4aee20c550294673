"""Drive a notebook in JupyterLab as a person does: scroll to a cell, type, run, wait for what comes out."""

PATIENCE = 90_000  # ms; only an upper bound


def idle(page):
    page.wait_for_selector("#jp-main-statusbar :text('| Idle')", timeout=PATIENCE)


def menu(page, *names):
    for name in names:
        page.get_by_role("menuitem", name=name, exact=True).first.click()


def cell_with(page, text):
    """The code cell whose source contains `text`; JupyterLab draws only cells near the view, so scroll there."""
    cells = page.locator(".jp-CodeCell", has=page.locator(".jp-InputArea", has_text=text))
    for _ in range(60):
        if cells.count():
            cells.first.scroll_into_view_if_needed()
            return cells.first
        page.mouse.move(700, 600)
        page.mouse.wheel(0, 400)
        page.wait_for_timeout(100)
    raise AssertionError(f"no cell with {text!r}")


def output(cell, text):
    """Wait until the cell's output holds `text`, and return all of the output."""
    area = cell.locator(".jp-OutputArea")
    area.filter(has_text=text).first.wait_for(timeout=PATIENCE)
    return area.first.inner_text()


def write(page, cell, source):
    """Type `source` into the cell in place of what it holds."""
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(source)


def run_cell(page, cell):
    cell.locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
