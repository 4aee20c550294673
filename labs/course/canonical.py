"""One canonical form of a notebook, so that git shows only what an author really changed.

Two runs of the same lesson give the same bytes: keys are sorted, execution counts run from 1 (nbval reports cells
without a count as "unrun"), timings and widget state are left out, memory addresses and machine paths are replaced,
and neighbouring pieces of one output stream are joined, since where a stream is cut is a race.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import nbformat

WIDGET_MIME = "application/vnd.jupyter.widget-view+json"
NOTEBOOK_METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "pygments_lexer": "ipython3",
    },
}
CELL_METADATA = frozenset({"tags", "nbgrader", "mystnb", "editable", "deletable"})

# Only the address of a repr, "<object at 0x7f...>": a number in machine code or in a lesson's own text stays.
_ADDRESS = re.compile(r"(?<=\bat )0x[0-9a-fA-F]{6,16}\b")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
# A path begins where no path goes on and is of bounded depth: a megabyte of base64 must not take minutes.
_FOLDERS = r"(?<![\w/\\:.~+-])(?:~|[A-Za-z]:)?(?:[/\\][^\s/\\:\"'<>=(]{1,99}){0,20}[/\\]"
_CELL_FILE = re.compile(_FOLDERS + r"ipykernel_\d+[/\\]\d+\.py")
_SITE_PACKAGES = re.compile(_FOLDERS + r"(?=(?:site|dist)-packages[/\\])")
_STANDARD_LIBRARY = re.compile(_FOLDERS + r"lib[/\\](?=python3\.\d+[/\\])")
_TEMPORARY = re.compile(r"/(?:tmp|var/folders)/[^\s:\"'<>)\]},]+/(?=[^\s/])")


class NotebookError(Exception):
    """A notebook breaks a rule; the message names the notebook and the cell and says what to do."""


def where(name, index, cell):
    """Name a cell as a person finds it: notebook, position from 1, and its id.

    Parameters
    ----------
    name : str
        File name of the notebook.
    index : int
        Position of the cell, from 0.
    cell : mapping
        The cell.

    Returns
    -------
    str
        For example ``08_all_reduce.ipynb, cell 5 (check-chunk_bounds)``.
    """
    label = cell.get("metadata", {}).get("nbgrader", {}).get("grade_id") or cell.get("id", "without an id")
    return f"{name}, cell {index + 1} ({label})"


def read(path):
    """Read a notebook without repairing it.

    ``nbformat.read`` gives cells with doubled or missing ids new random ones, which would change the file each time.

    Parameters
    ----------
    path : path-like
        A notebook in format 4.

    Returns
    -------
    nbformat.NotebookNode

    Raises
    ------
    NotebookError
        When the file is missing, is no notebook, or has an older format.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotebookError(f"{path.name}: there is no such notebook in {path.parent}.") from None
    return loads(text, path.name)


def loads(text, name="notebook"):
    """Turn the text of a notebook file into a notebook; see `read`."""
    try:
        raw = json.loads(text)
        if raw["nbformat"] != 4:
            raise NotebookError(f"{name}: its format is {raw['nbformat']}. Open it once in JupyterLab and save it.")
        return nbformat.v4.reads(text)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NotebookError(f"{name}: this file cannot be read as a notebook ({error}).") from None


def canonical(notebook, name="notebook", root=None):
    """Return a copy of a notebook in canonical form.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
        Any notebook in format 4; it is not changed.
    name : str
        File name, for error messages.
    root : path-like, optional
        Folder of the course; paths below it are written relative to it.

    Returns
    -------
    nbformat.NotebookNode

    Raises
    ------
    NotebookError
        When two cells share an id, a cell has none, a widget has no static form, or the result is no valid notebook.
    """
    result = nbformat.from_dict({"nbformat": 4, "nbformat_minor": 5, "metadata": NOTEBOOK_METADATA, "cells": []})
    stored = notebook.metadata.get("labs", {})
    stored = {key: stored[key] for key in ("executed", "outputs") if isinstance(stored.get(key), str)}
    if stored:
        result.metadata["labs"] = stored
    seen, count = set(), 0
    for index, cell in enumerate(notebook.cells):
        place = where(name, index, cell)
        identity = cell.get("id")
        if not identity:
            raise NotebookError(f"{place}: the cell has no id. Give it one of its own, for example a word.")
        if identity in seen:
            raise NotebookError(f'{place}: an earlier cell also has the id "{identity}". Give one of them another id.')
        seen.add(identity)
        kept = {key: cell.metadata[key] for key in sorted(cell.metadata) if key in CELL_METADATA}
        if not kept.get("tags", True):
            del kept["tags"]
        new = {"id": identity, "cell_type": cell.cell_type, "metadata": kept, "source": _source(cell)}
        if cell.cell_type == "code":
            count += 1
            outputs = _outputs(cell.get("outputs", []), count, place, root)
            new |= {"execution_count": count, "outputs": outputs}
        elif cell.get("attachments"):
            new["attachments"] = cell.attachments
        result.cells.append(nbformat.from_dict(new))
    try:
        nbformat.validate(result)
    except nbformat.ValidationError as error:
        raise NotebookError(f"{name}: not a valid notebook. {str(error).splitlines()[0]}") from None
    return result


