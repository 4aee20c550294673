"""What the doctor says: one line, findings in words, and details, as text and in a notebook."""

from __future__ import annotations

import html
import re
import shutil
import textwrap
from dataclasses import dataclass

from labs.course.doctor.finding import BLOCKS, NOTE, Finding

_CODE = re.compile(r"`[^`]*`")
_GLUE = "\N{NO-BREAK SPACE}"
_MARKS = {"blocks": "✗ blocks", "costs": "! costs", "note": "· note"}


@dataclass(frozen=True)
class Checkup:
    """What `doctor` found. Shows itself in a notebook and prints as text.

    Attributes
    ----------
    line : str
        The verdict in one sentence.
    ready : bool
        Whether everything that the lessons need is here.
    details : tuple of (str, str)
        Subject and state.
    findings : tuple of Finding
        Traps that have closed on this machine, the gravest first.
    """

    line: str
    ready: bool
    details: tuple[tuple[str, str], ...]
    findings: tuple[Finding, ...] = ()

    def __str__(self):
        return self.line

    __repr__ = __str__

    def text(self, *, verbose=False, width=None):
        """Return the verdict and the findings in full; with `verbose` also the notes and all details.

        Parameters
        ----------
        verbose : bool
        width : int, optional
            Columns to fill; those of the terminal by default, 100 at most.
        """
        width = width or min(100, shutil.get_terminal_size().columns)
        shown = [finding for finding in self.findings if verbose or finding.severity != NOTE]
        blocks = [self.line, *(_told(finding, width) for finding in shown)]
        if notes := len(self.findings) - len(shown):
            blocks.append(f"{notes} more worth knowing: python -m labs doctor --verbose")
        if verbose:
            longest = max((len(subject) for subject, _ in self.details), default=0)
            blocks.append("\n".join(_row(subject, state, longest, width) for subject, state in self.details))
        return "\n\n".join(blocks)

    def verbose(self):
        """Return everything as text."""
        return self.text(verbose=True)

    def _repr_html_(self):
        findings = "".join(_shown(finding) for finding in self.findings)
        rows = "".join(
            f"<tr><th scope='row' style='text-align:left'>{html.escape(subject)}</th>"
            f"<td style='text-align:left'>{html.escape(state)}</td></tr>"
            for subject, state in self.details
        )
        return (
            f"<p>{'✓' if self.ready else '✗'} {_marked(self.line)}</p>"
            f"<details><summary>Details of this machine</summary>{findings}<table>{rows}</table></details>"
        )


def _told(finding, width):
    """A finding as text: its title, then each part behind its heading. Commands are never broken."""
    lines = [f"{_MARKS[finding.severity]}: {finding.title}"]
    for heading, text in finding.lines():
        lines.append(_row(heading, text, 5, width))
    return "\n".join(lines)


def _row(subject, text, longest, width):
    glued = _CODE.sub(lambda code: code[0].replace(" ", _GLUE), text)
    lines = textwrap.fill(
        glued, width, initial_indent=f"  {subject:<{longest}}  ", subsequent_indent=" " * (longest + 4),
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return lines.replace(_GLUE, " ")


def _shown(finding):
    parts = "".join(f"<dt>{heading}</dt><dd>{_marked(text)}</dd>" for heading, text in finding.lines())
    title = html.escape(f"{_MARKS[finding.severity]}: {finding.title}")
    return f"<p><strong>{title}</strong></p><dl>{parts}</dl>"


def _marked(text):
    """A text as HTML, with what stands between backticks as code."""
    return _CODE.sub(lambda code: f"<code>{code[0].strip('`')}</code>", html.escape(text))


def verdict(findings, have, device):
    """The one line, and whether the machine is ready.

    Parameters
    ----------
    findings : sequence of Finding
        The gravest first.
    have : sequence of str
        What is here, in a few words each.
    device : str
        The GPUs, or what takes their place.
    """
    blocking = [finding for finding in findings if finding.severity == BLOCKS]
    if blocking:
        first, rest = blocking[0], len(blocking) - 1
        more = f" And {rest} more." if rest else ""
        return f"Not ready. {first.title}: {first.found} Do this: {first.cure}{more}", False
    line = f"Everything you need is here: {', '.join(have)}; {device}"
    costing = [finding.title for finding in findings if finding.severity != NOTE]
    if costing:
        line += f" But: {'; '.join(costing)} (python -m labs doctor tells what to do)."
    return line, True
