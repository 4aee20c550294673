"""What the grader writes for people: nothing in it comes alive, nobody sees another's data, everybody can read it."""

import functools
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import asdict, replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tiny_course.notebooks import STUBS, learner

import labs.course.grade as room
from labs.course.grade import drawing, feedback, junit, outputs, overview, report, summary, verdict, words
from labs.course.grade.grade import grade_notebook
from labs.course.grade.grades import Grades
from labs.course.grade.learners import Learner
from labs.course.grade.marks import Mark, Part, Result
from labs.kit.draw import chunks
from labs.kit.draw.style import contrast
from labs.kit.exercise import Wrong

EVIL = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>\"' `x` | [a](http://evil.example) @you ***"
PARTS = (Part("correct", 1.5, 1.5, "passed"), Part("edge", 0, 0.75, "failed"), Part("budget", 0, 0.75, "not reached"))


@functools.cache
def picture():
    return chunks([[1, 10], [10, 100]], name="Who has what").svg()


def mark(**more):
    given = {"exercise": "ring", "title": "A ring", "points": 1.5, "of": 3, "status": "partly", "hint": "late",
             "question": "Who waits?", "case": "4 ranks", "evidence": "rank 0: 1\nrank 1: 2", "parts": PARTS,
             "then": ("Look at rank 0.", "First send,\n  send(x)\nthen receive."), "picture": picture()}  # fmt: skip
    return Mark(**given | more)


def result(key, **more):
    given = {"notebook": f"in/{key}/08_x.ipynb", "lesson": "08_x", "learner": key, "isolation": "isolated",
             "marks": (mark(), Mark("tree", "A tree", 3, 3, "solved", achieved=(("bytes sent", "75 MB"),)),
                       Mark("mesh", "A mesh", 0, 2, "unsolved", "unsolved", "Not solved."))}  # fmt: skip
    return Result(**given | more)


def everywhere(text):
    """Results in which this text stands wherever a learner, or an author, can put any."""
    bad = mark(title=text, question=text, case=text, evidence=text, then=(text, f"  {text}"), hint=text, picture=text)
    fine = replace(bad, status="solved", achieved=((text, text), ("", text)))
    one = Learner("k", text, "page")
    marks = (bad, fine, replace(bad, status="lost"))
    return Grades((one, Learner("other", "Bob", "Bob")),
                  (result("k", notebook=text, marks=marks, notes=(text,)), result("other", refused=text)),
                  (text,), {"08_x": text})  # fmt: skip


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text, self.open = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        if tag not in ("meta", "img", "br", "use", "path", "rect", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data):
        self.text.append(data)


def pages(grades):
    own = [feedback.feedback(who, grades.of_learner(who.key), grades.titles) for who in grades.learners]
    return [overview.overview(grades), *own]


# ---- nothing comes alive -----------------------------------------------------------------------------------------
def test_no_text_becomes_an_element_an_attribute_or_a_link():
    for made in pages(everywhere(EVIL)):
        page = Page(made)
        assert not {"script", "img", "iframe", "object", "embed", "link"} & set(page.tags)
        for _, name, value in page.attributes:
            assert not name.startswith("on")
            if name in ("href", "src"):
                assert value.startswith(("#", "feedback/", "gradebook.csv", "results.json", "junit.xml"))
        assert any("<script>alert(1)</script>" in text for text in page.text)
        assert "default-src 'none'" in next(v for t, n, v in page.attributes if t == "meta" and n == "content")


def test_summary_shows_text_as_it_stands_and_keeps_its_columns():
    text = summary.as_markdown(everywhere(EVIL + "\n\n# Title\n</details>"))
    assert "<script" not in text and "<img" not in text and "](http" not in text and "http:" not in text
    assert not [line for line in text.splitlines() if line.startswith("# ")]
    assert text.count("<details>") == text.count("</details>") > 0
    table = [re.sub(r"\\\|", "", line) for line in text.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in table[:5]} == {4}


def test_summary_stays_below_what_github_shows():
    many = tuple(Learner(str(i), f"Learner {i}", f"p{i}") for i in range(300))
    results = tuple(result(str(i), marks=tuple(mark(question="Why? " * 50) for _ in range(30))) for i in range(300))
    text = summary.as_markdown(Grades(many, results))
    assert len(text.encode()) < 1 << 20 and "blocks more are in results.json" in text


