"""A summary in Markdown for the page that a CI service shows of a job: a table, and the hints folded away."""

import re

from labs.course.grade.grades import number
from labs.course.grade.report import SIGNS

LARGEST = 900_000
"""Bytes; GitHub shows at most a megabyte."""
WORDS = {"solved": "solved", "partly": "partly right", "wrong": "not right yet", "lost": "did not come to an end",
         "unsolved": "not solved yet", "not graded": "not graded"}  # fmt: skip


def as_markdown(grades):
    """Return the summary as text.

    Parameters
    ----------
    grades : labs.course.grade.grades.Grades
    """
    blocks = [f"## Graded: {number(grades.points)} of {number(grades.of)} points", ""]
    blocks += _several(grades) if len(grades.learners) > 1 else _one(grades)
    blocks += [f"- {plain(note)}" for note in (*grades.notes, *grades.isolation)]
    text, left_out = "", 0
    for block in blocks:
        if len(text.encode()) + len(block.encode()) < LARGEST:
            text += block + "\n"
        else:
            left_out += 1
    return text + (f"\n*{left_out} blocks more are in results.json.*\n" if left_out else "")


def _one(grades):
    blocks = []
    for result in grades.results:
        blocks += [f"### {plain(result.lesson or result.notebook)}: {number(result.points)} of {number(result.of)}", ""]
        if result.refused:
            blocks += [f"{plain(result.refused)}", ""]
            continue
        rows = [f"| {SIGNS[m.status]} | {plain(m.title)} | {WORDS[m.status]} | {number(m.points)} of {number(m.of)} |"
                for m in result.marks]  # fmt: skip
        blocks += ["| | exercise | | points |", "|---|---|---|---:|", *rows, "", *_folded(result)]
    return blocks


def _several(grades):
    lessons = grades.lessons
    heads = "".join(f" {plain(lesson)} |" for lesson in lessons)
    blocks = [f"| learner |{heads} total |", "|---|" + "---:|" * (len(lessons) + 1)]
    for learner in grades.learners:
        found = [grades.found(learner.key, lesson) for lesson in lessons]
        cells = "".join(f" {'✘' if r and r.refused else number(r.points) if r else ''} |" for r in found)
        blocks.append(f"| {plain(learner.name)} |{cells} {number(grades.reached(learner.key))} |")
    cells = "".join(f" {number(grades.possible(lesson))} |" for lesson in lessons)
    blocks += [f"| *possible* |{cells} {number(grades.total)} |", ""]
    if hints := grades.hints():
        blocks += ["### What many need once more", "", "| learners | exercise | question |", "|---:|---|---|"]
        blocks += [f"| {len(h.learners)} of {h.asked} | {plain(h.lesson)} · {plain(h.title)} | {plain(h.question)} |"
                   for h in hints[:12]]  # fmt: skip
        blocks.append("")
    for learner in grades.learners:
        inner = [line for result in grades.of_learner(learner.key) for line in _lines(result)]
        if inner:
            blocks.append("\n".join(_fold(plain(learner.name), inner)))
    return blocks


def _folded(result):
    lines = _lines(result)
    return _fold("Hints", lines) if lines else []


def _fold(name, lines):
    return [f"<details><summary>{name}</summary>", "", *lines, "", "</details>", ""]


def _lines(result):
    if result.refused:
        return [f"- ✘ {plain(result.refused)}"]
    lines = [
        f"- {SIGNS[m.status]} **{plain(m.title)}** ({plain(m.case)}): {plain(m.question)}"
        for m in result.marks
        if m.status not in ("solved", "unsolved", "not graded")
    ]
    return lines + [f"- {plain(note)}" for note in result.notes]


def plain(text):
    """Text that Markdown and HTML show as it stands: nothing in it becomes a link, an element or a column."""
    text = " ".join(str(text).split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]()#+.!|~@:/-])", r"\\\1", text)
