"""What this machine offers the course, in one line with the details folded: `doctor`.

Nothing here fails: what is missing is named together with what it costs.
"""

from __future__ import annotations

import html
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sys
from dataclasses import dataclass

NEEDED = {
    "numpy": "numpy",
    "torch": "torch",
    "greenlet": "greenlet",
    "cloudpickle": "cloudpickle",
    "matplotlib": "matplotlib",
    "ipywidgets": "ipywidgets",
    "jupyterlab": "jupyterlab",
    "nbgrader": "nbgrader",
    "platformdirs": "platformdirs",
}
"""Module name -> distribution name: without one of these some lesson's core does not run."""


@dataclass(frozen=True)
class Optional:
    """Something a lesson uses when it is there.

    Attributes
    ----------
    name : str
        As people call it.
    module, program : str
        The module or the program that shows that it is there; one of them is empty.
    without : str
        What its absence costs.
    install : str
        How to get it.
    """

    name: str
    without: str
    install: str
    module: str = ""
    program: str = ""


OPTIONAL = (
    Optional(
        "numba-cuda",
        "kernels run on the virtual device, even beside a GPU",
        "pip install -e '.[gpu]'",
        module="numba_cuda",
    ),
    Optional("CuPy", "CUDA C++ runs on the CPU, even beside a GPU", "pip install -e '.[gpu]'", module="cupy"),
    Optional("Triton", "Triton examples are shown, not run", "pip install -e '.[inspect]'", module="triton"),
    Optional(
        "NVRTC",
        "no machine code for NVIDIA devices is compiled; stored listings are shown",
        "pip install -e '.[inspect]'",
        module="cuda.bindings.nvrtc",
    ),
    Optional("nvcc", "nothing: no lesson needs the CUDA toolkit", "NVIDIA's CUDA toolkit", program="nvcc"),
    Optional("h5py", "HDF5 files are not compared with Python's reader", "pip install h5py", module="h5py"),
    Optional(
        "scikit-learn",
        "lessons that train on its digits use made-up data",
        "pip install scikit-learn",
        module="sklearn",
    ),
)


@dataclass(frozen=True)
class Checkup:
    """What `doctor` found. Shows itself in a notebook and prints as text.

    Attributes
    ----------
    line : str
        The verdict in one sentence.
    ready : bool
        Whether everything that the lessons need is here.
    details : tuple of (str, str)
        Subject and finding.
    """

    line: str
    ready: bool
    details: tuple[tuple[str, str], ...]

    def __str__(self):
        return self.line

    __repr__ = __str__

    def verbose(self):
        """Return the sentence and the details, a line each."""
        width = max((len(subject) for subject, _ in self.details), default=0)
        return "\n".join([self.line, *(f"  {subject:<{width}}  {text}" for subject, text in self.details)])

    def _repr_html_(self):
        rows = "".join(
            f"<tr><th scope='row' style='text-align:left'>{html.escape(subject)}</th>"
            f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
            for subject, text in self.details
        )
        return (
            f"<p>{'✓' if self.ready else '✗'} {html.escape(self.line)}</p>"
            f"<details><summary>Details of this machine</summary><table>{rows}</table></details>"
        )


def doctor():
    """Look at this machine: what the lessons need, and what is there besides.

    Returns
    -------
    Checkup
        Its last expression in a cell shows one line, with the details folded.
    """
    missing = [distribution for module, distribution in NEEDED.items() if not _has_module(module)]
    gpus, gpu_detail, torch_fault = _gpus()
    if torch_fault and "torch" not in missing:
        missing.append("torch")
    cores, memory = _cores(), _memory()
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    have = [f"Python {python}"]
    if "torch" not in missing:
        have.append(f"torch {'.'.join(_version('torch').split('+')[0].split('.')[:2])}")
    have.append(f"{cores} CPU core{'s' if cores != 1 else ''}")
    if memory:
        have.append(f"{memory / 1e9:.0f} GB")
    device = f"{gpus}." if gpus else "no GPU: virtual devices are used."
    if missing:
        verdict, ready = f"Missing: {', '.join(missing)}. Install with: pip install -e . (or: make lab).", False
    else:
        verdict, ready = f"Everything you need is here: {', '.join(have)}; {device}", True
    details = [
        ("Python", f"{platform.python_version()}, {sys.executable}"),
        ("System", f"{platform.system()} {platform.machine()}"),
        ("CPU cores", str(cores)),
        ("Memory", f"{memory / 1e9:.1f} GB" if memory else "unknown"),
        ("GPUs", gpu_detail),
    ]
    if torch_fault:
        details.append(("torch", torch_fault))
    details += [
        (name, _version(name) if name not in missing else "missing: needed")
        for name in NEEDED.values()
        if not (name == "torch" and torch_fault)
    ]
    details += [(item.name, _optional(item)) for item in OPTIONAL]
    details += _cplusplus()
    return Checkup(verdict, ready, tuple(details))


def _optional(item):
    """Say whether something optional is here, and if not, what that costs."""
    here = _has_module(item.module) if item.module else shutil.which(item.program) is not None
    return "here" if here else f"not here: {item.without}. To get it: {item.install}"


def _cplusplus():
    """Return what is here for the C++ lessons: a compiler, nanobind, CMake, and each optional library."""
    from labs.kit.native import libraries, parts, project
    from labs.kit.native.failures import NativeError
    from labs.kit.native.toolchain import compiler

    def state(look):
        try:
            return f"here: {look()}"
        except NativeError as missing:
            return "not here: " + str(missing).replace("\n", " ")

    found = [
        ("C++ compiler", state(lambda: compiler().version)),
        ("nanobind", state(libraries.nanobind)),
        ("Python.h", state(libraries.python_headers)),
        ("CMake", state(project.cmake)),
    ]
    for part in parts.PARTS:
        folder = part.folder()
        missing = f"not here: {part.without}. To get it: {part.install}"
        found.append((part.name, f"here: {folder}" if folder else missing))
    return found


def _has_module(name):
    """Say whether a module could be imported, without importing it."""
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):  # a parent package is missing, or half installed
        return False


def _version(distribution):
    """Return the version of an installed distribution."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "of unknown version"


def _gpus():
    """Return the GPUs in a few words (or ""), in detail, and what is wrong with torch (or "")."""
    try:
        import torch
    except Exception as error:  # a broken binary raises OSError, a missing one ImportError
        return "", "unknown, because torch cannot be imported", f"cannot be imported: {type(error).__name__}: {error}"
    try:
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        found = [torch.cuda.get_device_properties(index) for index in range(count)]
    except Exception as error:  # a driver that does not fit must not stop a lesson
        return "", f"torch cannot use them ({type(error).__name__}: {error}); virtual devices are used", ""
    if not found:
        return "", "none that torch can use: virtual devices are used", ""
    names = [properties.name for properties in found]
    short = ", ".join(f"{names.count(name)} x {name}" for name in dict.fromkeys(names))
    long = "; ".join(f"{index}: {gpu.name}, {gpu.total_memory / 1e9:.0f} GB" for index, gpu in enumerate(found))
    return short, long, ""


def _cores():
    """Return how many cores this process may use; in a container that is often less than the machine has."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        with open("/sys/fs/cgroup/cpu.max", encoding="ascii") as file:
            quota, period = file.read().split()
        return min(cores, max(1, round(int(quota) / int(period))))
    except (OSError, ValueError):  # no such limit
        return cores


def _memory():
    """Return the memory this process may use (B), or None where the system does not say."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as file:
            return min(total, int(file.read()))
    except (OSError, ValueError):  # no such limit
        return total
