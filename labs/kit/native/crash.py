"""Words for the ways in which C++ can end badly: `explain`."""

from __future__ import annotations

import re
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from labs.kit.native.failures import Crashed, TooSlow
from labs.kit.native.process import Ended
from labs.kit.native.source import Source

UNHARMED = "It ran in a process of its own, so your notebook and its variables are unharmed."
_SANITIZER = re.compile(r"(?:AddressSanitizer: (?P<kind>[\w-]+)[^\n]*|runtime error: (?P<undefined>[^\n]*))")
_ACCESS = re.compile(r"^(READ|WRITE) of size (\d+)", re.MULTILINE)
_SANITIZER_WORDS = {
    "heap-buffer-overflow": "outside an array or vector",
    "stack-buffer-overflow": "outside a local array",
    "stack-buffer-underflow": "before a local array",
    "global-buffer-overflow": "outside a global array",
    "heap-use-after-free": "in memory that had been freed",
    "stack-use-after-return": "in a local variable of a function that had returned",
    "stack-use-after-scope": "in a local variable that had gone out of scope",
    "container-overflow": "behind the last element of a vector",
    "SEGV": "at an address that is nobody's",
}
_SIGNALS = {
    "SIGFPE": ("division", "divided an integer by zero"),
    "SIGABRT": ("abort", "called abort: a failed assertion, an exception that nobody caught, or damaged memory"),
    "SIGILL": ("illegal", "ran into an illegal instruction"),
    "SIGTRAP": ("illegal", "ran into a trap"),
    "SIGKILL": ("killed", "was killed from outside, most likely by the system because memory ran out"),
    "SIGTERM": ("killed", "was ended from outside"),
}


@dataclass(frozen=True, slots=True)
class Argument:
    """What a report needs to know about an array argument: its name, its elements' size (B), and how many."""

    name: str
    itemsize: int
    count: int


def explain(ended: Ended, function: str, source: Source, module: Path, arguments: tuple[Argument, ...] = ()) -> Crashed:
    """The exception for a child that ended inside a learner's function.

    Parameters
    ----------
    ended : Ended
    function : str
        What was called; empty while the module was loaded.
    source : Source
    module : pathlib.Path
        The cell's module, with line numbers.
    arguments : tuple of Argument
        The arrays of the call, in their order.
    """
    facts = _facts(ended.report)
    line = _line(facts["frame"], module, source.label)
    subject = f"{function}()" if function else "a global variable's constructor"
    if ended.seconds is not None:
        text = f"{subject} did not return within {ended.seconds:g} s and was stopped"
        advice = "If it only needs longer: %%cpp --timeout 60 ..."
        return _failure(TooSlow, "timeout", text, line, source, function, advice)
    if ended.sanitizer:
        kind, text, found = _from_sanitizer(ended.sanitizer, source.label)
        return _failure(Crashed, kind, f"{subject} {text}", found or line, source, function, "")
    number = int(facts["signal"][0][0]) if facts["signal"] else -ended.status
    if number <= 0:
        text = f"{subject} ended the process it ran in, with exit status {ended.status}"
        return _failure(
            Crashed, "exit", text, line, source, function, "Return a value, or throw an exception, instead."
        )
    name = _signal_name(number)
    if name in ("SIGSEGV", "SIGBUS"):
        kind, text = _memory(facts, arguments)
        text += f" (segmentation fault, {name})"
    else:
        kind, text = _SIGNALS.get(name, ("crash", "was stopped"))
        text += f" ({name})"
    advice = "" if kind in ("stack", "division") else "To find the first bad access: %%cpp --check ..."
    return _failure(Crashed, kind, f"{subject} {text}", line, source, function, advice)


def _failure(cls, kind, text, line, source, function, advice):
    lines = source.text.splitlines()
    at = f", at line {line} of your {source.label}" if line else ""
    shown = f"\n    {lines[line - 1].strip()}" if line and line <= len(lines) else ""
    more = f"\n{advice}" if advice else ""
    return cls(f"{text}{at}{shown}\n{UNHARMED}{more}", kind=kind, function=function, line=line)


def _facts(report):
    facts = {"signal": [], "address": [], "stack": [], "array": [], "frame": []}
    for line in report.splitlines():
        word, *rest = line.split(" ")
        if word in facts:
            facts[word].append(rest)
    return facts


def _memory(facts, arguments):
    if facts["stack"]:
        return "stack", "filled its stack: a recursion without end, or a very large local array"
    address, write = (int(facts["address"][0][0], 16), facts["address"][0][1]) if facts["address"] else (0, "2")
    did = {"0": "read", "1": "wrote to"}.get(write, "used")
    if facts["array"]:
        index, offset, nbytes = (int(part) for part in facts["array"][0])
        if index < len(arguments):
            array = arguments[index]
            if 0 <= offset < nbytes:
                return "read_only", f"{did} {array.name}, an array that may only be read"
            element = offset // array.itemsize
            return "out_of_bounds", (
                f"{did} element {element} of {array.name}, which has {array.count} elements"
                f" ({'the last is ' + str(array.count - 1) if array.count else 'it is empty'})"
            )
    if address < 1 << 16:
        return "null", f"{did} memory through a null pointer"
    return "wild", f"{did} address {address:#x}, where there is no memory"


def _line(frames, module, label):
    """The innermost line of the learner's text among the frames, or 0."""
    offsets = [frame[-1] for frame in frames if len(frame) >= 2 and Path(" ".join(frame[:-1])).name == module.name]
    if not offsets:
        return 0
    try:
        done = subprocess.run(
            ["addr2line", "-i", "-e", str(module), *(f"0x{offset}" for offset in offsets)],
            capture_output=True, text=True, timeout=20,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return 0
    for place in done.stdout.splitlines():
        file, _, line = place.split(" ")[0].rpartition(":")
        if Path(file).name == label and line.isdigit():
            return int(line)
    return 0


def _from_sanitizer(report, label):
    found = _SANITIZER.search(report)
    lines = re.findall(rf"(?:^|[\s/]){re.escape(label)}:(\d+)", report)
    line = int(lines[0]) if lines else 0
    if not found:
        return "sanitizer", "was stopped by the sanitizer: " + report.strip()[:300], line
    if found["undefined"]:
        return "undefined", f"did something that C++ does not define: {found['undefined']}", line
    if found["kind"] in ("stack-overflow", "ABRT", "FPE"):
        word = {
            "stack-overflow": "filled its stack: a recursion without end, or a very large local array",
            "ABRT": _SIGNALS["SIGABRT"][1],
            "FPE": _SIGNALS["SIGFPE"][1],
        }[found["kind"]]
        return {"stack-overflow": "stack", "ABRT": "abort", "FPE": "division"}[found["kind"]], word, line
    access = _ACCESS.search(report)
    did = {"READ": "read", "WRITE": "wrote"}.get(access[1] if access else "", "touched")
    size = f" {access[2]} bytes" if access else " memory"
    return "out_of_bounds", f"{did}{size} {_SANITIZER_WORDS.get(found['kind'], 'wrongly: ' + found['kind'])}", line


def _signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
