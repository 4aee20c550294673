"""The book in a browser: complete, readable without a kernel, and never asking another host for anything."""

import pytest

pytestmark = pytest.mark.browser
FOLDED = "all => all.map(d => d.open)"


def test_every_page_loads_whole_and_from_here_only(reader, site):
    for name in site.pages:
        reader.goto(site.address + name, wait_until="networkidle")
        assert reader.elsewhere == [], name
        assert reader.errors == [], name
        assert reader.locator("h1:visible").count() == 1, name


def test_answers_are_folded_and_a_phone_does_not_have_to_scroll_sideways(reader, site):
    reader.set_viewport_size({"width": 390, "height": 800})
    for name in site.pages:
        reader.goto(site.address + name, wait_until="load")
        assert reader.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0, name
        if name in site.lessons:
            folded = reader.locator("details.hide.above-input")
            assert folded.count() >= 2, name
            assert not any(folded.evaluate_all(FOLDED)), name
            visible = reader.locator("main .cell_input:visible").all_inner_texts()
            assert not any("BEGIN SOLUTION" in text for text in visible), name


def test_formulas_are_set_by_the_book_s_own_mathjax(reader, site):
    reader.goto(f"{site.address}lessons/08_all_reduce.html", wait_until="networkidle")
    assert reader.locator("mjx-container").count() >= 1
