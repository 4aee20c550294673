"""HTML of the cards: right in a light and in a dark theme, by keyboard, by screen reader, and without the style."""

import functools
import html
import re
import textwrap
from pathlib import Path

_SIGNS = {"solved": "✔", "failed": "✘", "unsolved": "○", "call": "○"}
_FOLD = 12  # more cases than these are folded away under a failed one


@functools.cache
def style() -> str:
    """The style sheet as a ``<style>`` element, without comments and needless blanks."""
    text = Path(__file__).with_name("card.css").read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r" *([{};]) *", r"\1", " ".join(text.split()))
    return f"<style>{text}</style>"


def escape(text) -> str:
    """Text for HTML; nothing in it can become an element or end an attribute."""
    return html.escape(printable(str(text)))


def printable(text) -> str:
    """`text` without half surrogates and control characters, which a learner's string may hold and no browser shows."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(c if c >= " " or c in "\n\t" else "�" for c in text)


def inline(text) -> str:
    """Escaped text in which `backquotes` mark code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", escape(text))


def prose(text) -> str:
    """Paragraphs for hints and explanations: `backquotes` mark code, indented lines are a block of it."""
    parts, block = [], []

    def close():
        if block:
            parts.append(f"<pre tabindex='0'>{escape(textwrap.dedent(chr(10).join(block)))}</pre>")
            block.clear()

    for line in str(text).strip("\n").splitlines():
        if line.startswith("  ") and line.strip():
            block.append(line)
            continue
        close()
        if line.strip():
            parts.append(f"<p>{inline(line)}</p>")
    close()
    return "".join(parts)


def shell(kind, label, body) -> str:
    """A card around `body` (HTML): a live region that can be reached and read by keyboard."""
    return (
        f'{style()}<section class="lk {kind}" role="status" aria-live="polite" aria-label="{escape(label)}"'
        f' data-lm-suppress-shortcuts="true">{body}</section>'
    )


def card(report) -> str:
    """The card of a `Report`."""
    raised = "" if report.state == "solved" else " lk-raised"
    parts = [_head(report)]
    if report.wrong:
        parts += [_question(report), _evidence(report), _picture(report.wrong), _hints(report)]
    else:
        parts.append(_achieved(report.achieved()))
    if report.state in ("failed", "solved"):
        parts.append(_cases(report))
    parts.append(_notes(report))
    return shell(f"lk-{report.state}{raised}", report.headline, "".join(parts))


def picture_markup(drawn) -> str:
    """HTML of a `labs.kit.draw.Picture` or anything else that shows itself as HTML."""
    if hasattr(drawn, "_repr_mimebundle_"):
        return drawn._repr_mimebundle_().get("text/html", "")
    if hasattr(drawn, "_repr_html_"):
        return drawn._repr_html_() or ""
    return drawn.svg()


def _head(report):
    title = f'<span class="lk-sign">{_SIGNS[report.state]}</span>{escape(report.exercise.title)}'
    side = " · ".join(filter(None, [report.standing(), report.points()]))
    return (
        f'<div class="lk-head"><span class="lk-title">{title}</span><span class="lk-side">{escape(side)}</span></div>'
    )


def _question(report):
    if report.state != "failed":
        return f'<p class="lk-say">{inline(report.wrong.question)}</p>'
    first = report.first.case
    part = "" if first.part == "correct" else f" ({first.part})"
    at = f'<p class="lk-at">First to fail: <b>{escape(first.title)}</b>{part}</p>'
    return f'{at}<p class="lk-question">{inline(report.wrong.question)}</p>'


def _evidence(report):
    text = report.wrong.evidence.strip("\n")
    return (
        f'<pre class="lk-evidence" tabindex="0" role="group" aria-label="Evidence">{escape(text)}</pre>' if text else ""
    )


def _picture(wrong):
    if wrong.picture is None:
        return ""
    try:
        return f'<div class="lk-picture">{picture_markup(wrong.picture())}</div>'
    except Exception:  # a picture must never hide the words; the lessons' tests draw every one
        return ""


def _hints(report):
    return "".join(f'<div class="lk-hint"><b>{name}</b>{prose(text)}</div>' for name, text in report.hints())


def _achieved(told):
    lines = "".join(f'<p class="lk-say">{escape(value)}</p>' for name, value in told if not name)
    pairs = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in told if name)
    return lines + (f'<dl class="lk-got">{pairs}</dl>' if pairs else "")


def _cases(report):
    items = "".join(_case(outcome) for outcome in report.outcomes)
    shown = " open" if report.state == "failed" and len(report.outcomes) <= _FOLD else ""
    count = len(report.outcomes)
    name = "The case" if count == 1 else f"All {count} cases"
    return f'<details class="lk-cases"{shown}><summary>{name}</summary><ul class="lk-list">{items}</ul></details>'


def _case(outcome):
    look, sign, word = ("rest", "·", "not tried")
    if outcome.reached:
        look, sign, word = ("pass", "✔", "passes") if outcome.passed else ("fail", "✘", "fails")
    tag = "" if outcome.case.part == "correct" else f' <span class="lk-tag">{outcome.case.part}</span>'
    return (
        f'<li class="lk-{look}"><span class="lk-sign" aria-hidden="true">{sign}</span>'
        f'<span class="lk-hidden">{word}: </span>'
        f"{escape(outcome.case.title)}{tag}</li>"
    )


def _notes(report):
    notes = [f'<p class="lk-note">Python warned: {escape(text)}</p>' for text in report.warnings[:3]]
    if report.state == "failed":
        name = f"hint <code>{escape(report.exercise.id)}/{escape(report.wrong.hint)}</code>"
        notes.append(f'<p class="lk-note">{" · ".join(filter(None, [escape(report.next_hint()), name]))}</p>')
    return "".join(notes)
