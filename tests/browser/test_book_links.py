"""The built book read as files: no link is dead, nothing comes from elsewhere, every picture has words."""

import itertools
import re
from collections import Counter
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag, urljoin

import pytest

pytestmark = pytest.mark.browser
LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("video", "src"), ("image", "href")}


class Reader(HTMLParser):
    """What one page refers to, and what is wrong with it."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loads, self.faults, self.headings = [], [], [], [], []
        self.title, self.lang, self._in_title = "", "", False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        has = dict(attributes)
        if has.get("id"):
            self.ids.append(has["id"])
        if tag == "html":
            self.lang = has.get("lang", "")
        if tag == "a" and "href" in has:
            self.links.append(has["href"])
        if tag == "link" and has.get("rel") in ("stylesheet", "preload", "icon", "shortcut icon"):
            self.loads.append(has["href"])
        self.loads += [value for name, value in attributes if (tag, name) in LOADED]
        hidden = has.get("aria-hidden") == "true" or has.get("role") == "presentation"
        if tag == "img" and "alt" not in has and not hidden:
            self.faults.append(f"an image without alt: {has.get('src')}")
        if tag == "svg" and not hidden and not (has.get("role") == "img" and has.get("aria-label", "").strip()):
            self.faults.append(f"an svg without a name: {attributes}")
        if tag == "canvas" and not hidden and not has.get("aria-label"):
            self.faults.append(f"a canvas without a name: {attributes}")
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        self._in_title = tag == "title"

    def handle_data(self, data):
        if self._in_title:
            self.title += data

    def handle_endtag(self, tag):
        self._in_title = False


@pytest.fixture(scope="module")
def read(site):
    """{page: Reader} of every page."""
    return {page: Reader((site.folder / page).read_text(encoding="utf-8")) for page in site.pages}


def test_there_is_a_page_for_every_lesson(site):
    assert len(site.lessons) >= 12 and {"index.html", "glossary.html", "search.html"} <= set(site.pages)


def test_no_internal_link_is_dead(site, read):
    dead = []
    for page, found in read.items():
        for link in found.links:
            if re.match(r"[a-z][a-z0-9+.-]*:", link, re.I) or link.startswith("//"):
                continue  # to another host, or mail
            target, anchor = urldefrag(urljoin(page, link))
            target = unquote(target.partition("?")[0]) or page
            if target.endswith("/"):
                target += "index.html"
            if not (site.folder / target).is_file():
                dead.append(f"{page}: {link} leads to no file")
            elif anchor and target in read and unquote(anchor) not in read[target].ids:
                dead.append(f"{page}: {link} leads to a page without that anchor")
    assert "\n".join(sorted(set(dead))) == ""


def test_nothing_is_loaded_from_another_host(site, read):
    elsewhere = [
        f"{page}: {url}" for page, found in read.items() for url in found.loads if re.match("(https?:)?//", url)
    ]
    for path in site.folder.rglob("*.css"):
        for url in re.findall(
            r"(?:url\(|@import\s+)[\"']?((?:https?:)?//[^\"')\s]+)", path.read_text(encoding="utf-8")
        ):
            elsewhere.append(f"{path.name}: {url}")
    assert elsewhere == []


def test_every_id_is_on_its_page_once(read):
    doubled = {page: [i for i, times in Counter(found.ids).items() if times > 1] for page, found in read.items()}
    assert {page: ids for page, ids in doubled.items() if ids} == {}


def test_every_picture_has_words_or_is_hidden_on_purpose(read):
    assert {page: found.faults[:3] for page, found in read.items() if found.faults} == {}


def test_every_page_says_its_language_and_has_a_title_of_its_own(read):
    assert {found.lang for found in read.values()} == {"en"}
    titles = Counter(found.title.strip() for found in read.values())
    assert all(titles) and max(titles.values()) == 1, titles.most_common(2)


def test_headings_do_not_skip_a_level(read):
    for page, found in read.items():
        levels = found.headings
        assert 1 in levels, page  # the theme repeats it for printing
        assert all(after <= before + 1 for before, after in itertools.pairwise(levels)), (page, levels)
