"""Spelling of the lessons: codespell reads what their authors wrote, not the pictures that cells have put out.

Every other file is read by codespell itself (``make lint``). A notebook is JSON: its outputs hold pictures whose base64
looks like misspelt words, and a line number in it says nothing to a person. So each cell becomes a file that bears the
cell's name. Words that are right although they look wrong stand in pyproject.toml, with their reasons.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from labs.course.canonical import read, where

NOT_INSTALLED = "codespell is not installed, so spelling was not checked: pip install -e '.[dev]'"

_FINDING = re.compile(r"^(?:\./)?(?P<file>\d+):(?P<line>\d+): (?P<word>\S+) ==> (?P<better>.+)$")


def can_check_spelling():
    """Whether codespell is installed.

    Returns
    -------
    bool
    """
    return importlib.util.find_spec("codespell_lib") is not None


def check_spelling(paths, settings):
    """Look for misspelt words in the cells of notebooks.

    Parameters
    ----------
    paths : sequence of path-like
        Notebooks.
    settings : path-like
        The pyproject.toml with codespell's table.

    Returns
    -------
    list of str
        A sentence for each finding.

    Raises
    ------
    RuntimeError
        If codespell itself fails.
    """
    places = []
    with tempfile.TemporaryDirectory() as folder:
        for path in map(Path, paths):
            for index, cell in enumerate(read(path).cells):
                Path(folder, str(len(places))).write_text(cell.source + "\n", encoding="utf-8")
                places.append(where(path.name, index, cell))
        done = subprocess.run(
            [sys.executable, "-m", "codespell_lib", "--toml", str(Path(settings).resolve()), "."],
            cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False,
        )  # fmt: skip
    found = [match for match in map(_FINDING.match, done.stdout.splitlines()) if match]
    if done.returncode and not found:
        raise RuntimeError(f"codespell failed (status {done.returncode}): {done.stderr.strip() or done.stdout.strip()}")
    found.sort(key=lambda match: (int(match["file"]), int(match["line"])))
    return [
        f"{places[int(match['file'])]}, line {match['line']}: {match['word']!r} is misspelt; perhaps {match['better']}."
        for match in found
    ]
