"""The worker's report of a failed launch, turned into the exception that explains it."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from labs.kit.gpu.cplusplus.building import Library, line_of
from labs.kit.gpu.cplusplus.scanning import Parameter

_SHARED = {1: "the shared memory of the block", 2: "the dynamic shared memory", 3: "constant memory"}
_AFTERWARDS = "Your arrays are as they were before the launch."


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


class _Report:
    """The lines of a report by their first word."""

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
        return self.values.get(word, "")

    def numbers(self, word):
        return [int(part) for part in self.text(word).split()]

    @property
    def writes(self):
        return self.text("write") == "1"


def failure(lines: list[str], status: int, launched: Launched):
    """The exception for a report.

    Parameters
    ----------
    lines : list of str
        What the worker wrote before it ended.
    status : int
        How the process ended: its exit code, or minus the number of a signal.
    launched : Launched

    Returns
    -------
    KernelFailure
    """
    report = _Report(lines)
    tell: Callable = _TELLERS.get(report.text("ERR"), _died)
    return tell(report, launched, status)


# ---- words ---------------------------------------------------------------------------------------------------------
def _line(report, launched, counters="counters", line="line"):
    found = line_of(launched.library, report.text(counters).split())
    return found or (int(report.text(line)) if report.text(line) else 0)


def _place(line, launched):
    from labs.kit.virtual.places import Place

    lines = launched.library.text.splitlines()
    source = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    if launched.library.label == "cell":
        return Place("cell", line, launched.kernel, source, True) if line else None
    return Place(launched.library.label, line, launched.kernel, source, False) if line else None


def _triple(numbers):
    return f"({', '.join(map(str, numbers))})"


def _who(report, thread="thread", block="block"):
    if thread not in report or block not in report:
        return ""
    return f"thread {_triple(report.numbers(thread))} of block {_triple(report.numbers(block))}"


def _facts(report, line):
    facts = {"line": line}
    for name in ("thread", "block"):
        if name in report:
            facts[name] = tuple(report.numbers(name))
    return facts


def _target(report, launched):
    """Words for the memory next to the reported address, and the same as facts."""
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


def _made(kind, text, report, launched, line, **facts):
    """An exception with place and thread."""
    place, who = _place(line, launched), _who(report)
    lines = [text, f"  at {place}" if place else "", f"  by {who}" if who else "", _AFTERWARDS]
    return kind("\n".join(filter(None, lines)), place, **_facts(report, line), **facts)


# ---- kinds ---------------------------------------------------------------------------------------------------------
def _out_of_bounds(report, launched, _status):
    from labs.kit.gpu.cplusplus.failures import OutOfBounds

    target, facts = _target(report, launched)
    did = "writes to" if report.writes else "reads"
    inside = facts.get("array") not in (None, "shared") and 0 <= facts["index"] < facts["size"]
    if inside and report.writes:
        text = f"{launched.kernel} writes to {target}, which the kernel declares const"
    elif inside:
        text = f"{launched.kernel} reads {report.text('size')} bytes from {target}, beyond its end"
    else:
        text = f"{launched.kernel} {did} {target}"
    return _made(OutOfBounds, text, report, launched, _line(report, launched), write=report.writes, **facts)


def _bad_index(report, launched, _status):
    from labs.kit.gpu.cplusplus.failures import OutOfBounds

    line = int(report.text("line"))  # the place of the brackets, even within a longer expression
    index = int(report.text("index"))
    text = f"{launched.kernel} uses index {index} on an array of type {report.text('type')}"
    return _made(OutOfBounds, text, report, launched, line, array="", index=index)


def _misaligned(report, launched, _status):
    from labs.kit.gpu.cplusplus.failures import Misaligned

    target, facts = _target(report, launched)
    if "needs" in report:
        why = (
            f"{report.text('type')} needs an address that is a multiple of {report.text('needs')} bytes, and this one"
            f" is {report.text('off')} bytes off"
        )
    else:
        did = "writes" if report.writes else "reads"
        why = f"it {did} {report.text('size')} bytes at an address that is no multiple of that"
    where = f" (at {target})" if "near" in report else ""
    text = f"misaligned access in {launched.kernel}: {why}{where}"
    return _made(Misaligned, text, report, launched, _line(report, launched), **facts)


def _race(report, launched, _status):
    from labs.kit.gpu.cplusplus.failures import Race

    line = _line(report, launched)
    other = _line(report, launched, "other_counter", "other_line")
    target, facts = _target(report, launched)
    other_wrote = report.text("other_write") == "1"
    did, had = "writes" if report.writes else "reads", "wrote" if other_wrote else "read"
    atomic, other_atomic = report.numbers("atomic") or (0, 0)
    across = report.text("block") != report.text("other_block")
    order = (
        "Nothing orders two blocks of one launch: let each block write its own element, use an atomic operation, or"
        " launch twice."
        if across
        else "There is no __syncthreads() between the two (or, within one warp, no __syncwarp())."
    )
    place, other_place = _place(line, launched), _place(other, launched)
    text = "\n".join(
        filter(
            None,
            [
                f"race in {launched.kernel} on {target}",
                f"  {_who(report)} {did} it{' atomically' * bool(atomic)}" + (f" at {place}" if place else ""),
                f"  {_who(report, 'other_thread', 'other_block')} {had} it{' atomically' * bool(other_atomic)}"
                + (f" at {other_place}" if other_place else ""),
                order,
                _AFTERWARDS,
            ],
        )
    )
    facts |= _facts(report, line) | {
        "other_line": other,
        "other_thread": tuple(report.numbers("other_thread")),
        "other_block": tuple(report.numbers("other_block")),
        "write": report.writes,
        "other_write": other_wrote,
    }
    return Race(text, place, **facts)


def _barrier(report, launched, _status):
    from labs.kit.gpu.cplusplus.failures import DivergentBarrier

    lines, groups, first = [], [], 0
    for group in report.groups:
        state, name, line, ranges, count = [*group, "0"][:5]
        shown = ranges.rstrip(",")
        shown = shown if len(shown) <= 60 else shown[:60].rpartition(",")[0] + ",…"
        threads = f"{count} thread{'s' * (count != '1')} ({shown})"
        first = first or int(line)
        if state == "gone":
            lines.append(f"  {threads} left the kernel")
        elif name != "-":
            lines.append(f"  {threads} wait{'s' * (count == '1')} in {name} at {_place(int(line), launched)}")
        groups.append({"count": int(count), "threads": ranges.rstrip(","), "line": int(line), "gone": state == "gone"})
    text = "\n".join(
        [
            f"divergent barrier in {launched.kernel}, block {_triple(report.numbers('block'))}: {report.text('what')}",
            *lines,
            "Every thread of a block must reach the same __syncthreads(), and every lane that a mask names the same"
            " warp operation.",
            _AFTERWARDS,
        ]
    )
    facts = {"block": tuple(report.numbers("block")), "line": first, "groups": [str(g) for g in groups]}
    return DivergentBarrier(text, _place(first, launched), **facts)


def _misuse(report, launched, status):
    from labs.kit.gpu.cplusplus.failures import DivergentBarrier, Misaligned, Unfit

    kind = {"misaligned": Misaligned, "warp": DivergentBarrier}.get(report.text("sub"), Unfit)
    return _made(kind, f"{launched.kernel}: {report.text('what')}", report, launched, _line(report, launched))


def _trap(report, launched, _status):
    from labs.kit.gpu.cplusplus.failures import AssertionFailed

    return _made(
        AssertionFailed, f"{launched.kernel}: {report.text('what')}", report, launched, _line(report, launched)
    )


def _timeout(report, launched, _status):
    from labs.kit.gpu.cplusplus.failures import EndlessLoop

    text = (
        f"{launched.kernel} was stopped after {launched.seconds:g} s: does a loop never end, or does a thread wait for"
        " another one without a barrier?"
    )
    return _made(EndlessLoop, text, report, launched, _line(report, launched), seconds=launched.seconds)


def _stack(report, launched, _status):
    from labs.kit.gpu.cplusplus.failures import StackOverflow

    text = (
        f"a thread of {launched.kernel} used up its {report.text('kilobytes')} KB of local memory: endless recursion,"
        " or a large local array?"
    )
    return _made(StackOverflow, text, report, launched, _line(report, launched))


def _division(report, launched, _status):
    from labs.kit.gpu.cplusplus.failures import DividedByZero

    text = f"{launched.kernel} divides an integer by zero (on a GPU the result would be undefined)"
    return _made(DividedByZero, text, report, launched, _line(report, launched))


def _wild(report, launched, _status):
    from labs.kit.gpu.cplusplus.failures import Crashed

    target, facts = _target(report, launched)
    text = f"{launched.kernel} {'writes to' if report.writes else 'reads'} {target}"
    return _made(Crashed, text, report, launched, _line(report, launched), **facts)


def _abort(report, launched, _status):
    from labs.kit.gpu.cplusplus.failures import Crashed

    what = "called abort()" if report.text("ERR") == "abort" else "executed an illegal instruction"
    return _made(Crashed, f"{launched.kernel} {what}", report, launched, _line(report, launched))


def _died(report, launched, status):
    from labs.kit.gpu.cplusplus.failures import Crashed

    ended = f"exit code {status}" if status >= 0 else f"signal {signal.Signals(-status).name}"
    text = f"{launched.kernel} ended its process ({ended}): did it call exit(), or write to memory that is not its own?"
    return _made(Crashed, text, report, launched, 0)


_TELLERS = {
    "oob": _out_of_bounds,
    "index": _bad_index,
    "misaligned": _misaligned,
    "race": _race,
    "barrier": _barrier,
    "misuse": _misuse,
    "trap": _trap,
    "timeout": _timeout,
    "stopped": _timeout,
    "stack": _stack,
    "fpe": _division,
    "segv": _wild,
    "abort": _abort,
    "ill": _abort,
}
