"""This machine as the doctor sees it: files under a root, environment, programs and packages, each replaceable."""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

COMMAND_LIMIT = 5.0  # s; nvidia-smi of a healthy driver needs less than 2
_LAST_WORDS = 0.5  # s; a process that waits inside a broken driver cannot even be killed, so nobody waits for it

T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """What a program said.

    Attributes
    ----------
    code : int or None
        Exit status; negative for a signal, None when it was given up.
    text : str
        What it printed, on both streams.
    """

    code: int | None
    text: str


def run_command(command: Sequence[str], limit: float = COMMAND_LIMIT) -> Answer | None:
    """Run a program for at most `limit` s, with everything it starts; None when there is no such program.

    It speaks English, whatever the user's language is.
    """
    environment = {**os.environ, "LC_ALL": "C", "LANGUAGE": "C"}
    try:
        process = subprocess.Popen(
            list(command), env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", start_new_session=os.name == "posix",
        )  # fmt: skip
    except OSError:
        return None
    try:
        text, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        _kill(process)
        try:
            text, _ = process.communicate(timeout=_LAST_WORDS)
        except subprocess.TimeoutExpired as late:
            text = late.output or ""
            text = text.decode(errors="replace") if isinstance(text, bytes) else text
        return Answer(None, text)
    return Answer(process.returncode, text)


def _kill(process):
    try:
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except OSError:  # it has just ended
        pass


def version_of(distribution: str) -> str | None:
    """Version of an installed distribution, or None."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def has_module(name: str) -> bool:
    """Say whether a module could be imported, without importing it."""
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):  # a parent package is missing, or half installed
        return False


def can_load(library: str) -> bool:
    """Say whether the system finds a shared library."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _package_folders():
    return tuple(Path(path) for path in sys.path if path.endswith("-packages"))


@dataclass(frozen=True)
class Machine:
    """Where probes look. Every part can be replaced, so that a test can build any machine.

    Attributes
    ----------
    root : pathlib.Path
        Where the file system begins.
    environ : mapping of str to str
        Environment variables.
    system : str
        As of `platform.system`: Linux, Darwin or Windows.
    executable, prefix : str
        The Python that runs, and its environment.
    packages : tuple of pathlib.Path
        Folders with installed packages.
    command, version, module, library : callable
        As `run_command`, `version_of`, `has_module` and `can_load`.
    """

    root: Path = Path("/")
    environ: Mapping[str, str] = field(default_factory=lambda: MappingProxyType(dict(os.environ)))
    system: str = field(default_factory=platform.system)
    executable: str = sys.executable
    prefix: str = sys.prefix
    packages: tuple[Path, ...] = field(default_factory=_package_folders)
    command: Callable[..., Answer | None] = run_command
    version: Callable[[str], str | None] = version_of
    module: Callable[[str], bool] = has_module
    library: Callable[[str], bool] = can_load

    def path(self, name: str | Path) -> Path:
        """The file `name`, given from the root."""
        return self.root / str(name).lstrip("/")

    def text(self, name: str | Path) -> str:
        """What a small file holds; empty when it cannot be read."""
        try:
            return self.path(name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def names(self, name: str | Path) -> tuple[str, ...]:
        """What a folder holds, in order; empty when it cannot be read."""
        try:
            return tuple(sorted(os.listdir(self.path(name))))
        except OSError:
            return ()

    def exists(self, name: str | Path) -> bool:
        """Whether there is such a file."""
        try:
            return self.path(name).exists()
        except OSError:
            return False

    def which(self, program: str) -> str | None:
        """Where the shell would find a program."""
        return shutil.which(program, path=self.environ.get("PATH", os.defpath))


def bounded(work: Callable[[], T], limit: float) -> tuple[T | None, str]:
    """Do some work in a thread of its own for at most `limit` s.

    Returns
    -------
    result : object or None
    fault : str
        Why there is no result: what was raised, or that time was up. Empty when there is one.
    """
    box: list = []

    def guarded():
        try:
            box.append((work(), ""))
        except Exception as error:
            box.append((None, f"{type(error).__name__}: {error}"))

    thread = threading.Thread(target=guarded, daemon=True, name="doctor")
    thread.start()
    thread.join(limit)
    return box[0] if box else (None, f"no answer within {limit:g} s")
