"""The book in a browser: complete, readable without a kernel, and never asking another host for anything."""

import functools
import http.server
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser
ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "book" / "_build" / "html"
LESSONS = sorted(path.stem for path in (ROOT / "solutions").glob("[0-9][0-9]_*.ipynb"))


@pytest.fixture(scope="module")
def site():
    """The built book on a local server; gives its address."""
    built = subprocess.run([sys.executable, "book/build.py"], cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout[-3000:] + built.stderr[-3000:]

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(HTML)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def page(browser, site):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.elsewhere, page.errors = [], []
    page.on("request", lambda r: r.url.startswith((site, "data:", "blob:")) or page.elsewhere.append(r.url))
    page.on("console", lambda m: page.errors.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    yield page
    page.close()


@pytest.mark.parametrize(
    "name", ["index", "teaching", "glossary", "search", *(f"lessons/{lesson}" for lesson in LESSONS)]
)
def test_a_page_loads_whole_and_from_here_only(page, site, name):
    page.goto(f"{site}{name}.html", wait_until="networkidle")
    assert page.elsewhere == []
    assert page.errors == []
    assert page.locator("h1").count() >= 1
    pictures = page.locator(".bd-article svg[role=img]")
    assert all(label for label in pictures.evaluate_all("all => all.map(p => p.getAttribute('aria-label'))"))


@pytest.mark.parametrize("lesson", LESSONS)
def test_answers_are_folded(page, site, lesson):
    page.goto(f"{site}lessons/{lesson}.html", wait_until="networkidle")
    folded = page.locator("details.hide.above-input")
    assert folded.count() >= 2
    assert all(not is_open for is_open in folded.evaluate_all("all => all.map(d => d.open)"))
    visible = page.locator("main .cell_input:visible").all_inner_texts()
    assert not any("BEGIN SOLUTION" in text for text in visible)


def test_a_player_steps_by_keyboard(page, site):
    page.goto(f"{site}lessons/08_all_reduce.html", wait_until="networkidle")
    player = page.locator(".labs-player").first
    player.scroll_into_view_if_needed()
    player.locator("input[type=range]").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert re.match(r"Step 2\b", player.locator(".labs-say").inner_text())


def test_formulas_are_set_by_the_book_s_own_mathjax(page, site):
    page.goto(f"{site}lessons/08_all_reduce.html", wait_until="networkidle")
    assert page.locator("mjx-container").count() >= 1


def test_a_phone_does_not_have_to_scroll_sideways(page, site):
    page.set_viewport_size({"width": 390, "height": 800})
    for name in ["index", *(f"lessons/{lesson}" for lesson in LESSONS)]:
        page.goto(f"{site}{name}.html", wait_until="networkidle")
        assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0, name


def test_search_finds_a_word_of_a_lesson(page, site):
    page.goto(f"{site}search.html?q=rendezvous", wait_until="networkidle")
    page.wait_for_selector("ul.search li", timeout=20_000)
    assert page.locator("ul.search li").count() >= 1
