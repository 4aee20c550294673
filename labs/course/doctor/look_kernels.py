"""Look for CuPy, numba and the CUDA libraries that they load, without importing any of them."""

from __future__ import annotations

import re
from pathlib import Path

from labs.course.doctor.drivers import major
from labs.course.doctor.facts import Kernels
from labs.course.doctor.machine import Machine

# Source: docs.cupy.dev, "Installation": one of these at a time; cupy itself is built on this machine.
CUPY = ("cupy", *(f"cupy-cuda{version}x" for version in range(11, 16)), "cupy-cuda110", "cupy-cuda111", "cupy-cuda112")

_TOOLKITS = ("/usr/local/cuda/lib64", "/usr/local/cuda/nvvm/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib64")


def look_kernels(machine: Machine) -> Kernels:
    """Which of them are installed, and which libraries they would find."""
    files = _libraries(machine)
    nvrtc = {int(found[1]) for name in files if (found := re.match(r"libnvrtc\.so\.(\d+)", name))}
    return Kernels(
        cupy=tuple(name for name in CUPY if machine.version(name)),
        numba=machine.version("numba") or "",
        numba_cuda=machine.version("numba-cuda") or "",
        simulator=machine.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0"),
        bindings=machine.version("cuda-bindings") or "",
        nvrtc=tuple(sorted(nvrtc)) if machine.system == "Linux" else None,
        nvvm=any(name.startswith("libnvvm.so") for name in files) if machine.system == "Linux" else None,
    )


def _libraries(machine):
    """Names of the files in all folders where CUDA's libraries lie: PyPI packages, conda, and a toolkit."""
    folders = [machine.path(folder) for folder in _TOOLKITS]
    for variable in ("CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"):
        if prefix := machine.environ.get(variable):
            folders += [Path(prefix, end) for end in ("lib64", "lib", "nvvm/lib64")]
    for packages in machine.packages:
        shipped = packages / "nvidia"
        folders += [*shipped.glob("*/lib"), *shipped.glob("*/nvvm/lib64"), *shipped.glob("*/lib64")]
    names = []
    for folder in folders:
        try:
            names += [file.name for file in folder.glob("libnv*")]
        except OSError:
            continue
    return names


def cupy_cuda(distribution: str) -> int | None:
    """Major version of CUDA that a CuPy package is built for: 13 of cupy-cuda13x; None for one built here."""
    digits = distribution.removeprefix("cupy-cuda").removesuffix("x")
    return major(digits[:2]) if digits != distribution else None
