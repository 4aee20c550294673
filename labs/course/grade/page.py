"""What the grader's HTML pages share: one file each, without a script, from which nothing is fetched."""

import functools
import re
from pathlib import Path

from labs.course.grade.drawing import is_picture, is_safe
from labs.course.grade.grades import number
from labs.course.grade.report import SIGNS
from labs.kit.draw.style import LARGEST, SMALLEST
from labs.kit.exercise.markup import escape, inline, prose

WORDS = {"solved": "Solved", "partly": "Partly right", "wrong": "Not right yet", "lost": "Did not come to an end",
         "unsolved": "Not solved yet", "not graded": "Not graded"}  # fmt: skip
PARTS = {"correct": "right values", "edge": "edge cases", "budget": "within the budget"}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def page(title, body, wide=False):
    """A whole page.

    Parameters
    ----------
    title : str
    body : str
        HTML.
    wide : bool
        For tables.
    """
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="robots" content="noindex">\n'
        f"<title>{escape(title)}</title>\n<style>{_style()}</style>\n</head>\n"
        f"<body{' class=wide' if wide else ''}>\n{body}\n</body>\n</html>\n"
    )


@functools.cache
def _style():
    text = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    return re.sub(r"\n\s*", "\n", re.sub(r"/\*.*?\*/\n?", "", text, flags=re.S))


def points(got, of):
    """Points in words: "2.5 of 3 points"."""
    return f"{number(got)} of {number(of)} point{'' if of == 1 else 's'}"


def meter(got, of):
    """A bar that only repeats what stands beside it."""
    share = 100 * got / of if of else 0
    return f'<span class="meter" aria-hidden="true"><span style="width:{share:.1f}%"></span></span>'


def listed(texts):
    """A list; texts may hold `code`."""
    return "<ul>" + "".join(f"<li>{inline(text)}</li>" for text in texts) + "</ul>"


def heading(lesson, title):
    """ "08 · All-reduce"."""
    return escape(f"{lesson[:2]} · {title}" if title else lesson)


def picture(text):
    """A picture or the sentence that stands for it, as `drawing.drawn` gave it."""
    if not text:
        return ""
    if not is_picture(text) or not is_safe(text):
        return f'<p class="mute small">{escape(text) if not is_picture(text) else ""}</p>'
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', text)[1])
    size = f"max-width:{round(width * LARGEST)}px;min-width:{round(width * SMALLEST)}px"
    return f'<figure tabindex="0" role="group" aria-label="Picture"><div style="{size}">{text}</div></figure>'


def exercise(mark):
    """The verdict on one exercise."""
    extension = "" if mark.core else ' <span class="mute small">extension</span>'
    look = "none" if mark.status == "not graded" else mark.status
    head = (
        f'<div class="title"><h3><span class="sign" aria-hidden="true">{SIGNS[mark.status]}</span>'
        f"{escape(mark.title)}</h3>{extension}"
        f'<span class="number">{escape(WORDS[mark.status])} · {points(mark.points, mark.of)}</span></div>'
    )
    return f'<article class="exercise {look}">{head}{_parts(mark)}{_wrong(mark)}{_achieved(mark)}</article>'


def _parts(mark):
    if len(mark.parts) < 2 or mark.status in ("unsolved", "not graded"):
        return ""
    signs = {"passed": "✔", "failed": "✘", "not reached": "·"}
    items = [
        f'<li>{signs[part.state]} {PARTS[part.name]}: <span class="number">{number(part.points)} of {number(part.of)}'
        f"</span>{' (not tried)' if part.state == 'not reached' else ''}</li>"
        for part in mark.parts
    ]
    return f'<ul class="parts">{"".join(items)}</ul>'


def _wrong(mark):
    if mark.status in ("solved", "unsolved", "not graded"):
        return ""
    parts = [f'<p class="at">First to fail: <b>{escape(mark.case)}</b></p>'] if mark.case else []
    parts.append(f'<p class="question">{inline(mark.question)}</p>')
    if mark.evidence:
        parts.append(f'<pre tabindex="0" role="group" aria-label="Evidence">{escape(mark.evidence)}</pre>')
    parts.append(picture(mark.picture))
    for name, text in zip(("A pointer", "A worked step"), mark.then, strict=False):
        parts.append(f'<details class="help"><summary>{name}</summary><div class="inner">{prose(text)}</div></details>')
    return "".join(parts)


def _achieved(mark):
    lines = "".join(f"<p>{escape(value)}</p>" for name, value in mark.achieved if not name)
    pairs = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in mark.achieved if name
    )
    return lines + (f'<dl class="got">{pairs}</dl>' if pairs else "")
