"""Traps of CuPy and numba: for another CUDA, twice installed, without the libraries that they load.

Sources: CuPy, "Installation" (cupy-cuda12x for CUDA 12, cupy-cuda13x for CUDA 13, ``[ctk]`` brings the libraries) and
cupy/_environment.py (one CuPy package at a time); Numba, "CUDA Built-in Target deprecation" (the target moved to
numba-cuda); numba-cuda, "Installation" (``[cu12]``, ``[cu13]``); for drivers `labs.course.doctor.drivers`.
"""

from __future__ import annotations

from labs.course.doctor.drivers import OLDEST_DRIVER, major, runs
from labs.course.doctor.facts import Facts
from labs.course.doctor.finding import COSTS, Found, trap
from labs.course.doctor.look_kernels import cupy_cuda

_GPU = "pip install -e '.[gpu]'"
_GET = f"`{_GPU}`"
_ON_CPU = "CUDA C++ runs on the CPU, even beside a GPU."


@trap(
    "cupy-twice", COSTS, "Two CuPy packages at once",
    sign='CuPy warns that "multiple CuPy packages are installed", or lacks a module',
    costs="They overwrite each other's files: CuPy may fail at any point, CUDA C++ with it.",
    cure=f"`pip uninstall -y cupy cupy-cuda12x cupy-cuda13x && {_GPU}`",
)  # fmt: skip
def cupy_twice(facts: Facts):
    cupy = facts.kernels.cupy
    if len(cupy) > 1:
        return Found(f"Installed together: {', '.join(cupy)}.", f"`pip uninstall -y {' '.join(cupy)} && {_GPU}`")


@trap(
    "cupy-newer-than-driver", COSTS, "CuPy for a newer CUDA than the driver's",
    sign='"cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version"',
    costs=f"CuPy finds no device. {_ON_CPU}",
    cure="Update the driver (580 or newer for CUDA 13), or: `pip uninstall -y cupy-cuda13x && "
    "pip install 'cupy-cuda12x[ctk]'`",
    price="With the older package CuPy and PyTorch each bring CUDA libraries of their own: more on disk.",
)  # fmt: skip
def cupy_newer_than_driver(facts: Facts):
    for name in facts.kernels.cupy:
        if (cuda := cupy_cuda(name)) and runs(facts.gpu.driver, cuda) is False:
            return f"{name} needs driver {OLDEST_DRIVER[cuda]} or newer, and here is {facts.gpu.driver}."


@trap(
    "cupy-without-libraries", COSTS, "CuPy without the libraries of its CUDA",
    sign='"libnvrtc.so.13: cannot open shared object file"',
    costs=f"The first kernel fails, for CuPy finds no compiler for it. {_ON_CPU}",
    cure=f"{_GET}, or: `pip install 'cupy-cuda13x[ctk]'`",
)  # fmt: skip
def cupy_without_libraries(facts: Facts):
    kernels, gpu = facts.kernels, facts.gpu
    if len(kernels.cupy) != 1 or not gpu.count or kernels.nvrtc is None or cupy_newer_than_driver(facts):
        return None
    name = kernels.cupy[0]
    cuda = cupy_cuda(name)
    if cuda is None or cuda in kernels.nvrtc:
        return None
    there = ", ".join(f"CUDA {version}" for version in kernels.nvrtc)
    newest = gpu.cuda or cuda
    if kernels.nvrtc and runs(gpu.driver, max(kernels.nvrtc)) is not False:  # the package is the odd one out
        fitting = f"cupy-cuda{min(newest, max(kernels.nvrtc))}x"
        cure = f"`pip uninstall -y {name} && pip install '{fitting}[ctk]'`"
    else:
        cure = f"`pip install '{name}[ctk]'`"
    return Found(f"{name} is built for CUDA {cuda}; the CUDA libraries here are of: {there or 'none'}.", cure)


@trap(
    "numba-without-cuda", COSTS, "Numba without numba-cuda beside a GPU",
    sign="`from numba import cuda` fails, or warns that the built-in target is deprecated",
    costs="Kernels run on the virtual device, or through an outdated target that the course is not tested with.",
    cure=_GET,
)  # fmt: skip
def numba_without_cuda(facts: Facts):
    kernels = facts.kernels
    if facts.gpu.count and kernels.numba and not kernels.numba_cuda:
        return f"numba {kernels.numba} is here, numba-cuda is not: numba's built-in CUDA target has moved there."


@trap(
    "numba-cuda-without-libraries", COSTS, "numba-cuda without its CUDA libraries",
    sign='"libNVVM cannot be found", or NVRTC is not found, at the first @cuda.jit',
    costs="Kernels are not compiled: beside a GPU they fail, without one the machine code is not shown.",
    cure="`pip install 'numba-cuda[cu13]'` ([cu12] for a driver older than 580)",
)  # fmt: skip
def numba_cuda_without_libraries(facts: Facts):
    kernels = facts.kernels
    if not kernels.numba_cuda or kernels.nvvm is None:
        return None
    absent = [name for name, there in (("NVVM", kernels.nvvm), ("NVRTC", bool(kernels.nvrtc))) if not there]
    if absent:
        return f"numba-cuda {kernels.numba_cuda} is here, but not {' and '.join(absent)}."


@trap(
    "cuda-packages-mixed", COSTS, "CUDA packages of two major versions",
    sign="an import of cuda.bindings fails, or a library is found in the wrong version",
    costs="numba-cuda calls the libraries of one CUDA through the bindings of another: kernels are not compiled.",
    cure="`pip uninstall -y cuda-bindings cuda-core cuda-toolkit && pip install 'numba-cuda[cu13]'`",
)  # fmt: skip
def cuda_packages_mixed(facts: Facts):
    kernels = facts.kernels
    bindings = major(kernels.bindings)
    if kernels.numba_cuda and bindings and kernels.nvrtc and bindings not in kernels.nvrtc:
        found = ", ".join(map(str, kernels.nvrtc))
        return f"cuda-bindings {kernels.bindings}, and NVRTC of CUDA {found}."


@trap(
    "numba-simulator", COSTS, "Numba's own simulator is switched on",
    sign="kernels run, slowly, and know no warp shuffles",
    costs="numba.cuda is its simulator, not the GPU; it knows less than the course's virtual device.",
    cure="`unset NUMBA_ENABLE_CUDASIM`, then restart JupyterLab",
)  # fmt: skip
def numba_simulator(facts: Facts):
    if facts.kernels.simulator:
        return "NUMBA_ENABLE_CUDASIM is set."


TRAPS = (
    cupy_twice, cupy_newer_than_driver, cupy_without_libraries, numba_without_cuda, numba_cuda_without_libraries,
    cuda_packages_mixed, numba_simulator,
)  # fmt: skip
