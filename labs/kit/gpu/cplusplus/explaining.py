"""The worker's report of a failed launch, turned into the exception that explains it: one function a kind."""

from __future__ import annotations

import signal
from collections.abc import Callable

from labs.kit.gpu.cplusplus.reporting import (
    AFTERWARDS,
    Launched,
    Report,
    facts_of,
    line_in,
    made,
    place_of,
    target_of,
    triple,
    who_did,
)


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
    report = Report(lines)
    tell: Callable = _TELLERS.get(report.text("ERR"), _died)
    try:
        return tell(report, launched, status)
    except (ValueError, LookupError, TypeError):  # a kernel can write to our channel what it likes
        return _died(report, launched, status)


def _out_of_bounds(report, launched, _status):
    from labs.kit.gpu.cplusplus.failures import OutOfBounds

    target, facts = target_of(report, launched)
    did = "writes to" if report.writes else "reads"
    inside = facts.get("array") not in (None, "shared") and 0 <= facts["index"] < facts["size"]
    if inside and report.writes:
        text = f"{launched.kernel} writes to {target}, which the kernel declares const"
    elif inside:
        text = f"{launched.kernel} reads {report.text('size')} bytes from {target}, beyond its end"
    else:
        text = f"{launched.kernel} {did} {target}"
    return made(OutOfBounds, text, report, launched, line_in(report, launched), write=report.writes, **facts)


def _bad_index(report, launched, _status):
    from labs.kit.gpu.cplusplus.failures import OutOfBounds

    line = int(report.text("line"))  # the place of the brackets, even within a longer expression
    index = int(report.text("index"))
    text = f"{launched.kernel} uses index {index} on an array of type {report.text('type')}"
    return made(OutOfBounds, text, report, launched, line, array="", index=index)


def _misaligned(report, launched, _status):
    from labs.kit.gpu.cplusplus.failures import Misaligned

    target, facts = target_of(report, launched)
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
    return made(Misaligned, text, report, launched, line_in(report, launched), **facts)


def _race(report, launched, _status):
    from labs.kit.gpu.cplusplus.failures import Race

    line = line_in(report, launched)
    other = line_in(report, launched, "other_counter", "other_line")
    target, facts = target_of(report, launched)
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
    place, other_place = place_of(line, launched), place_of(other, launched)
    text = "\n".join(
        filter(
            None,
            [
                f"race in {launched.kernel} on {target}",
                f"  {who_did(report)} {did} it{' atomically' * bool(atomic)}" + (f" at {place}" if place else ""),
                f"  {who_did(report, 'other_thread', 'other_block')} {had} it{' atomically' * bool(other_atomic)}"
                + (f" at {other_place}" if other_place else ""),
                order,
                AFTERWARDS,
            ],
        )
    )
    facts |= facts_of(report, line) | {
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
            lines.append(f"  {threads} wait{'s' * (count == '1')} in {name} at {place_of(int(line), launched)}")
        groups.append({"count": int(count), "threads": ranges.rstrip(","), "line": int(line), "gone": state == "gone"})
    text = "\n".join(
        [
            f"divergent barrier in {launched.kernel}, block {triple(report.numbers('block'))}: {report.text('what')}",
            *lines,
            "Every thread of a block must reach the same __syncthreads(), and every lane that a mask names the same"
            " warp operation.",
            AFTERWARDS,
        ]
    )
    facts = {"block": tuple(report.numbers("block")), "line": first, "groups": [str(g) for g in groups]}
    return DivergentBarrier(text, place_of(first, launched), **facts)


def _misuse(report, launched, status):
    from labs.kit.gpu.cplusplus.failures import DivergentBarrier, Misaligned, Unfit

    kind = {"misaligned": Misaligned, "warp": DivergentBarrier}.get(report.text("sub"), Unfit)
    return made(kind, f"{launched.kernel}: {report.text('what')}", report, launched, line_in(report, launched))


def _trap(report, launched, _status):
    from labs.kit.gpu.cplusplus.failures import AssertionFailed

    return made(
        AssertionFailed, f"{launched.kernel}: {report.text('what')}", report, launched, line_in(report, launched)
    )


def _timeout(report, launched, _status):
    from labs.kit.gpu.cplusplus.failures import EndlessLoop

    text = (
        f"{launched.kernel} was stopped after {launched.seconds:g} s: does a loop never end, does a thread wait for"
        " another one without a barrier, or is the grid far larger than the arrays?"
    )
    return made(EndlessLoop, text, report, launched, line_in(report, launched), seconds=launched.seconds)


def _stack(report, launched, _status):
    from labs.kit.gpu.cplusplus.failures import StackOverflow

    text = (
        f"a thread of {launched.kernel} used up its {report.text('kilobytes')} KB of local memory: endless recursion,"
        " or a large local array?"
    )
    return made(StackOverflow, text, report, launched, line_in(report, launched))


def _division(report, launched, _status):
    from labs.kit.gpu.cplusplus.failures import DividedByZero

    text = f"{launched.kernel} divides an integer by zero (on a GPU the result would be undefined)"
    return made(DividedByZero, text, report, launched, line_in(report, launched))


def _wild(report, launched, _status):
    from labs.kit.gpu.cplusplus.failures import Crashed

    target, facts = target_of(report, launched)
    text = f"{launched.kernel} {'writes to' if report.writes else 'reads'} {target}"
    return made(Crashed, text, report, launched, line_in(report, launched), **facts)


def _abort(report, launched, _status):
    from labs.kit.gpu.cplusplus.failures import Crashed

    what = "called abort()" if report.text("ERR") == "abort" else "executed an illegal instruction"
    return made(Crashed, f"{launched.kernel} {what}", report, launched, line_in(report, launched))


def _died(report, launched, status):
    from labs.kit.gpu.cplusplus.failures import Crashed

    ended = f"exit code {status}" if status >= 0 else f"signal {signal.Signals(-status).name}"
    text = f"{launched.kernel} ended its process ({ended}): did it call exit(), or write to memory that is not its own?"
    return Crashed(f"{text}\n{AFTERWARDS}", None, line=0)


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
