"""Look at memory, limits, and the folders that the course writes to. A probe file is written and removed."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from labs.course.doctor.facts import Folder, Storage
from labs.course.doctor.machine import Machine

SHARED = "/dev/shm"


def look_storage(machine: Machine) -> Storage:
    """Limits of memory, of open files and of disk space."""
    total, limit = total_memory(machine), memory_limit(machine)
    memory = min(filter(None, (total, limit)), default=None)
    shared = machine.path(SHARED)
    there = machine.system == "Linux" and shared.is_dir()
    return Storage(
        shared=shutil.disk_usage(shared).total if there else None,
        shared_fault=write_fault(shared) if there else "",
        open_files=_open_files(),
        memory=memory,
        memory_limited=bool(total and memory and memory < 0.95 * total),
        folders=tuple(_folder(machine, *which) for which in folders(machine)),
    )


def folders(machine: Machine) -> list[tuple[str, Path, str]]:
    """What is kept, where, and the variable that names another folder. None of them need exist."""
    from labs.kit.exercise import progress

    cache = machine.environ.get("LABS_CACHE")
    if not cache:
        try:
            from platformdirs import user_cache_dir

            cache = user_cache_dir("warp-to-cluster")
        except ImportError:  # named among the missing packages
            cache = Path.home() / ".cache" / "warp-to-cluster"
    return [
        ("your progress", progress.folder(), "LABS_STATE"),
        ("built C++", Path(cache), "LABS_CACHE"),
        ("temporary files", Path(machine.environ.get("TMPDIR") or tempfile.gettempdir()), "TMPDIR"),
    ]


def _folder(machine, name, path, variable):
    there = path.absolute()
    while not there.exists() and there != there.parent:
        there = there.parent
    try:
        free = shutil.disk_usage(there).free
    except OSError:
        free = None
    filesystem, options = mount(machine, there)
    return Folder(name, str(path), variable, free, write_fault(there), filesystem, "noexec" not in options)


def write_fault(folder: Path) -> str:
    """Why no file can be written in a folder; empty when one can."""
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".labs-probe-") as file:
            file.write(b"probe")
            file.flush()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def mount(machine: Machine, folder: Path) -> tuple[str, tuple[str, ...]]:
    """Kind and options of the file system that holds a folder; empty where the system does not say."""
    best, found = -1, ("", ())
    for line in machine.text("/proc/self/mounts").splitlines():
        words = line.split()
        if len(words) < 4:
            continue
        point = words[1].replace("\\040", " ")
        if len(point) > best and (folder == Path(point) or Path(point) in folder.parents):
            best, found = len(point), (words[2], tuple(words[3].split(",")))
    return found


def total_memory(machine: Machine) -> int | None:
    """Memory of the machine (B), or None where the system does not say."""
    for line in machine.text("/proc/meminfo").splitlines():
        if line.startswith("MemTotal:"):
            return 1024 * int(line.split()[1])
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def memory_limit(machine: Machine) -> int | None:
    """Memory that this container may use (B): of control groups version 2 or 1; None for no limit."""
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        if (text := machine.text(name).strip()).isdigit():
            return int(text)
    return None


def _open_files():
    try:
        import resource
    except ImportError:  # Windows
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft
