"""The lessons for Google Colab: the published notebooks with one cell before them that brings the course there.

Colab opens a single file and has no course beside it. No lesson may hold an install command, so this cell stands only
in derived copies, on a branch of their own, to which the book's buttons lead. It runs `colab_machine.py` there.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from labs.course.canonical import NotebookError

CELL = """\
# Run this cell first. On Colab it brings the course to the machine (a minute or two); elsewhere it does nothing.
import importlib.util

if importlib.util.find_spec("labs") is None:
    !git clone --quiet --depth 1 --branch {ref} {address} warp-to-cluster
    %run warp-to-cluster/labs/course/colab_machine.py
"""
ADDRESS = re.compile(r"(https|file)://[\w.@:/~+-]+")
REF = re.compile(r"\w[\w./-]*")


def first_cell(repository, ref="main"):
    """Return the text of the cell.

    Parameters
    ----------
    repository : str
        Where the course can be cloned from, https://...
    ref : str
        Its branch or tag.

    Returns
    -------
    str

    Raises
    ------
    NotebookError
        When either is no plain address or name; both end up in a command.
    """
    if not ADDRESS.fullmatch(repository):
        raise NotebookError(f"{repository!r} is no address of a repository. Give --repository https://HOST/OWNER/NAME.")
    if not REF.fullmatch(ref) or ".." in ref:
        raise NotebookError(f"{ref!r} is no name of a branch or tag.")
    return CELL.format(ref=ref, address=repository.rstrip("/")).rstrip("\n")


def write_all(root, folder, repository, ref="main"):
    """Write every published lesson with the cell in front.

    Parameters
    ----------
    root : path-like
        Folder of the course.
    folder : path-like
        Where they go; made when it is missing. Other notebooks in it are removed.
    repository, ref
        As for `first_cell`.

    Returns
    -------
    list of str
        Names of the notebooks.
    """
    source = first_cell(repository, ref)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.ipynb"):
        old.unlink()
    names = []
    for path in sorted((Path(root) / "notebooks").glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        cell = {"cell_type": "code", "execution_count": None, "id": "colab", "metadata": {}, "outputs": []}
        notebook["cells"].insert(0, cell | {"source": source.splitlines(keepends=True)})
        text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
        (folder / path.name).write_text(text, encoding="utf-8")
        names.append(path.name)
    return names
