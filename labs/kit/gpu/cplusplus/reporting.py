"""What is known of a failed launch, and the words in which it is told: line, thread, array, exception."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labs.kit.gpu.cplusplus.building import Library, line_of
from labs.kit.gpu.cplusplus.scanning import Parameter

_SHARED = {1: "the shared memory of the block", 2: "the dynamic shared memory", 3: "constant memory"}
AFTERWARDS = "Your arrays are as they were before the launch."


@dataclass(frozen=True, slots=True)
class Launched:
    """A launch that failed: what is needed to speak of it.

    Parameters
    ----------
    library : Library
    kernel : str
    parameters : tuple of Parameter
    arrays : tuple of (numpy.ndarray or None)
        For each parameter the array behind it.
    seconds : float
        The time limit.
    """

    library: Library
    kernel: str
    parameters: tuple[Parameter, ...]
    arrays: tuple[np.ndarray | None, ...]
    seconds: float


class Report:
    """The lines of the worker's report by their first word."""

    def __init__(self, lines):
        self.values, self.groups = {}, []
        for line in lines:
            word, _, rest = line.partition(" ")
            if word == "group":
                self.groups.append(rest.split())
            else:
                self.values[word] = rest

    def __contains__(self, word):
        return word in self.values

    def text(self, word):
        """What follows `word`; empty without it."""
        return self.values.get(word, "")

    def numbers(self, word):
        """The same as integers."""
        return [int(part) for part in self.text(word).split()]

    @property
    def writes(self):
        """Whether the access was a write."""
        return self.text("write") == "1"


def line_in(report, launched, counters="counters", line="line"):
    """The learner's line that a report names; 0 if none."""
    found = line_of(launched.library, report.text(counters).split())
    return found or (int(report.text(line)) if report.text(line) else 0)


def place_of(line, launched):
    """That line as a `Place`; None for line 0."""
    from labs.kit.virtual.places import Place

    lines = launched.library.text.splitlines()
    source = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    if launched.library.label == "cell":
        return Place("cell", line, launched.kernel, source, True) if line else None
    return Place(launched.library.label, line, launched.kernel, source, False) if line else None


def triple(numbers):
    """``(1, 0, 0)``"""
    return f"({', '.join(map(str, numbers))})"


def who_did(report, thread="thread", block="block"):
    """``thread (1, 0, 0) of block (0, 0, 0)``, or an empty text."""
    if thread not in report or block not in report:
        return ""
    return f"thread {triple(report.numbers(thread))} of block {triple(report.numbers(block))}"


def facts_of(report, line):
    """Line, thread and block as data."""
    facts = {"line": line}
    for name in ("thread", "block"):
        if name in report:
            facts[name] = tuple(report.numbers(name))
    return facts


def target_of(report, launched):
    """The memory next to the reported address, in words and as data."""
    if "near" not in report:
        address = report.text("addr") or "?"
        return f"address 0x{address}, which lies in no array of this launch (a wild or null pointer?)", {}
    kind, index, offset, size = report.numbers("near")
    if kind:
        inside = 0 <= offset < size
        extent = "" if inside and kind == 1 else f", which has {size} bytes"
        return f"byte {offset} of {_SHARED.get(kind, 'memory')}{extent}", {"array": "shared", "index": offset}
    array, parameter = launched.arrays[index], launched.parameters[index]
    element, rest = divmod(offset, array.itemsize)
    words = f"element {element} of '{parameter.name}'" + (f" plus {rest} bytes" if rest else "")
    facts = {"array": parameter.name, "index": element, "size": int(array.size), "position": index}
    if 0 <= offset < size:
        return words, facts
    has = f"elements 0 to {array.size - 1}" if array.size > 1 else f"{array.size} element{'s' * (array.size != 1)}"
    shape = f" (shape {array.shape})" if array.ndim > 1 else ""
    return f"{words}, which has {has}{shape}", facts


def made(kind, text, report, launched, line, **facts):
    """An exception of class `kind` with place and thread."""
    place, who = place_of(line, launched), who_did(report)
    lines = [text, f"  at {place}" if place else "", f"  by {who}" if who else "", AFTERWARDS]
    return kind("\n".join(filter(None, lines)), place, **facts_of(report, line), **facts)
