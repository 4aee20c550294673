"""Kernels, on a real GPU or without one.

    from labs.kit.gpu import cuda, profile

``cuda`` is ``numba.cuda`` where a CUDA device is present, else the virtual device that mirrors it; the environment
variable LABS_GPU (virtual or real) decides otherwise. It is looked up at first use, so this import costs next to
nothing.

``with profile() as p:`` watches launches: see `labs.kit.gpu.profiling.profile`, and for the fields of what it returns
`labs.kit.virtual.cuda.findings`. `outcome` runs a program with kernels for an exercise and returns plain data.
``%load_ext labs.kit.gpu`` registers the cell magic ``%%cuda`` for CUDA C++.
"""

from __future__ import annotations

import importlib

_HOMES = {
    "profile": "labs.kit.gpu.profiling",
    "Profile": "labs.kit.gpu.profiling",
    "is_virtual": "labs.kit.gpu.choice",
    "outcome": "labs.kit.gpu.summary",
    "undecorated": "labs.kit.gpu.summary",
    "virtual_machine": "labs.kit.virtual.cuda",
    "Limits": "labs.kit.virtual.cuda",
    "machine_code": "labs.kit.gpu.inspect",
    "targets": "labs.kit.gpu.inspect",
    "compile_cuda": "labs.kit.gpu.cplusplus",
}
_FAILURES = (
    "DivergentBarrier",
    "DividedByZero",
    "EndlessLoop",
    "KernelError",
    "KernelFailure",
    "KernelHazard",
    "LaunchFailed",
    "Misaligned",
    "OutOfBounds",
    "Race",
    "Uninitialised",
    "Unsupported",
    "WrongType",
)
_HOMES |= dict.fromkeys(_FAILURES, "labs.kit.virtual.cuda.failures")

__all__ = ["cuda", *sorted(_HOMES)]


def __getattr__(name):
    if name == "cuda":
        from labs.kit.gpu.choice import chosen

        return chosen()
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted(__all__)


def load_ipython_extension(ipython):
    """``%load_ext labs.kit.gpu``: register ``%%cuda``."""
    from labs.kit.gpu.cplusplus import load_ipython_extension as load

    load(ipython)
