"""Text that came from a learner's process, made fit to be shown: bounded, printable, without this machine's paths."""

import functools
import os
import re
import site
import sys
import tempfile
from pathlib import Path

import labs
from labs.course.canonical import without_machine
from labs.kit.exercise.explain import clip
from labs.kit.exercise.markup import printable


def tidy(text, length=300):
    """One line of printable text, whatever a learner's process has put into a message."""
    text = without_paths("".join(c if c.isprintable() else " " for c in text[: 2 * length]).strip())
    return text if len(text) <= length else text[: length - 2] + " …"


def block(text, length=4000, lines=60):
    """Lines of printable text, as many as a person reads."""
    found = without_paths(printable(text[:length]).strip("\n").expandtabs(4)).splitlines()
    return "\n".join([clip(line, 400) for line in found[:lines]] + ["…"] * (len(found) > lines or len(text) > length))


def without_paths(text):
    """Text in which the folders of this machine's Python and of the course stand as "…"."""
    if "/" not in text and "\\" not in text:
        return text
    return _folders().sub("…", without_machine(text))


@functools.cache
def _folders():
    places = {sys.prefix, sys.base_prefix, str(Path(labs.__file__).resolve().parent.parent), str(Path.home()),
              tempfile.gettempdir(), os.getcwd(), *site.getsitepackages()}  # fmt: skip
    places = {place.rstrip("/\\") for place in places} - {"", "/usr", "/usr/local"}
    forms = sorted(map(re.escape, places), key=len, reverse=True)
    return re.compile(rf"(?<![\w.~-])(?:{'|'.join(forms)})(?![\w-])")
