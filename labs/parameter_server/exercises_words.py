"""Words for the reports of lesson 09: amounts, numbers, who waited, and a timeline of what ran."""

from __future__ import annotations

import numpy as np

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def amount(nbytes):
    """Bytes in words: "24 kB"."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(nbytes) >= scale:
            return f"{nbytes / scale:.4g} {unit}"
    return f"{nbytes:.0f} B"


def numbers(values, most=4):
    """A few numbers as text."""
    values = np.asarray(values, dtype=float).reshape(-1)
    shown = ", ".join(f"{value:.4g}" for value in values[:most]) + (", ..." if len(values) > most else "")
    return f"({shown})" if len(values) != 1 else shown


def waits(failure):
    """(rank, "send" or "recv" or another first word, peers) of every rank that waited when a run failed."""
    found = []
    for entry in failure.get("waiting") or ():
        word = str(entry.get("operation", "")).split(" ")[0]
        found.append((entry.get("rank"), word.lstrip("i"), entry.get("peers") or []))
    return found


def failed_rank(failure):
    """The rank that raised an exception, as text."""
    return str(failure.get("rank", "?"))


def timeline_of(output):
    """A callable that draws who sent, received and waited when; None for a large run."""
    if len(output.get("events", ())) > 400:
        return None

    def draw():
        from labs.kit.draw import timeline

        return timeline([tuple(event) for event in output["events"]], name="Your messages")

    return draw
