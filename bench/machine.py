"""Where and with what the measurements were taken: no figure means anything without it."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

PACKAGES = ("torch", "numpy", "greenlet", "simpy", "cloudpickle")


def describe() -> dict:
    """The machine and the versions, as plain data for the JSON file."""
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": _memory(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "revision": _revision(),
        "load_before": load(),
    }


def load() -> float | None:
    """How many processes wanted a core during the last minute, where the system tells."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def lines(machine: dict) -> list[str]:
    """The same for people."""
    memory = f"{machine['memory_bytes'] / 1e9:.0f} GB" if machine["memory_bytes"] else "memory unknown"
    versions = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    before = machine["load_before"]
    busy = "" if before is None else f", load {before:.1f} before the first run"
    if before is not None and before > 0.5:
        busy += " (busy: other programs disturb what follows)"
    return [
        f"Machine   {machine['cpu']}, {machine['cores']} cores, {memory}, {machine['system']}{busy}",
        f"Versions  Python {machine['python']}, {versions}; course {machine['revision'] or 'without git'}",
    ]


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith(("model name", "Model")):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown CPU"


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _revision() -> str | None:
    """The commit, with a + when files differ from it."""
    root = Path(__file__).resolve().parent.parent

    def git(*words: str) -> str:
        return subprocess.run(("git", *words), cwd=root, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "--short=10", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.CalledProcessError):
        return None
