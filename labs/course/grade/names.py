"""What the names of files and folders say: whose notebook it is, and which attempt.

Learners hand in through many doors, and each writes names of its own. Here stand those of Moodle, Canvas, Blackboard,
Brightspace and nbgrader, and what people and browsers make of a name (``ada-08_all_reduce (1).ipynb``).
"""

import re
import unicodedata
from dataclasses import dataclass

from labs.kit.exercise.markup import printable

_FOLDERS = (
    re.compile(r"(?P<name>.+?)_(?P<number>\d+)_assignsubmission_\w*"),  # Moodle
    re.compile(r"\d+-(?P<number>\d+) ?- ?(?P<name>.+?) ?- .*\b\d{4}\b.*"),  # Brightspace
    re.compile(r"(?P<name>[^+]+)\+[^+]+\+.+"),  # what nbgrader's exchange collects
)
_FILES = (
    re.compile(r"(?P<name>.+?)_(?P<number>\d+)_assignsubmission_[a-z]*_?(?P<rest>.*)"),  # Moodle, without folders
    re.compile(r"(?P<name>[^_]+)_(?:late_)?(?P<number>\d{2,})_\d{2,}_(?P<rest>.+)", re.I),  # Canvas
    re.compile(r"(?:.*_)?(?P<name>[^_]+)_attempt_\d{4}(?:-\d\d){5}_?(?P<rest>.*)"),  # Blackboard
)
_NEUTRAL = re.compile(
    r"notebooks?|submitted|submissions?|submission attachments?(\(s\))?|assignments?|attempts?[ _-]?\d*|final|work|src"
    r"|v(ersion)?[ _-]?\d+|warp-to-cluster(-main|-\d+)?|\d{4}-\d\d-\d\d.*",
    re.I,
)
"""Folders that say nothing of who it was."""
_EDGE = r"[\s\-_.,+()\[\]]"
_FILLER = re.compile(
    rf"^{_EDGE}*((copy|kopie|copie|copia)( \(?\d+\)?)? (of|von|de)|final|solved|solutions?)(?={_EDGE}|$)"
    rf"|(?<![^\W_])(copy ?\d*|final|solved|solutions?|v\d|\(\d{{1,3}}\)){_EDGE}*$",
    re.I,
)
"""What people, browsers and Jupyter add to a name: Copy of, -Copy1, (2)."""
_ATTEMPT = re.compile(r"(?:\((\d{1,3})\)|-(\d{1,3}))\s*$")
LONGEST = 80


@dataclass(frozen=True)
class Who:
    """Whom a name names.

    Attributes
    ----------
    key : str
        Different for different people: the name as it was written, with the number that the LMS gave.
    name : str
        For people to read.
    number : str
        The LMS's number, or empty.
    """

    key: str
    name: str
    number: str = ""


def of_folder(name):
    """Whom a folder's name names; None for one that says nothing (``notebooks``, ``attempt 2``)."""
    return None if _NEUTRAL.fullmatch(name.strip()) else from_system(name) or _who(name)


def from_system(name):
    """Whom a folder's name names, when a system for handing in wrote it; else None."""
    for pattern in _FOLDERS:
        if found := pattern.fullmatch(name):
            return _who(found["name"], found.groupdict().get("number") or "")
    return None


def of_file(stem, lesson_name):
    """Whom a file's name names besides the lesson; None when it names nobody.

    Parameters
    ----------
    stem : str
        Name of the file without its ending.
    lesson_name : re.Pattern
        Finds the lesson's name in it.
    """
    for pattern in _FILES:
        if found := pattern.fullmatch(stem):
            return _who(found["name"], found.groupdict().get("number") or "")
    rest, before = lesson_name.sub(" ", stem, count=1), None
    while rest != before:
        before, rest = rest, _FILLER.sub("", rest.strip(" -_.,+[]"))
    return _who(rest) if rest else None


def attempt(stem):
    """Which attempt a name claims to be, as Canvas (``-2``) and browsers (``(2)``) write it; 0 for none."""
    found = _ATTEMPT.search(stem)
    return int(found[1] or found[2]) if found else 0


def readable(text):
    """A name in one line that can be shown anywhere: no control characters, no reversed writing, not too long."""
    text = unicodedata.normalize("NFC", printable(text))
    text = "".join("�" if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Co", "Cn") else c for c in text)
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def pages(names):
    """File names, without an ending, for the pages of learners: safe everywhere, and never the same twice.

    Parameters
    ----------
    names : sequence of str

    Returns
    -------
    list of str
        Letters and digits of any script, ``-`` and ``_``; different also where a file system ignores case.
    """
    taken, found = set(), []
    for name in names:
        plain = unicodedata.normalize("NFKC", name)
        plain = "".join(c if c.isalnum() or c in "-_" else "-" for c in plain)
        plain = re.sub(r"-{2,}", "-", plain).strip("-_")
        while len(plain.encode("utf-8", "replace")) > 100:
            plain = plain[:-1]
        plain = plain.encode("utf-8", "ignore").decode() or "learner"
        if re.fullmatch(r"con|prn|aux|nul|(com|lpt)\d", plain, re.I):  # names that Windows keeps for itself
            plain += "-"
        page, count = plain, 1
        while unicodedata.normalize("NFD", page).casefold() in taken:
            count += 1
            page = f"{plain}-{count}"
        taken.add(unicodedata.normalize("NFD", page).casefold())
        found.append(page)
    return found


def _who(name, number=""):
    name = name.strip()
    return Who(f"{name} ({number})" if number else name, readable(name) or "learner", number)
