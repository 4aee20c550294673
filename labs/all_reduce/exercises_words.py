"""Numbers, slices and runs in words and pictures: what the hints of the exercises on ranks show as evidence."""

from __future__ import annotations

import numpy as np

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def amount(nbytes):
    """Bytes in words: 800 B, 64 kB, 1.2 MB."""
    for unit, scale in (("MB", 1e6), ("kB", 1e3)):
        if nbytes >= scale:
            return f"{nbytes / scale:.4g} {unit}"
    return f"{nbytes:.0f} B"


def number(value):
    """A number as the lesson writes it: 1111, not 1111.0."""
    return f"{value:.0f}" if float(value).is_integer() else f"{value:g}"


def tensors(after, most=4):
    """The first ranks' tensors as lines of text."""
    rows = [
        f"rank {rank}: {' '.join(number(x) for x in row[:12])}{' ...' * (len(row) > 12)}"
        for rank, row in enumerate(after[:most])
    ]
    return "\n".join(rows)


def timeline_of(output):
    """A callable that draws who sent, received and waited when."""

    def draw():
        from labs.kit.draw import timeline

        return timeline([tuple(event) for event in output["events"]], name="Your messages")

    return draw


def picture(run, wrong, name):
    """A callable that draws every rank's chunks with the `wrong` (rank, chunk) cells in red; None for a large run."""
    if run.size > 8 or not run.numel or not run.size > 1:
        return None

    def draw():
        from labs.kit.draw import chunks

        first = [[row[start] if start < end else None for start, end in run.bounds] for row in run.after]
        totals = [run.total[start] if start < end else None for start, end in run.bounds]
        cells = [[_summed(value, total, run.size) for value, total in zip(row, totals)] for row in first]
        text = [["" if value is None else number(value) for value in row] for row in first]
        marks = [(rank, chunk, "wrong") for rank, chunk in wrong]
        return chunks(cells, total=run.size, text=text, marks=marks, name=name)

    return draw


def _summed(value, total, size):
    """How many ranks' numbers are in a cell: its digits tell in the cases with 1, 10, 100, 1000; else all or one."""
    if value is None:
        return 0
    if value == total:
        return size
    digits = str(int(abs(value)))
    return max(1, min(size - 1, digits.count("1"))) if set(digits) <= {"0", "1"} else 1


def numbers(values, most=6):
    """A few numbers as text."""
    values = np.asarray(values).reshape(-1)
    return " ".join(number(x) for x in values[:most]) + (" ..." if len(values) > most else "")


def where(run, message):
    """Name of the slice that a message carried: its chunk, or its place in the tensor."""
    _, offset, values, _ = message
    return "a copy" if offset is None else span(run, offset, offset + len(values))


def span(run, start, end):
    """Name of a slice: its chunk where it is one, else tensor[start:end]."""
    ends = (int(start), int(end))
    return f"chunk {run.bounds.index(ends)}" if ends in run.bounds else f"tensor[{ends[0]}:{ends[1]}]"


def schedule(run, rank):
    """What a rank sent, a line a round."""
    lines = [
        f"round {k + 1}: rank {rank} sends {where(run, message)}: {numbers(message[2])}"
        for k, message in enumerate(run.sent[rank])
    ]
    return "\n".join(lines)
