"""Reports: what is said where, escaping, hint levels, and colours that can be read."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import labs.kit.exercise
from labs.kit.exercise import Case, Exercise, Outcome, Report, Wrong, progress
from labs.kit.exercise.markup import prose, style

ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)>\"' onload='x"


class Page(HTMLParser):
    """Elements with their attributes, and the text outside the style sheet."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.text, self.open = [], "", []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data


def report(exercise, wrong, failed=1, cases=2):
    first = Outcome(Case("first", 1), None)
    return Report(exercise, (first, *(Outcome(Case(f"case {i}", 1, "edge"), wrong) for i in range(1, cases))), failed)


@pytest.mark.parametrize(
    "wrong",
    [
        Wrong("hint", ATTACK + "\n" + ATTACK, then=(ATTACK, "  " + ATTACK + "\n`" + ATTACK + "`")),
        Wrong(ATTACK, "`" + ATTACK + "`"),
        Wrong("hint", "half a \ud800 surrogate, \x00 and \x1b[31m\nin the evidence \udfff too"),
    ],
    ids=["everywhere", "hint", "unprintable"],
)
def test_nothing_of_the_learners_becomes_markup(wrong):
    exercise = Exercise("e", ATTACK, 1, None, None, None)
    shown = Report(exercise, (Outcome(Case(ATTACK, 1), wrong),), failed=9, warnings=(ATTACK,))
    page = Page(shown.html())
    assert not page.open
    assert {tag for tag, _ in page.elements} <= set("style section div span p pre b code details summary ul li".split())
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "href")]
    shown.html().encode("utf-8")
    assert "\x00" not in shown.html() + shown.text() and "\x1b" not in shown.html() + shown.text()


@settings(max_examples=60, deadline=None)
@given(st.text(), st.text(), st.text())
def test_any_text_gives_balanced_markup(question, evidence, hint):
    exercise = Exercise("e", "E", 1, None, None, None)
    html = report(exercise, Wrong("hint", f"{question}\n{evidence}", then=(hint, hint)), failed=5).html()
    assert not Page(html).open
    html.encode("utf-8")


def test_the_card_is_a_live_region_that_keyboards_reach(double):
    page = Page(report(double, Wrong("h", "Why?\nbecause")).html())
    section = dict(page.elements)["section"]
    assert section["role"] == "status" and section["aria-live"] == "polite" and "does not pass" in section["aria-label"]
    assert section["data-lm-suppress-shortcuts"] == "true"
    assert dict(page.elements)["pre"]["tabindex"] == "0"
    assert "details" in dict(page.elements)


def test_states_differ_by_sign_and_word_not_only_by_colour(double):
    solved = Report(double, (Outcome(Case("a", 1), None, 2),))
    failed = report(double, Wrong("h", "Why?"))
    unsolved = Report(double, (Outcome(Case("a", 1), Wrong("unsolved", "Not yet.")),))
    for shown, sign, word in ((solved, "✔", "pass"), (failed, "✘", "1 of 2 cases pass"), (unsolved, "○", "not solved")):
        page = Page(shown.html())
        assert sign in page.text and word in page.text and sign in shown.verdict()
    text = Page(failed.html()).text
    assert "passes: first" in text and "fails: case 1" in text


def test_a_line_for_every_case_with_its_part(double):
    outcomes = (
        Outcome(Case("good", 1), None),
        Outcome(Case("bad", 1, "edge"), Wrong("timeout", "Why?")),
        Outcome(Case("left", 1, "budget"), Wrong("not_reached", "Not tried.")),
    )
    text = Report(double, outcomes, failed=1).text()
    assert "✔ good\n" in text and "✘ bad (edge)\n" in text and "· left (budget)" in text


def test_every_fact_stands_once_in_the_text_forms(double):
    wrong = Wrong("h", "Who is receiving?\nrank 0 waits at line 7", then=("Start one.", "isend"))
    shown = report(double, wrong, failed=5)
    for fact in ("Who is receiving?", "rank 0 waits at line 7", "Start one.", "isend", shown.headline):
        assert (shown.verdict() + shown.details()).count(fact) == 1
    assert "Who is receiving?" in shown.verdict() and "Who is receiving?" not in shown.details()
    assert Page(shown.html()).text.count("Who is receiving?") == 1


