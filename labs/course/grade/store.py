"""Results that were reached already, so that a run that was interrupted, or repeated, grades only what is new.

A result is kept under a key that says everything it depends on: the notebook's bytes, the lesson's source, the code of
the course, versions of Python, NumPy and PyTorch, the secret (as a hash) and the limits.
"""

import contextlib
import hashlib
import importlib.metadata
import json
import os
import platform
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

from labs.course.grade import library, notebook
from labs.course.grade.course import NAME
from labs.course.grade.marks import Result

FORM = 1
"""Raised when what a stored result means has changed."""
PACKAGES = ("numpy", "torch", "numba-cuda")


class Store:
    """Results by key, a file each; written at once when they come.

    Parameters
    ----------
    folder : path-like
        Made when it is missing.
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def get(self, key):
        """The result of that key; None when there is none, or a damaged one."""
        try:
            data = json.loads((self.folder / f"{key}.json").read_text(encoding="utf-8"))
            return Result.from_data(data) if data.pop("form") == FORM else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def put(self, key, result):
        """Keep a result, without whose it was; one that another run may change is not kept."""
        if not result.passing:
            data = replace(result, learner="", notebook="").as_data() | {"form": FORM}
            write(self.folder / f"{key}.json", json.dumps(data))


class Keys:
    """Make keys for one run.

    Parameters
    ----------
    course : labs.course.grade.course.Course
    secret : str
        Its fingerprint, never the secret itself.
    limits : labs.course.grade.verdict.Limits
    memory : int
        Bytes of one jail.
    """

    def __init__(self, course, secret, limits, memory):
        versions = [platform.python_version(), platform.machine()]
        for name in PACKAGES:
            with contextlib.suppress(importlib.metadata.PackageNotFoundError):
                versions.append(f"{name} {importlib.metadata.version(name)}")
        self.course, self.lessons = course, {}
        self.run = json.dumps([FORM, versions, secret, asdict(limits), memory])

    def key(self, path, lesson):
        """The key of a learner's notebook; None when it cannot be read, and so will not be graded."""
        try:
            body = notebook.read_bytes(path)
        except notebook.BadNotebook:
            return None
        if lesson not in self.lessons:
            self.lessons[lesson] = self._lesson(lesson)
        parts = [self.run.encode(), self.lessons[lesson].encode(), hashlib.sha256(body).digest()]
        return hashlib.sha256(b"\0".join(parts)).hexdigest()[:40]

    def _lesson(self, lesson):
        digest = hashlib.sha256(lesson.encode())
        labs, own = library.package_folder("labs"), library.package_folder(self.course.package)
        folders = [labs / "kit", labs / "course"]
        if lesson:
            digest.update((self.course.source_dir / f"{lesson}.ipynb").read_bytes())
            folders.append(own / NAME.fullmatch(lesson)[2])
        for folder in folders:
            for path in sorted(p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
                digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
        return digest.hexdigest()


def write(path, text):
    """Write a file so that whoever reads it finds the old text or the new one, never half of it."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with os.fdopen(descriptor, "wb") as f:
            f.write(text.encode("utf-8", "replace"))
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _umask():
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
