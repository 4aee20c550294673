"""A trap that is known, and what is found when it has closed: `Trap`, `Finding`, `trap`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from labs.course.doctor.facts import Facts

BLOCKS, COSTS, NOTE = "blocks", "costs", "note"
"""A part of the course does not work; it works, for more time or less insight; worth knowing."""
SEVERITIES = (BLOCKS, COSTS, NOTE)


@dataclass(frozen=True)
class Finding:
    """A trap that has closed on this machine.

    Attributes
    ----------
    name : str
        Of the trap.
    severity : {"blocks", "costs", "note"}
    title : str
        The trap in a few words.
    found : str
        What was seen here.
    costs : str
        What that means for you.
    cure : str
        What to do, where possible as a command.
    price : str
        What the cure costs, when it is only a way around; may be empty.
    """

    name: str
    severity: str
    title: str
    found: str
    costs: str
    cure: str
    price: str = ""

    def lines(self) -> list[tuple[str, str]]:
        """Its parts with their headings, in reading order."""
        parts = [("Found", self.found), ("Costs", self.costs), ("Do", self.cure), ("Price", self.price)]
        return [(heading, text) for heading, text in parts if text]


@dataclass(frozen=True)
class Found:
    """What a trap has seen; `cure` and `severity` replace the general ones where this machine needs its own."""

    text: str
    cure: str = ""
    severity: str = ""


@dataclass(frozen=True)
class Trap:
    """A known trap.

    Attributes
    ----------
    name : str
        Short, for tests and links.
    severity : {"blocks", "costs", "note"}
    title : str
        In a few words.
    sign : str
        How a learner meets it, before asking the doctor.
    costs, cure, price : str
        As of `Finding`.
    look : callable
        From `Facts` to `Found`, to a sentence, or to None.
    """

    name: str
    severity: str
    title: str
    sign: str
    costs: str
    cure: str
    price: str
    look: Callable[[Facts], Found | str | None]

    def __call__(self, facts: Facts) -> Finding | None:
        """The finding, if the trap has closed on a machine with these facts."""
        seen = self.look(facts)
        if not seen:
            return None
        seen = Found(seen) if isinstance(seen, str) else seen
        severity, cure = seen.severity or self.severity, seen.cure or self.cure
        return Finding(self.name, severity, self.title, seen.text, self.costs, cure, self.price)


def trap(name: str, severity: str, title: str, *, sign: str, costs: str, cure: str, price: str = ""):
    """Make a `Trap` of the function that looks for it."""

    def make(look):
        return Trap(name, severity, title, sign, costs, cure, price, look)

    return make


def amount(size: float | None) -> str:
    """A number of bytes for people: 64 MB, 24 GB."""
    if size is None:
        return "unknown"
    if size >= 1e9:
        return f"{size / 1e9:.{0 if size >= 9.5e9 else 1}f} GB"
    return f"{size / 1e6:.0f} MB"
