"""What a learner has tried and solved, in one small file in their own state folder.

``progress.json`` lies in ``platformdirs.user_state_dir("warp-to-cluster")``, or in the folder that the environment
variable LABS_STATE names. Nothing here ever fails a check: where the folder cannot be written, nothing is remembered.
"""

import contextlib
import json
import math
import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import MappingProxyType

VERSION = 1
_PATIENCE = 2.0  # seconds to wait for another notebook that is writing


@dataclass(frozen=True)
class Record:
    """What is known about one exercise.

    Parameters
    ----------
    solved : bool
        Whether an answer has ever passed.
    failed, checks : int
        Failed checks and all checks. An unsolved answer counts in neither.
    points, of : float
        Best points so far, and what the exercise is worth.
    lesson : str
        Topic package, for example "all_reduce".
    """

    solved: bool = False
    failed: int = 0
    checks: int = 0
    points: float = 0.0
    of: float = 0.0
    lesson: str = ""


def folder() -> Path:
    """The folder that progress is kept in; it need not exist."""
    if chosen := os.environ.get("LABS_STATE"):
        return Path(chosen).expanduser()
    try:
        from platformdirs import user_state_dir
    except ImportError:
        return Path.home() / ".local" / "state" / "warp-to-cluster"
    return Path(user_state_dir("warp-to-cluster"))


def load() -> Mapping[str, Record]:
    """All records by exercise id, read-only; empty when there is no file or it cannot be read."""
    return MappingProxyType({name: _record(entry) for name, entry in _read()["exercises"].items()})


def attempts(exercise_id) -> int:
    """Number of failed checks of an exercise."""
    return load().get(exercise_id, Record()).failed


def record(exercise_id, solved, points=0.0, of=0.0, lesson="") -> int:
    """Note one check and return the number of failed checks so far, this one included.

    An exercise that was solved once stays solved, with its best points. Where nbgrader grades, the answers are somebody
    else's, and nothing is noted.
    """
    if os.environ.get("NBGRADER_EXECUTION") == "autograde":
        return int(not solved)
    failed = 0

    def change(data):
        nonlocal failed
        old = _record(data["exercises"].get(exercise_id))
        new = Record(
            solved=old.solved or bool(solved),
            failed=old.failed + (not solved),
            checks=old.checks + 1,
            points=max(old.points, float(points)),
            of=float(of) or old.of,
            lesson=lesson or old.lesson,
        )
        failed = new.failed
        data["exercises"][exercise_id] = asdict(new)

    if not _update(change):
        failed = attempts(exercise_id) + (not solved)
    return failed


def remember(name, value) -> None:
    """Keep a prediction, so that it is still there when the notebook is opened again."""

    def change(data):
        data["predictions"][name] = value

    _update(change)


def recall(name) -> float | None:
    """The prediction kept under `name`, or None."""
    value = _read()["predictions"].get(name)
    return float(value) if type(value) in (int, float) else None


def reset(exercise_id=None) -> None:
    """Forget one exercise, or everything."""

    def change(data):
        if exercise_id is None:
            data["exercises"].clear()
            data["predictions"].clear()
        else:
            data["exercises"].pop(exercise_id, None)

    _update(change)


def _record(entry):
    """A record from what the file holds; a field of the wrong type falls back to its default."""
    entry = entry if type(entry) is dict else {}
    kept = {}
    for field in fields(Record):
        value = entry.get(field.name, field.default)
        wanted = type(field.default)
        if wanted is float and type(value) is int:
            value = float(value)
        usable = type(value) is wanted and (wanted is not float or math.isfinite(value))
        kept[field.name] = value if usable else field.default
    return Record(**kept)


def _read():
    """Contents of the file: always a dict with the two sections, whatever the file holds."""
    data = None
    with contextlib.suppress(OSError, ValueError, RecursionError):
        data = json.loads((folder() / "progress.json").read_text(encoding="utf-8"))
    data = data if type(data) is dict else {}
    for section in ("exercises", "predictions"):
        if type(data.get(section)) is not dict:
            data[section] = {}
    return data


def _update(change) -> bool:
    """Apply `change` to the contents under a lock and replace the file at once; False where that cannot be done."""
    try:
        where = folder()
        where.mkdir(parents=True, exist_ok=True)
        with _lock(where / "progress.lock"):
            data = _read()
            version = data.get("version", VERSION)
            if type(version) is int and version > VERSION:
                return False  # a newer course wrote this; it must not lose what we do not know
            _keep_broken(where / "progress.json")
            change(data)
            _replace(where / "progress.json", json.dumps(data | {"version": VERSION}, indent=1, sort_keys=True))
        return True
    except (OSError, ValueError, RuntimeError):
        return False


def _keep_broken(path):
    """Move a file that is not JSON aside instead of overwriting it: somebody may want to repair it."""
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return
    except (ValueError, RecursionError):
        os.replace(path, path.with_suffix(".broken.json"))


def _replace(path, text):
    handle, name = tempfile.mkstemp(prefix=".progress-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


@contextlib.contextmanager
def _lock(path):
    """Hold the lock file, or go on without it after `_PATIENCE` s: a stuck notebook must not stop another one."""
    try:
        import fcntl
    except ImportError:  # Windows: the replacement is still atomic, two writers at once may lose one count
        yield
        return
    with open(path, "a") as file:
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > until:
                    break
                time.sleep(0.01)
        yield