def test_junit_and_json_survive_any_text():
    grades = everywhere(EVIL + "\x00\x1b\ufffe")
    root = ET.fromstring(junit.junit(grades.results))
    assert root.find("testsuite/testcase/failure").get("message").startswith("</pre><script>")
    assert json.loads(report.as_json(grades))["notebooks"][0]["marks"][0]["question"].startswith("</pre>")


@pytest.mark.parametrize("inner", [
    "<script>1</script>", '<a href="#x">x</a>', '<image href="http://evil.example/x.png"/>', '<g onload="x()"/>',
    "<style>@import 'x'</style>", '<rect style="fill:url(http://evil.example)"/>', "<foreignObject/>",
    '<use href="javascript:x"/>',
])  # fmt: skip
def test_a_picture_that_does_more_than_draw_is_refused(inner):
    svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" role="img" aria-label="x">{}</svg>'
    assert drawing.is_safe(svg.format('<g><path d="M0 0"/></g>'))
    assert not drawing.is_safe(svg.format(inner))
    assert inner not in feedback.feedback(
        Learner("a", "a", "a"), [result("a", marks=(mark(picture=svg.format(inner)),))], {}
    )


def test_pictures_are_drawn_bounded_and_never_cost_a_mark(monkeypatch):
    assert drawing.is_picture(drawing.drawn(lambda: chunks([[1, 2]], name="x"), salt="ring"))
    monkeypatch.setattr(drawing, "LARGEST", 100)
    assert drawing.drawn(lambda: chunks([[1, 2]], name="x")) == drawing.TOO_LARGE
    monkeypatch.undo()

    def slow():
        while True:
            pass

    quick = verdict.Limits(picture=0.1)
    for bad in (slow, lambda: 1 / 0, lambda: [][0]):
        exercise = type("E", (), {"id": "ring"})
        assert verdict._picture(exercise, Wrong("x", "Why?", picture=bad), quick) == drawing.FAILED


# ---- nobody sees what is not theirs ----------------------------------------------------------------------------------
def test_a_page_holds_its_learner_only_and_neither_seed_nor_paths(course, box, tmp_path):
    seed = "a-very-secret-seed-4711"
    answers = {"sort_merge": "def sort_merge(a, b):\n    import sys\n    return open(sys.prefix + '/gone')"}
    results = []
    for key, given in (("ada", answers), ("bob", {"coder": STUBS["coder"]})):
        path = tmp_path / f"{key}-03_merging.ipynb"
        path.write_text(json.dumps(learner(given)))
        got = grade_notebook(path, course, seed.encode(), box, pictures=True)
        results.append(replace(got, learner=key, notebook=f"in/{path.name}"))
    people = (Learner("ada", "Ada", "Ada"), Learner("bob", "Bob", "Bob"))
    written = outputs.write(tmp_path / "out", Grades(people, tuple(results)))
    assert set(written) == {"junit.xml", "gradebook.csv", "summary.md", "index.html", "results.json",
                            "feedback/Ada.html", "feedback/Bob.html"}  # fmt: skip
    for path in written.values():
        text = path.read_text(encoding="utf-8")
        for secret in (seed, str(tmp_path), str(Path(room.__file__).parents[3]), str(course.source_dir)):
            assert secret not in text, (path, secret)
    ada = written["feedback/Ada.html"].read_text()
    assert "FileNotFoundError" in ada and "…/gone" in ada
    assert "Bob" not in ada and "bob" not in ada and "Ada" not in written["feedback/Bob.html"].read_text()


def test_pages_of_learners_who_are_gone_are_removed_and_nothing_else(tmp_path):
    ada, bob = Learner("ada", "Ada", "Ada"), Learner("bob", "Bob", "Bob")
    outputs.write(tmp_path, Grades((ada, bob), (result("ada"), result("bob"))))
    (tmp_path / "feedback/mine.html").write_text("x")
    data = json.loads((tmp_path / "results.json").read_text())
    data["learners"].append({"feedback": "feedback/../index.html"})
    (tmp_path / "results.json").write_text(json.dumps(data))
    outputs.write(tmp_path, Grades((ada,), (result("ada"),)))
    assert {path.name for path in (tmp_path / "feedback").iterdir()} == {"Ada.html", "mine.html"}
    assert (tmp_path / "index.html").exists()