@pytest.mark.parametrize(
    "failed, names, later",
    [
        (1, [], "A pointer comes after 2 more failed checks."),
        (2, [], "A pointer comes after 1 more failed check."),
        (3, ["A pointer"], "A worked step comes after 2 more failed checks."),
        (4, ["A pointer"], "A worked step comes after 1 more failed check."),
        (5, ["A pointer", "A worked step"], ""),
        (50, ["A pointer", "A worked step"], ""),
    ],
)
def test_hint_levels(double, failed, names, later):
    shown = report(double, Wrong("h", "Why?", then=("Look there.", "Step by step.")), failed=failed)
    assert [name for name, _ in shown.hints()] == names and shown.next_hint() == later
    for text, level in (("Look there.", 1), ("Step by step.", 2)):
        assert (text in shown.html()) == (text in shown.text()) == (len(names) >= level)


def test_levels_rise_with_failed_checks_of_this_exercise_only(double, check):
    other = Exercise("other", "O", 1, double.cases, double.run, double.verify)
    levels = []
    for _ in range(6):
        levels.append(len(check(double, lambda n: n).report.hints()))
        check(double, ...)  # unsolved: does not count
        check(double, 3)  # a slip: does not count
    assert levels == [0, 0, 1, 1, 2, 2]
    assert check(other, lambda n: n).report.hints() == []
    assert progress.attempts("double") == 6


def test_no_promise_of_hints_that_do_not_exist(double):
    assert report(double, Wrong("h", "Why?")).next_hint() == ""
    assert report(double, Wrong("h", "Why?", then="only one"), failed=3).next_hint() == ""


class Drawn:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/html": "<svg role='img' aria-label='rank 0 waits'></svg>"}


def test_a_picture_is_drawn_only_when_shown_and_never_hides_the_words(double):
    drawn = []

    def picture():
        drawn.append(1)
        return Drawn()

    shown = report(double, Wrong("h", "Why?", picture))
    shown.text()
    assert not drawn
    assert "rank 0 waits" in shown.html() and drawn == [1]
    assert "Why?" in report(double, Wrong("h", "Why?", lambda: 1 / 0)).html()


def test_success_tells_what_was_achieved(double, capsys):
    double(lambda n: n + n)
    assert "cases: 4" in capsys.readouterr().out
    outcomes = (Outcome(Case("a", 1), None, 2),)
    assert "<dd>1</dd>" in Report(double, outcomes).html()
    sentence = Exercise("e", "E", 1, None, None, None, achieved=lambda told: f"{told[0][1]} messages")
    assert "2 messages" in Report(sentence, outcomes).text()
    broken = Exercise("e", "E", 1, None, None, None, achieved=lambda told: 1 / 0)
    assert "✔" in Report(broken, outcomes).text()


def test_points_so_far_are_shown(double):
    wrong = Wrong("h", "Why?")
    outcomes = (
        Outcome(Case("a", 1), None),
        Outcome(Case("b", 1, "edge"), wrong),
        Outcome(Case("c", 1, "budget"), None),
    )
    assert "3 of 4 points" in Report(double, outcomes, 1).html()


def test_prose_marks_code_and_keeps_its_indentation():
    html = prose("Use `a < b`.\n    for x in y:\n        pass\nDone.")
    assert html.startswith("<p>Use <code>a &lt; b</code>.</p>")
    assert ">for x in y:\n    pass</pre>" in html and html.endswith("<p>Done.</p>")


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_colours_reach_wcag_aa_in_both_themes():
    sheet = Path(labs.kit.exercise.__file__).with_name("card.css").read_text()
    light, dark = [
        dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block)) for block in re.findall(r"\.lk \{(.*?)\}", sheet, re.S)
    ]
    assert set(light) == set(dark) >= {"ok", "bad", "wait", "info", "ink", "mute", "soft"}
    # Lab light; Lab dark and the book's dark page, and the box behind the evidence
    for colours, pages in ((light, ["#ffffff", light["soft"]]), (dark, ["#111111", "#14181e", dark["soft"]])):
        for name in ("ok", "bad", "wait", "info", "ink", "mute"):
            for page in pages:
                assert contrast(colours[name], page) >= 4.5, (name, page)


def test_the_style_sheet_is_small_and_whole():
    text = style()
    assert text.count("{") == text.count("}") > 20 and "/*" not in text and len(text) < 6000
