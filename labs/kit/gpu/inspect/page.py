"""A listing as HTML: the kernel's source on the left, what the compiler made of it on the right.

Static and self-contained. Each source line shows the telling instructions that it became; each instruction shows its
line. Pointing at a line, or reaching it with the Tab key, marks its instructions. Runs of instructions that only
compute addresses and move registers are folded away.
"""

from __future__ import annotations

import functools
import html as escaping
import re
from collections import Counter
from importlib.resources import files
from itertools import groupby

from .classes import KINDS
from .listing import Listing

QUIET = ("float", "convert", "local", "constant", "branch", "integer", "move", "other")
"""Kinds that are folded where many follow each other, and that get no badge."""
LEAST_FOLDED = 5

SIGNS = {
    "tensor": "T", "fma": "F", "global load": "L", "global store": "S", "shared load": "l", "shared store": "s",
    "async copy": "C", "atomic": "A", "barrier": "B", "warp": "W",
}  # fmt: skip
"""A letter for each telling kind, so that colour is not needed."""


def html(listing: Listing) -> str:
    """The listing as HTML that needs nothing else: style, both columns, script."""
    css, js = assets()
    source = listing.source.splitlines()
    lines = {instruction.row: instruction for instruction in listing.instructions}
    say = escaping.escape
    kinds = [kind for kind in SIGNS if listing.counts[kind]]
    legend = "".join(f"<li>{_badge(kind)} {listing.counts[kind]} {say(_named(listing, kind))}</li>" for kind in kinds)
    quiet = sum(listing.counts[kind] for kind in QUIET)
    legend += f"<li>{quiet} others: {', '.join(f'{listing.counts[k]} {k}' for k in QUIET if listing.counts[k])}</li>"
    none = "" if listing.counts["tensor"] else '<p class="lx-none">There is no tensor instruction in it.</p>'
    mark = '<span class="lx-stored">stored listing</span>' if listing.stored else ""
    return (
        f'<style>{css}</style><div class="lx" role="group" aria-label="{say(listing.heading)}" '
        f'data-lm-suppress-shortcuts="true">'
        f'<div class="lx-head">{say(listing.heading)} {mark}</div>'
        f'<ul class="lx-legend">{legend}</ul>{none}'
        f'<div class="lx-columns"><div class="lx-side"><div class="lx-title">Source</div>'
        f'<div class="lx-code" tabindex="0" role="group" aria-label="Source">{_source(source, listing)}</div></div>'
        f'<div class="lx-side"><div class="lx-title">{_unit(listing)}, {len(listing.instructions)} instructions</div>'
        f'<div class="lx-code" tabindex="0" role="group" aria-label="{_unit(listing)}">'
        f"{_machine(listing.text.splitlines(), lines)}</div></div></div>"
        f'<div class="lx-note">{say(listing.origin)}.</div></div><script>(function(){{{js}}})()</script>'
    )


@functools.cache
def assets() -> tuple[str, str]:
    """The style sheet and the script, without comments and indentation."""
    folder = files(__package__)
    css = re.sub(r"/\*.*?\*/", "", folder.joinpath("page.css").read_text(encoding="utf-8"), flags=re.S)
    js = folder.joinpath("page.js").read_text(encoding="utf-8").splitlines()
    stripped = [line.strip() for line in js]
    return "".join(css.split("\n")), "\n".join(line for line in stripped if line and not line.startswith("//"))


def _unit(listing: Listing) -> str:
    return {"ptx": "PTX", "sass": "SASS", "gcn": "GCN"}[listing.format]


def _named(listing: Listing, kind: str) -> str:
    """ "global load of 64 bit"; for tensor instructions which."""
    if kind == "tensor":
        names = dict.fromkeys(each.opcode for each in listing.instructions if each.kind == "tensor")
        return f"tensor: {', '.join(names)}"
    wide = [f"{bits}" for bits in listing.widths(kind) if bits]
    return f"{kind} of {' or '.join(wide)} bit" if wide else kind


def _badge(kind: str, times: int = 1) -> str:
    words = kind if times == 1 else f"{times} times {kind}"
    count = "" if times == 1 else f"×{times}"
    return f'<span class="lx-badge lx-{kind.replace(" ", "-")}" title="{words}">{SIGNS[kind]}{count}</span>'


def _source(source: list[str], listing: Listing) -> str:
    """The source with line numbers; behind a line what it became."""
    became: dict[int, Counter] = {}
    for instruction in listing.instructions:
        if instruction.line:
            became.setdefault(instruction.line, Counter())[instruction.kind] += 1
    rows = []
    for number, text in enumerate(source, 1):
        kinds = became.get(number, Counter())
        badges = "".join(_badge(kind, kinds[kind]) for kind in SIGNS if kinds[kind])
        focus = f' role="button" tabindex="0" data-line="{number}"' if kinds else ""
        rows.append(
            f'<div class="lx-row"{focus}><span class="lx-number">{number}</span>'
            f'<span class="lx-text">{escaping.escape(text) or " "}</span>'
            f'<span class="lx-badges">{badges}</span></div>'
        )
    return "".join(rows)


def _machine(rows: list[str], instructions) -> str:
    """The machine code; long runs without a telling instruction are folded."""

    def quiet(row: int) -> bool:
        return row in instructions and instructions[row].kind in QUIET

    parts = []
    for folded, group in groupby(range(len(rows)), key=quiet):
        members = list(group)
        body = "".join(_instruction(rows[row], instructions.get(row)) for row in members)
        if folded and len(members) >= LEAST_FOLDED:
            kinds = Counter(instructions[row].kind for row in members)
            words = ", ".join(f"{kinds[kind]} {kind}" for kind in KINDS if kinds[kind])
            lines = sorted({instructions[row].line for row in members if instructions[row].line})
            marks = f' data-lines="{" ".join(map(str, lines))}"' if lines else ""
            body = f"<details{marks}><summary>{len(members)} more: {words}</summary>{body}</details>"
        parts.append(body)
    return "".join(parts)


def _instruction(text: str, found) -> str:
    if found is None:
        return f'<div class="lx-row lx-label"><span class="lx-text">{escaping.escape(text)}</span></div>'
    line = f' data-from="{found.line}"' if found.line else ""
    number = f'<span class="lx-number">{found.line or ""}</span>'
    shown = escaping.escape(text.strip())
    loud = found.kind not in QUIET
    if loud:
        opcode = escaping.escape(found.opcode)
        shown = shown.replace(opcode, f"<b>{opcode}</b>", 1)
    badge = _badge(found.kind) if loud else ""
    return (
        f'<div class="lx-row"{line}>{number}<span class="lx-kind">{badge}</span>'
        f'<span class="lx-text">{shown}</span></div>'
    )
