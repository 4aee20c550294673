"""The listing on a page: both columns, the counts in words, nothing that needs colour or a script to be read."""

import re
from html.parser import HTMLParser

import pytest

from labs.kit.draw.style import contrast
from labs.kit.gpu.inspect import compare, examples, page
from labs.kit.gpu.inspect.devices import target
from labs.kit.gpu.inspect.microscope import listing
from labs.kit.gpu.inspect.request import request
from labs.kit.gpu.inspect.stored import find


@pytest.fixture(scope="module")
def wmma():
    wanted = request(examples.WMMA, target("sm_80"))
    return listing(wanted, find(wanted), stored=True)


class Text(HTMLParser):
    """The text of each element that is never closed wrongly; `open` must be empty at the end."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.rows = [], [], 0

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.rows += ("class", "lx-row") in attributes

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.text.append(data)


def test_both_columns_are_complete(wmma):
    reader = Text()
    reader.feed(page.html(wmma))
    assert reader.open == []
    text = "\n".join(reader.text)
    for line in examples.WMMA.splitlines():
        assert line in text
    assert "".join(reader.text).count("HMMA.16816.F32") == 10 + 1, "each instruction, and once in the counts"
    assert "10 tensor: HMMA.16816.F32" in text and "40 global load of 32 bit" in text
    assert "stored listing" in text and "Stored with the course" in text
    assert reader.rows >= len(wmma.instructions) + len(examples.WMMA.splitlines())


def test_quiet_runs_are_folded_and_nothing_telling_is(wmma):
    html = page.html(wmma)
    folded = re.findall(r"<details[^>]*>(.*?)</details>", html, flags=re.S)
    assert folded and not any("lx-badge" in part for part in folded)
    for part in folded:
        said, rows = int(re.search(r"<summary>(\d+) more", part)[1]), part.count('class="lx-row')
        assert said == rows >= page.LEAST_FOLDED


def test_a_source_line_shows_what_it_became(wmma):
    html = page.html(wmma)
    row = next(part for part in html.split('<div class="lx-row"') if "mma_sync(c, a, b, c)" in part)
    assert 'title="10 times tensor">T×10' in row and 'role="button" tabindex="0" data-line="14"' in row
    assert html.count('data-from="14"') >= 10


def test_the_page_is_one_piece_and_of_modest_size(wmma):
    html = page.html(wmma)
    assert not re.search(r"https?:|@import|src=", html)
    assert len(html) < 300 * len(wmma.instructions)
    assert html.count("<script>") == 1 and "lx-live" in html
    assert not re.search(r"[;{}]\s*(?:body|html|div|pre|p)\s*\{", re.search(r"<style>(.*?)</style>", html)[1])


def colours(theme):
    block = {"light": r"\.lx \{(.*?)\}", "dark": r"body\.vscode-dark \.lx \{(.*?)\}"}[theme]
    css = page.files(page.__package__).joinpath("page.css").read_text(encoding="utf-8")
    text = re.search(block, css, flags=re.S)[1]
    return dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", text))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_reach_wcag_aa(theme):
    found = colours(theme)
    for name in ("ink", "mute", "tensor", "math", "load", "store", "wait"):
        assert contrast(found[name], found["soft"]) >= 4.5, (theme, name)
    assert contrast(found["ink"], found["mark"]) >= 4.5 and contrast(found["mute"], found["mark"]) >= 4.5


def test_it_shows_itself(wmma):
    bundle = wmma._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"} and bundle["text/plain"] == repr(wmma)


def test_several_side_by_side(wmma):
    scalar = request(examples.TILED, target("sm_80"))
    table = compare({"WMMA": wmma, "scalar": listing(scalar, find(scalar), stored=True)})
    assert table.columns[:2] == ("tensor", "fma") and "atomic" not in table.columns
    rows = dict(table.rows)
    assert rows["WMMA"][0] == "10 HMMA.16816.F32" and rows["scalar"][:2] == ("none", "16")
    assert rows["WMMA"][table.columns.index("global load")] == "40 of 32 bit"
    assert rows["scalar"][-1] == str(len(listing(scalar, find(scalar)).instructions))
    shown = table._repr_mimebundle_()
    assert shown["text/html"].count('scope="row"') == 2 and shown["text/plain"].count("\n") == 2
    assert compare([wmma]).rows[0][0] == "sm_80"
    with pytest.raises(ValueError, match="no listing"):
        compare([])
    with pytest.raises(ValueError, match="Unknown kind 'loads'"):
        compare([wmma], ["loads"])
