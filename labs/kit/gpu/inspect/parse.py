"""From what compilers write to a listing that a person reads: labels and instructions, each with its line of source.

Directives, debug sections, addresses and padding are left out. A line number counts in the kernel's own source; what
was inlined from a header gets the line that used it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .classes import classify

OURS = "kernel"
"""The file name that our compilers give to the learner's source."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One machine instruction.

    Attributes
    ----------
    row : int
        Its line in the listing's text, from 0.
    opcode : str
        "HMMA.16816.F32", "ld.global.u64", "v_mfma_f32_16x16x16_f16": with all modifiers.
    operands : str
    kind : str
        What it does, one of `labs.kit.gpu.inspect.KINDS`.
    bits : int or None
        What one thread loads or stores with it, where the name says so.
    line : int or None
        The line of the kernel's source that it comes from, from 1, where known.
    predicate : str
        The condition under which it is done ("@!P1"); "" for always.
    """

    row: int
    opcode: str
    operands: str
    kind: str
    bits: int | None = None
    line: int | None = None
    predicate: str = ""


def parse(format: str, raw: str, kernel: str = "", shown: str = "") -> tuple[str, tuple[Instruction, ...]]:
    """The listing's text and its instructions.

    Parameters
    ----------
    format : {"ptx", "sass", "gcn"}
    raw : str
        What the compiler or the disassembler wrote.
    kernel : str
        The kernel's symbol; of several functions in `raw` only this one and what it calls are kept.
    shown : str
        What to write in place of the symbol (a mangled name).
    """
    reader = {"ptx": _read_ptx, "sass": _read_sass, "gcn": _read_gcn}[format]
    rows, found = [], []
    for text, line in reader(raw, kernel):
        if kernel and shown and kernel != shown:
            text = text.replace(kernel, shown)
        match = _INSTRUCTION[format](text)
        if match:
            predicate, opcode, operands = match
            kind, bits = classify(format, opcode, operands)
            found.append(Instruction(len(rows), opcode, operands, kind, bits, line, predicate))
        rows.append(text)
    return "\n".join(rows), tuple(found)


def _split(pattern: str) -> Callable:
    compiled = re.compile(pattern)

    def match(text: str):
        hit = compiled.fullmatch(text)
        return (hit[1] or "", hit[2], (hit[3] or "").strip()) if hit else None

    return match


_INSTRUCTION = {
    "ptx": _split(r"\s+(@!?%?\w+)?\s*([a-z][\w.:]*)(?:\s+(.*?))?;"),
    "sass": _split(r"\s+(@!?U?P\w+)?\s*([A-Z][\w.]*)(?:\s+(.*?))?"),
    "gcn": _split(r"\s+()([a-z]\w+)(?:\s+(.*?))?"),
}


def _read_ptx(raw: str, kernel: str) -> Iterator[tuple[str, int | None]]:
    """Lines of the kernel's own function, from its `.entry` to the closing brace, and shared memory declared before."""
    files = dict(re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', raw, flags=re.M))
    own = {number for number, name in files.items() if name.rpartition("/")[2] == OURS}
    line, inside, wanted, joined, depth = None, False, False, "", 0
    for text in raw.splitlines():
        text = re.sub(r"//.*$", "", text).rstrip()
        bare = text.strip()
        if match := re.match(r"\.loc\s+(\d+)\s+(\d+)\s+\d+(?:,\s*function_name.*inlined_at\s+(\d+)\s+(\d+))?", bare):
            file, at, outer, outer_at = match.groups()
            line = _line(outer, outer_at, own) if outer else _line(file, at, own)
            continue
        if not inside:
            if re.match(r"(?:\.visible |\.extern |\.weak |\.common )*\.(?:entry|func)\b", bare):
                inside, wanted, line = True, f" {kernel}" in f" {bare}" or not kernel, None
            elif ".shared" in bare:
                yield text.expandtabs(4), None
                continue
            else:
                continue
        if bare == "{":
            depth += 1
        elif bare == "}":
            depth -= 1
            inside = depth > 0
        if bare in ("{", "}"):
            if wanted and (depth, bare) in ((1, "{"), (0, "}")):
                yield bare, None
            continue
        if bare.startswith((".pragma", ".reg", ".noreturn")) or re.match(r"\$L__(?:tmp|func)\w*:", bare):
            continue
        if not bare or not wanted:
            continue
        if bare.startswith("{ ") and bare.endswith("}"):  # a statement in braces of its own
            bare = bare[2:-1].strip()
        if not joined and re.fullmatch(r"[\w$]+:", bare):
            yield bare, None
            continue
        # A statement may go over several lines; it ends with a semicolon.
        joined = f"{joined} {bare}" if joined else bare
        is_statement = re.match(r"(?:@!?%?\w+\s+)?[a-z]", joined) and not joined.startswith(("{", "}"))
        if is_statement and not joined.endswith(";"):
            continue
        body = " ".join(joined.split())
        joined = ""
        if body in "()" or body.startswith((".visible", ".entry", ".func", ".weak")):
            yield body, None
        else:
            yield f"    {body}", line


def _read_sass(raw: str, kernel: str) -> Iterator[tuple[str, int | None]]:
    """Labels and instructions of the kernel's section; functions that it calls follow under their own labels."""
    sections = re.split(r"^//-+ \.text\.(\S+) -+$", raw, flags=re.M)
    named = list(zip(sections[1::2], sections[2::2])) or [(kernel, raw)]
    named.sort(key=lambda section: section[0] != kernel)  # the kernel first
    helpers = {name for name, _ in named if name.startswith("__")}
    for name, body in named:
        if kernel and name != kernel and name not in helpers and len(named) > 1:
            continue
        yield f"{name}:", None
        rows = list(_sass_rows(body, name))
        yield from rows[: _end_of_code(rows)]


def _sass_rows(body: str, name: str) -> Iterator[tuple[str, int | None]]:
    line, outer = None, None
    for text in body.splitlines():
        if match := re.match(r'\s*//## File "([^"]*)", line (\d+)', text):
            # With -gi a place in a header is followed by the place that used it; the last one wins.
            outer = int(match[2]) if match[1].rpartition("/")[2] == OURS else outer if "inlined at" in text else None
            line = outer
        elif match := re.match(r"\s*(?:/\*[0-9a-f]+\*/)\s+(.*?)\s*;", text):
            yield f"    {match[1]}", line
        elif match := re.match(r"(\.L_x?_?\w+):", text):
            yield f"{match[1]}:", None


def _end_of_code(rows) -> int:
    """Where the padding behind the code begins: a jump to itself, then no-ops."""
    end = len(rows)
    while end and re.fullmatch(r"\s+NOP|\S+:", rows[end - 1][0]):
        end -= 1
    jump = re.fullmatch(r"\s+BRA `\((\S+)\)", rows[end - 1][0]) if end >= 2 else None
    if jump and rows[end - 2][0] == f"{jump[1]}:":
        return end - 2
    return len(rows) if end == 0 else end


def _read_gcn(raw: str, kernel: str) -> Iterator[tuple[str, int | None]]:
    """Labels and instructions from the kernel's label to the end of the function."""
    own = {
        number
        for number, *names in re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?', raw, flags=re.M)
        if OURS in (name.rpartition("/")[2] for name in names)
    }
    line, inside = None, False
    for text in raw.splitlines():
        text = re.sub(r"\s*;.*$", "", text).rstrip()
        bare = text.strip()
        if not inside:
            inside = bare == f"{kernel}:" if kernel else bool(re.fullmatch(r"[A-Za-z_]\w*:", bare))
            if inside:
                yield bare, None
        elif re.match(r"\.(?:Lfunc_end|section|rodata)", bare):
            inside = False
        elif match := re.match(r"\.loc\s+(\d+)\s+(\d+)", bare):
            line = _line(*match.groups(), own)
        elif re.fullmatch(r"\.LBB\w+:", bare):
            yield bare, None
        elif bare and not bare.startswith((".", "/")):
            yield "    " + " ".join(bare.split()), line


def _line(file: str, at: str, own) -> int | None:
    return int(at) if file in own and int(at) > 0 else None