def dumps(notebook):
    """Write a canonical notebook as text: keys sorted, one space of indent, text as lists of lines.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
        What `canonical` returned.

    Returns
    -------
    str
        Ends with one newline.
    """
    plain = json.loads(nbformat.v4.writes(notebook))
    return json.dumps(plain, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def without_machine(text, root=None):
    """Replace what differs from machine to machine: addresses of objects and absolute paths.

    Parameters
    ----------
    text : str
        Any text that a cell printed.
    root : path-like, optional
        Folder of the course; the paths of its files become relative.

    Returns
    -------
    str
    """
    text = _ADDRESS.sub("0x…", text)
    for mark, pattern, short in (
        ("ipykernel_", _CELL_FILE, "cell"),
        ("-packages", _SITE_PACKAGES, ""),
        ("python3", _STANDARD_LIBRARY, ""),
    ):
        if mark in text:
            text = pattern.sub(short, text)
    if root is not None:
        folder, home = str(root).rstrip("/\\"), str(Path.home()).rstrip("/\\")
        forms = [folder]
        if home and folder.startswith(home + "/"):
            forms.append("~" + folder[len(home) :])
        for form in forms:
            text = re.sub(rf"(?<![\w.~-]){re.escape(form)}[/\\]", "", text)
    return _TEMPORARY.sub("…/", text)


def _source(cell):
    """Return the text of a cell without what editors leave behind; two spaces at a line's end mean a break in prose."""
    source = cell.source.replace("\r\n", "\n").replace("\r", "\n")
    if cell.cell_type == "code":
        source = "\n".join(line.rstrip() for line in source.split("\n"))
    return source.strip("\n").rstrip()


def _outputs(outputs, count, place, root):
    """Return the outputs of a code cell in canonical form."""
    result = []
    for output in outputs:
        kind = output.output_type
        if kind == "stream":
            previous = result[-1] if result else None
            if previous and previous["output_type"] == "stream" and previous["name"] == output.name:
                previous["text"] += output.text
                continue
            result.append({"output_type": kind, "name": output.name, "text": output.text})
        elif kind == "error":
            lines = "\n".join(output.get("traceback", []))
            result.append(
                {
                    "output_type": kind,
                    "ename": output.ename,
                    "evalue": without_machine(_ANSI.sub("", output.evalue), root),
                    "traceback": without_machine(_ANSI.sub("", lines), root).split("\n") if lines else [],
                }
            )
        else:
            new = {"output_type": kind, "data": _data(output.get("data", {}), place, root), "metadata": {}}
            if kind == "execute_result":
                new["execution_count"] = count
            result.append(new)
    for output in result:
        if output["output_type"] == "stream":
            output["text"] = without_machine(_last_state(output["text"]), root)
    return result


def _last_state(text):
    """Return what a terminal shows in the end of lines that were overwritten after a carriage return."""
    # nbclient can do this too, but its pattern takes minutes for a line of a megabyte.
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))


def _data(data, place, root):
    """Return the forms of one output; a live widget is dropped, its static form stays."""
    data = dict(data)
    if WIDGET_MIME in data:
        if "text/html" not in data:
            raise NotebookError(
                f"{place}: this output is a live widget with no text/html form, so a reader without a kernel would see "
                "nothing. Display it through labs.kit.draw or labs.kit.exercise, which add a static form."
            )
        del data[WIDGET_MIME]
    return {
        mime: without_machine(value, root) if isinstance(value, str) and mime.startswith("text/") else value
        for mime, value in sorted(data.items())
    }
