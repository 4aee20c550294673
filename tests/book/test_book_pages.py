"""The written pages: a link for every word of the glossary, plans whose minutes add up, a description for each page."""

import json
import re

import pytest
import yaml

GLOSSARY_ENTRY = re.compile(r"(?m)^(?P<term>\S.*)\n(?P<text>(?:  .*\n)+)")


def slug(heading):
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.fixture(scope="module")
def sections(root):
    """{(lesson, slug of a heading, or "" for the opening): its text, code included}."""
    found = {}
    for path in sorted((root / "solutions").glob("*.ipynb")):
        here = ""
        for cell in json.loads(path.read_text())["cells"]:
            for line in "".join(cell["source"]).splitlines():
                if cell["cell_type"] == "markdown" and re.match("##+ ", line):
                    here = slug(line.lstrip("# "))
                found[path.stem, here] = found.get((path.stem, here), "") + line + "\n"
    return found


def glossary(root):
    body = (root / "book" / "glossary.md").read_text().split("```{glossary}\n")[1].rsplit("```", 1)[0]
    return [(m["term"], m["text"]) for m in GLOSSARY_ENTRY.finditer(body)]


def test_every_word_of_the_glossary_links_to_a_section_that_uses_it(root, sections):
    words = glossary(root)
    assert len(words) > 70
    for term, text in words:
        links = re.findall(r"\]\(lessons/(\w+)\.ipynb(?:#([\w-]+))?\)", text)
        assert len(links) == 1, term
        section = re.sub(r"[-_]", " ", sections[links[0]].lower())
        parts = re.sub(r" \(.*", "", term).lower().replace("-", " ").split()
        assert any(part in section for part in parts if len(part) > 3), (term, links)


def test_the_glossary_is_in_order_and_names_nothing_twice(root):
    terms = [term.casefold() for term, _ in glossary(root)]
    assert terms == sorted(set(terms))


@pytest.mark.parametrize("heading, end", [("Two hours", 120), ("A day", 16 * 60 + 30)])
def test_minutes_of_a_plan_add_up(root, heading, end):
    text = (root / "book" / "syllabi.md").read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = re.findall(r"(?m)^\| (\d+):(\d\d) \| (\d+) \|", text)
    assert len(rows) > 8
    clock = None
    for hours, minutes, length in rows:
        begins = 60 * int(hours) + int(minutes)
        assert clock in (None, begins), (heading, hours, minutes)
        clock = begins + int(length)
    assert clock == end


def test_weeks_of_the_term_fit_and_respect_what_lessons_need(root, entries):
    text = (root / "book" / "syllabi.md").read_text().split("## A term of 14 weeks")[1]
    weeks = re.findall(r"(?m)^\| (\d+) \| (.*?) \|", text)
    assert [int(week) for week, _ in weeks] == list(range(1, 15))
    minutes = {entry.number: entry.minutes for entry in entries}
    seen = []
    for _, plan in weeks:
        assert sum(int(n) for n in re.findall(r"\((\d+)\)", plan)) == 90, plan
        first = re.match(r"(\d\d)(?: and (\d\d))? \((\d+)\)", plan)
        if first:
            lessons = [int(number) for number in first.groups()[:2] if number]
            assert sum(minutes[number] for number in lessons) == int(first[3]), plan
            seen += lessons
    assert set(seen) == set(minutes)
    assert all(seen.index(need) < seen.index(entry.number) for entry in entries for need in entry.needs)


def test_a_day_takes_each_lesson_for_the_time_it_needs_and_after_what_it_needs(root, entries):
    text = (root / "book" / "syllabi.md").read_text().split("## A day\n")[1].split("\n## ")[0]
    rows = re.findall(r"(?m)^\| \S+ \| (\d+) \| (\d\d) ", text)
    by_number = {entry.number: entry for entry in entries}
    done = []
    for minutes, number in rows:
        entry = by_number[int(number)]
        assert int(minutes) == entry.minutes and set(entry.needs) <= set(done)
        done.append(entry.number)
    assert done == [0, 1, 7, 8, 10]


def test_every_page_is_in_the_contents_and_has_a_description_of_its_own(root):
    book = root / "book"
    contents = yaml.safe_load((book / "_toc.yml").read_text())
    pages = {chapter["file"] for part in contents["parts"] for chapter in part["chapters"]} | {contents["root"]}
    written = {path.stem for path in book.glob("*.md")}
    assert written == {page for page in pages if not page.startswith("lessons/")}
    texts = {}
    for page in written:
        front = yaml.safe_load((book / f"{page}.md").read_text().split("---")[1])
        texts[page] = front["myst"]["html_meta"]["description"]
    assert len(set(texts.values())) == len(texts)
    assert all(50 < len(text) < 160 for text in texts.values()), texts
