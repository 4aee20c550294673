"""What a compiler says, turned into what a learner needs: the line of the cell, the first error first, little noise."""

from __future__ import annotations

import re
from dataclasses import dataclass

from labs.kit.native.failures import CompileError

_PLACE = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:(?P<column>\d+):)? "
    r"(?:fatal )?(?P<kind>error|warning|note): (?P<text>.*)$"
)
_REQUIRED = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?P<column>\d+):\s+required (?:from|by)")
_UNDEFINED = re.compile(r"(?:^|[/ ])(?P<file>[^\s:/]+):(?P<line>\d+): undefined reference to [`'](?P<name>.*)'")
_UNDEFINED_NOWHERE = re.compile(r"undefined reference to [`'](?P<name>.*)'|symbol not found.*?(?P<apple>\S+)$")
_SNIPPET = re.compile(r"^\s*\d* \| ?")
SHOWN = 3
"""Errors told in full."""


@dataclass(frozen=True, slots=True)
class _Message:
    kind: str
    file: str
    line: int
    text: str
    snippet: tuple[str, ...]
    reached_from: int  # line of the learner's code that led to a message in somebody else's; 0 where unknown


def explain(log: str, *, label: str, source: str) -> CompileError:
    """The exception for a compilation that failed.

    Parameters
    ----------
    log : str
        What the compiler and the linker wrote.
    label : str
        What they call the learner's text.
    source : str
        The learner's text.

    Returns
    -------
    CompileError
    """
    log = re.sub(r"(?m)^\./", "", log)  # clang's way to name the file beside
    errors = [message for message in _messages(log, label) if message.kind == "error"]
    errors = [m for m in errors if m.file == label] + [m for m in errors if m.file != label and m.reached_from]
    places = dict.fromkeys((m.line if m.file == label else m.reached_from, m.text) for m in errors)
    first = {place: m for m in reversed(errors) for place in [(m.line if m.file == label else m.reached_from, m.text)]}
    if not places:
        return _linking(log, label, source)
    shown = [_told(first[place], place[0], label, source) for place in list(places)[:SHOWN]]
    more = len(places) - len(shown)
    if more > 0:
        shown.append(f"... and {more} more error{'s' * (more > 1)}; the first one often causes the others.")
    text = f"your code does not compile.\n{chr(10).join(shown)}"
    return CompileError(text, log=log, lines=tuple(line for line, _ in places))


def _messages(log, label):
    """The located messages of a log, each with its snippet and with the learner's line that led to it."""
    found, reached = [], 0
    lines = log.splitlines()
    for number, line in enumerate(lines):
        if (required := _REQUIRED.match(line)) and required["file"] == label:
            reached = int(required["line"])
        place = _PLACE.match(line)
        if not place:
            continue
        snippet = []
        for follower in lines[number + 1 :]:
            if not _SNIPPET.match(follower):
                break
            snippet.append(_SNIPPET.sub("", follower))
        if place["kind"] == "note":  # clang tells the way after the message
            if place["file"] == label and found and found[-1].file != label and not found[-1].reached_from:
                last = found[-1]
                found[-1] = _Message(last.kind, last.file, last.line, last.text, last.snippet, int(place["line"]))
            continue
        found.append(
            _Message(place["kind"], place["file"], int(place["line"]), place["text"], tuple(snippet[:2]), reached)
        )
        reached = 0
    return found


def _told(message, line, label, source):
    inside = "" if message.file == label else f" (found inside {message.file.rpartition('/')[2]})"
    text = f"line {line} of your {label}: {fold(message.text)}{inside}"
    if message.file == label and message.snippet:
        return "\n".join([text, *("    " + part for part in message.snippet)])
    lines = source.splitlines()
    return f"{text}\n    {lines[line - 1].strip()}" if 0 < line <= len(lines) else text


def _linking(log, label, source):
    """Nothing wrong with a line: a name without a body, or something that only our own part of the text shows."""
    told, lines = [], []
    for line in log.splitlines():
        undefined = _UNDEFINED.search(line)
        if undefined and undefined["file"] == label:
            lines.append(int(undefined["line"]))
            told.append(
                f"line {lines[-1]} of your {label} uses {undefined['name']}, which is declared, but has no body"
            )
        elif nowhere := _UNDEFINED_NOWHERE.search(line):
            told.append(f"{nowhere['name'] or nowhere['apple']} is declared, but has no body")
    if told:
        return CompileError("your code does not link.\n" + "\n".join(dict.fromkeys(told)), log=log, lines=tuple(lines))
    for message in _messages(log, label):
        if "overloaded function" in message.text:
            what = "a function that the first line names has several definitions; give each a name of its own"
            return CompileError(f"your code does not compile: {what}", log=log)
        if message.kind == "error":
            return CompileError(f"your code does not compile: {fold(message.text)}", log=log)
    return CompileError("your code does not compile. The compiler said:\n" + log.strip()[-1500:], log=log)


def fold(text: str, longest: int = 60) -> str:
    """`text` with the arguments of templates that are longer than `longest` characters left out: ``vector<...>``."""
    result, start, depth = [], 0, 0
    for at, character in enumerate(text):
        if character == "<" and at and (text[at - 1].isalnum() or text[at - 1] == "_"):
            if depth == 0:
                result.append(text[start:at])
                start = at
            depth += 1
        elif character == ">" and depth and text[at - 1] != "-":
            depth -= 1
            if depth == 0:
                part = text[start : at + 1]
                result.append(part if len(part) <= longest else "<...>")
                start = at + 1
    return "".join(result) + text[start:]
