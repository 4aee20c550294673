"""The folder in which built files are kept, and the rule for making one: once, whole, by whoever comes first."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

STALE = 3600.0
"""Seconds after which a folder that is still being built in has been left by a process that was killed."""


def cache_folder() -> Path:
    """Where built files lie; made if it is absent. ``LABS_CACHE`` overrides the user's cache folder."""
    if chosen := os.environ.get("LABS_CACHE"):
        folder = Path(chosen).absolute()
    else:
        from platformdirs import user_cache_dir

        folder = Path(user_cache_dir("warp-to-cluster")) / "native"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def build_once(name: str, make, *, wait: bool = False) -> Path:
    """The file or folder `name` of the cache, made by ``make(folder, out)`` if it is absent.

    `make` works in an empty `folder` of its own and writes the file (or folder) `out`; several processes may do so
    at once, and the first one to end is kept.

    Parameters
    ----------
    name : str
        Within the cache. What all cells share lies in ``support/``.
    make : callable
    wait : bool
        Let one process at a time make it, while others wait for that: for what takes many seconds. Always so in
        ``support/``.
    """
    if there := find_built(name):
        return there
    cache = cache_folder()
    target = cache / name
    target.parent.mkdir(exist_ok=True)
    _sweep(cache)
    with _turn(target) if wait or target.parent.name == "support" else contextlib.nullcontext():
        return find_built(name) or _made(cache, target, make)


@contextlib.contextmanager
def _turn(target):
    """One process at a time; whoever waited finds it made."""
    locks = target.parent / ".locks"
    locks.mkdir(exist_ok=True)
    with open(locks / target.name, "w") as lock:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(lock, fcntl.LOCK_EX)  # released by the system when this process ends
        yield


def _made(cache, target, make):
    folder = Path(tempfile.mkdtemp(prefix="building-", dir=cache))
    try:
        out = folder / f"out{target.suffix}"
        make(folder, out)
        try:
            os.replace(out, target)
        except OSError:
            if not target.is_dir():  # another process has put the same folder there
                raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return target


def _sweep(cache):
    """Remove what processes that were killed have left half built."""
    for folder in cache.glob("building-*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_mtime < time.time() - STALE:
                shutil.rmtree(folder, ignore_errors=True)


def find_built(name: str) -> Path | None:
    """The file or folder `name` of the caches, if it has been built."""
    folders = [Path(folder) for folder in os.environ.get("LABS_CACHE_READ", "").split(os.pathsep) if folder]
    return next((folder / name for folder in [*folders, cache_folder()] if (folder / name).exists()), None)


def digest(*parts) -> str:
    """A short name for everything that a result depends on."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:20]


def contents(path: Path) -> str:
    """The content of a file, or of all files of a folder, as a digest."""
    path = Path(path)
    files: Iterable[Path] = sorted(f for f in path.rglob("*") if f.is_file()) if path.is_dir() else [path]
    total = hashlib.sha256()
    for file in files:
        total.update(f"{file.relative_to(path) if path.is_dir() else file.name}\0".encode())
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()
