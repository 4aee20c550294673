"""What a learner finds where the source of a lesson holds an answer: `clear_source`.

An author writes in a cell whose nbgrader metadata say ``solution``:

An answer to write. The learner finds a stub that raises, at the same indent::

    def square(x):
        ### BEGIN SOLUTION
        return x * x
        ### END SOLUTION

An answer to repair. The solution is followed at once by a START region that holds the broken code as comments that
begin with ``#| ``. The learner finds that code, uncommented, in place of the stub::

    def exchange(value, dist):
        ### BEGIN SOLUTION
        request = dist.isend(value, dst=1 - dist.get_rank())
        ### END SOLUTION
        ### BEGIN START
        #| dist.send(value, dst=1 - dist.get_rank())
        ### END START

A choice, in a cell with the tag ``choose``: ``slowest = "c"`` between the markers becomes ``slowest = ...``.

C++ and CUDA, in a cell that begins with ``%%cpp`` or ``%%cuda``: the same markers after ``//`` (and ``//| `` for the
lines of a START region); the stub is ``#error "not solved yet"``, which the cell magic reports as unsolved.

Everything outside the markers stays as it is.
"""

from __future__ import annotations

import re

PYTHON_STUB = "raise NotImplementedError()  # your code here"
CPP_STUB = '#error "not solved yet"'
CPP_MAGICS = ("%%cpp", "%%cuda")
MARKER = re.compile(r"^(?P<indent>\s*)(?:#+|//+)\s*(?P<edge>BEGIN|END) (?P<region>SOLUTION|START)\s*$")
_START_LINE = re.compile(r"^(?P<indent>\s*)(?:#\||//\|) ?(?P<code>.*)$")
_CHOICE = re.compile(r"^(?P<indent>\s*)(?P<name>[A-Za-z_]\w*)\s*=(?!=)")


def clear_source(source, *, choose=False):
    """Replace the answers in the source of one code cell by what a learner begins with.

    Parameters
    ----------
    source : str
        Text of the cell, with its regions.
    choose : bool
        Whether the cell holds a choice (the tag ``choose``).

    Returns
    -------
    str

    Raises
    ------
    ValueError
        When regions are nested, not closed or empty of an answer, or when a START region does not follow a SOLUTION
        region or holds a line that is not commented with ``#| ``.
    """
    stub = CPP_STUB if source.lstrip().startswith(CPP_MAGICS) else PYTHON_STUB
    result, region, body, indent = [], None, [], ""
    stub_at = None  # where the stub of the latest solution stands, while a START region may still replace it
    found = False
    for number, line in enumerate(source.split("\n"), start=1):
        marker = MARKER.match(line)
        if marker is None:
            if "BEGIN SOLUTION" in line or "END SOLUTION" in line:
                raise ValueError(f"line {number} must hold nothing but its marker, or the answer would be published")
            (body if region else result).append(line)
            if region is None and line.strip():
                stub_at = None
            continue
        edge, kind = marker["edge"], marker["region"]
        if edge == "BEGIN":
            if region:
                raise ValueError(f"line {number} begins a {kind} region inside a {region} region")
            if kind == "START" and stub_at is None:
                raise ValueError(f"line {number}: a START region stands right after the SOLUTION region it replaces")
            region, body, indent = kind, [], marker["indent"]
            continue
        if region != kind:
            raise ValueError(f"line {number} ends a {kind} region that was not begun")
        region = None
        if kind == "SOLUTION":
            found = True
            if not any(text.strip() for text in body):
                raise ValueError(f"the SOLUTION region that ends in line {number} is empty")
            stub_at = len(result)
            result += _choices(body, number) if choose else [indent + stub]
        else:
            del result[stub_at:]
            result += _start_lines(body, number)
            stub_at = None
    if region:
        raise ValueError(f"the {region} region is not closed")
    if not found:
        raise ValueError("it is marked as a solution, but has no BEGIN SOLUTION and END SOLUTION lines")
    return "\n".join(result)


def _choices(body, number):
    """Turn `name = "c"` into `name = ...`, line by line."""
    result = []
    for line in body:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        choice = _CHOICE.match(line)
        if choice is None:
            raise ValueError(
                f'the SOLUTION region that ends in line {number} of a cell tagged "choose" may only hold lines like '
                f'name = "c", not {line.strip()!r}'
            )
        result.append(f"{choice['indent']}{choice['name']} = ...")
    return result


def _start_lines(body, number):
    """Uncomment the lines of a START region."""
    result = []
    for line in body:
        if not line.strip():
            result.append("")
            continue
        match = _START_LINE.match(line)
        if match is None:
            raise ValueError(
                f'in the START region that ends in line {number}, every line begins with "#| " (in C++ "//| "), so '
                f"that it does nothing in the solution; this one does not: {line.strip()!r}"
            )
        code = match["code"].rstrip()
        result.append(match["indent"] + code if code else "")
    return result
