"""Several listings side by side, as a table of what they consist of."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .classes import KINDS
from .listing import Listing

TOLD = ("tensor", "fma", "global load", "global store", "shared load", "shared store", "async copy", "barrier")


@dataclass(frozen=True, eq=False)
class Comparison:
    """A table: a row for each listing, a column for each kind of instruction. Made by `compare`; shows itself.

    Attributes
    ----------
    columns : tuple of str
    rows : tuple of (label, cells)
        The cells are text, in the order of `columns`.
    notes : tuple of str
        Who made the listings.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    notes: tuple[str, ...]

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        say = html.escape
        head = "<td></td>" + "".join(f'<th scope="col">{say(column)}</th>' for column in self.columns)
        body = "".join(
            f'<tr><th scope="row">{say(label)}</th>{"".join(f"<td>{say(cell)}</td>" for cell in cells)}</tr>'
            for label, cells in self.rows
        )
        notes = "".join(f'<div style="font-size:13px">{say(note)}.</div>' for note in self.notes)
        table = (
            '<div tabindex="0" role="group" aria-label="Counts of instructions" style="overflow-x:auto;color:inherit">'
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}</div>"
        )
        return {"text/html": table, "text/plain": repr(self)}

    def __repr__(self) -> str:
        lines = [("", *self.columns), *((label, *cells) for label, cells in self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def compare(listings: Mapping[str, Listing] | Sequence[Listing], kinds: Sequence[str] = TOLD) -> Comparison:
    """What several listings consist of, side by side.

    Parameters
    ----------
    listings : {label: Listing}, or a sequence of Listing
        Without labels, the rows are named by the targets.
    kinds : sequence of str
        Which kinds of instruction to count; one that is nowhere is left out, tensor instructions never.

    Raises
    ------
    ValueError
        For a kind that there is not, or no listing.
    """
    named = dict(listings) if isinstance(listings, Mapping) else {each.target: each for each in listings}
    if not named:
        raise ValueError("There is no listing to compare.")
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise ValueError(f"Unknown kind {unknown[0]!r}; there are {', '.join(KINDS)}.")
    used = [kind for kind in kinds if kind == "tensor" or any(each.counts[kind] for each in named.values())]
    rows = tuple(
        (label, (*(_cell(each, kind) for kind in used), str(len(each.instructions)))) for label, each in named.items()
    )
    return Comparison((*used, "all"), rows, tuple(dict.fromkeys(each.origin for each in named.values())))


def _cell(listing: Listing, kind: str) -> str:
    """ "10 HMMA.16816.F32", "4 of 64 bit", "none"."""
    how_many = listing.counts[kind]
    if not how_many:
        return "none"
    if kind == "tensor":
        names = dict.fromkeys(each.opcode for each in listing.instructions if each.kind == kind)
        return f"{how_many} {', '.join(names)}"
    wide = [str(bits) for bits in listing.widths(kind) if bits]
    return f"{how_many} of {' or '.join(wide)} bit" if wide else str(how_many)
