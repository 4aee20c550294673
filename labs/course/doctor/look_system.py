"""Look at the operating system, at the Python that runs, and at its connection with Jupyter."""

from __future__ import annotations

import json
import locale
import os
import platform
import struct
import sys
from pathlib import Path

from labs.course.doctor.facts import Python, System
from labs.course.doctor.inventory import LISTED, NEEDED
from labs.course.doctor.machine import Machine

MANAGER = "labextensions/@jupyter-widgets/jupyterlab-manager"
_LOCAL_RANKS = ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE", "MPI_LOCALNRANKS")


def look_system(machine: Machine) -> System:
    """What kind of machine this is."""
    release = machine.text("/proc/sys/kernel/osrelease").lower()
    checkout = Path(__file__).resolve().parents[3]
    return System(
        name=machine.system,
        processor=platform.machine(),
        translated=machine.system == "Darwin" and _says(machine, "sysctl", "-n", "sysctl.proc_translated") == "1",
        wsl="microsoft" in release or "WSL_DISTRO_NAME" in machine.environ,
        container=in_container(machine),
        cores=cores(machine),
        checkout=str(checkout),
        checkout_writable=os.access(checkout / "notebooks", os.W_OK) if (checkout / "notebooks").is_dir() else None,
    )


def in_container(machine: Machine) -> bool:
    """Whether this is a container: Docker, Podman and Kubernetes leave these marks."""
    marks = ("/.dockerenv", "/run/.containerenv")
    words = ("docker", "kubepods", "containerd", "libpod", "lxc")
    first = machine.text("/proc/1/cgroup")
    return (
        any(map(machine.exists, marks))
        or "KUBERNETES_SERVICE_HOST" in machine.environ
        or any(word in first for word in words)
    )


def cores(machine: Machine) -> int:
    """How many cores this process may use; in a container that is often less than the machine has."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = machine.text("/sys/fs/cgroup/cpu.max").split()
        return min(count, max(1, round(int(quota) / int(period))))
    except ValueError:  # no such limit
        return count


def look_python(machine: Machine) -> Python:
    """The Python that runs, and what Jupyter would start."""
    kernel = kernel_python(machine)
    prefix, has_widgets = _server(machine)
    versions = {name: version for name in (*NEEDED.values(), *LISTED) if (version := machine.version(name))}
    return Python(
        version=tuple(sys.version_info[:3]),
        bits=8 * struct.calcsize("P"),
        libc=platform.libc_ver()[0] or ("musl" if any(n.startswith("ld-musl") for n in machine.names("/lib")) else ""),
        encoding=locale.getpreferredencoding(False),
        missing=tuple(distribution for module, distribution in NEEDED.items() if not machine.module(module)),
        versions=versions,
        executable=machine.executable,
        kernel=kernel,
        kernel_exists=not kernel or machine.exists(kernel),
        kernel_same=not kernel or _folder(kernel) == _folder(machine.executable),
        server=prefix,
        server_has_widgets=has_widgets,
        own_widgets=_own_widgets(machine),
        threads=machine.environ.get("OMP_NUM_THREADS"),
        local_ranks=_local_ranks(machine),
    )


def kernel_python(machine: Machine) -> str:
    """The Python that the kernel "python3" names with its full path; empty when it names none.

    A plain ``python`` means the Python of the server: jupyter_client puts that in its place.
    """
    for folder in _jupyter_folders(machine):
        text = machine.text(folder / "kernels" / "python3" / "kernel.json")
        if not text:
            continue
        try:
            first = json.loads(text)["argv"][0]
        except (ValueError, LookupError, TypeError):
            return ""
        return first if isinstance(first, str) and os.path.isabs(first) else ""
    return ""


def _jupyter_folders(machine):
    """Where Jupyter looks, in its order; in an environment its own folder comes first (jupyter_core.paths)."""
    listed = [Path(folder) for folder in machine.environ.get("JUPYTER_PATH", "").split(os.pathsep) if folder]
    own, environment = _own_folder(machine), Path(machine.prefix, "share", "jupyter")
    both = [environment, own] if machine.prefix != sys.base_prefix else [own, environment]
    return [*listed, *both, Path("/usr/local/share/jupyter"), Path("/usr/share/jupyter")]


def _own_folder(machine):
    if chosen := machine.environ.get("JUPYTER_DATA_DIR"):
        return Path(chosen)
    home = Path(machine.environ.get("HOME", "/nonexistent"))
    if machine.system == "Darwin":
        return home / "Library" / "Jupyter"
    data = machine.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else home / ".local" / "share") / "jupyter"


def _own_widgets(machine):
    try:
        return str(json.loads(machine.text(_own_folder(machine) / MANAGER / "package.json"))["version"])
    except (ValueError, LookupError, TypeError):
        return ""


def _server(machine):
    """Prefix of the Jupyter server that started this process, and whether it can show widgets."""
    if "ipykernel" not in sys.modules or machine.system != "Linux":
        return "", None
    words = machine.text(f"/proc/{os.getppid()}/cmdline").split("\0")
    if not any("jupyter" in word for word in words) or not os.path.isabs(words[0]):
        return "", None  # an editor's own server, or a test
    prefix = Path(words[0]).parent.parent
    return str(prefix), machine.exists(prefix / "share" / "jupyter" / MANAGER)


def _local_ranks(machine):
    for name in _LOCAL_RANKS:
        if (value := machine.environ.get(name, "")).isdigit():
            return int(value)
    return None


def _folder(program):
    return os.path.realpath(os.path.dirname(program))


def _says(machine, *command):
    answer = machine.command(command)
    return answer.text.strip() if answer and answer.code == 0 else ""