def test_words_hold_no_path_of_this_machine():
    import sys

    said = words.tidy(f"No such file: '{sys.prefix}/lib/python3.11/site-packages/torch/x.py' or /usr/bin/python")
    assert sys.prefix not in said and said.endswith("or /usr/bin/python")
    assert words.block("a\x1b[0m\n" + "b\n" * 100).count("\n") == 60


# ---- everybody can read it -------------------------------------------------------------------------------------------
def test_feedback_says_everything_that_helps():
    text = " ".join(Page(feedback.feedback(Learner("a", "Ada", "Ada"), [result("a", notes=("a cell was moved",))],
                                           {"08_x": "Rings"})).text)  # fmt: skip
    for said in ("Feedback for Ada", "08 · Rings", "4.5 of 8 points", "Partly right", "right values", "1.5 of 1.5",
                 "within the budget", "(not tried)", "First to fail:", "4 ranks", "Who waits?", "rank 1: 2",
                 "A pointer", "Look at rank 0.", "A worked step", "send(x)", "75 MB", "bytes sent", "Not solved yet",
                 "a cell was moved"):  # fmt: skip
        assert said in text, said


def test_the_class_is_seen_at_a_glance():
    people = tuple(Learner(key, key.title(), key) for key in ("ada", "bob", "cy"))
    right = replace(mark(), points=3, status="solved", hint="", question="")
    results = (
        result("ada"),
        result("bob"),
        result("cy", marks=(right,)),
        result("ada", lesson="09_y", refused="broken"),
    )
    grades = Grades(people, results, ("these notebooks belong to no lesson: x",), {"08_x": "Rings"})
    assert [(len(h.learners), h.asked, h.hint) for h in grades.hints()] == [(2, 3, "late")]
    text = " ".join(Page(overview.overview(grades)).text)
    for said in (
        "Look at these",
        "broken",
        "belong to no lesson",
        "2 learners",
        "Ada, Bob",
        "1 solved, 2 partly right",
    ):
        assert said in text, said
    terminal = report.table(grades, detailed=False)
    assert "2 of 3  08 ring [late]  Who waits?" in terminal and "Cy" in terminal


def test_colours_have_enough_contrast():
    css = (Path(room.__file__).parent / "page.css").read_text()
    blocks = re.findall(r":root \{(.*?)\}", css, re.S)
    assert len(blocks) == 3  # light, dark, print
    for block in blocks:
        colours = dict(re.findall(r"--(\w+): (#\w{6})", block))
        for ink in ("ink", "mute", "link", "ok", "part", "bad", "wait"):
            for ground in ("paper", "soft"):
                assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
        assert contrast(colours["ink"], colours["fill"]) >= 4.5


@pytest.mark.browser
@pytest.mark.parametrize("width, scheme", [(390, "light"), (1200, "dark")])
def test_pages_in_a_browser(browser, tmp_path, width, scheme):
    """From a file, without a script: no request, no console message, no sideways scrolling, help opens by keyboard."""
    people = tuple(Learner(str(i), f"Ada Augusta Lovelace the {i}th", f"p{i}") for i in range(12))
    results = tuple(result(who.key, lesson=f"0{k}_x") for who in people for k in range(9))
    written = outputs.write(tmp_path, Grades(people, results, (), {"08_x": "Rings"}))
    context = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme, java_script_enabled=True
    )
    try:
        view, said = context.new_page(), []
        view.on("console", lambda message: said.append(message.text))
        view.on("request", lambda request: said.append(request.url) if not request.url.startswith("file:") else None)
        for name in ("index.html", "feedback/p3.html"):
            view.goto(written[name].as_uri())
            assert view.evaluate("document.documentElement.scrollWidth") <= width
            ids = view.evaluate("[...document.querySelectorAll('h2[id]')].map(element => element.id)")
            assert ids and len(ids) == len(set(ids)), ids
        assert view.locator("svg[role=img][aria-label]").count() == 9
        help_ = view.locator("details.help").first
        assert not help_.evaluate("e => e.open")
        help_.locator("summary").focus()
        view.keyboard.press("Enter")
        assert help_.evaluate("e => e.open") and help_.get_by_text("Look at rank 0.").is_visible()
        assert said == []
    finally:
        context.close()


def test_results_survive_their_form():
    one = result("ada")
    assert Result.from_data(json.loads(json.dumps(one.as_data()))) == one
    assert Mark.from_data(asdict(mark())) == mark()
