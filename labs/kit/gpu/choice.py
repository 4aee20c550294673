"""Which `cuda` this process uses: numba's where there is a CUDA device, else the virtual one."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import warnings

SETTING = "LABS_GPU"
_DRIVERS = ("libcuda.so.1", "libcuda.so", "nvcuda.dll")


def chosen():
    """The module, or its stand-in.

    The environment variable LABS_GPU decides when set to "virtual" or "real"; otherwise a real device is taken when
    there is one.

    Raises
    ------
    RuntimeError
        When LABS_GPU=real and there is no CUDA device or no numba-cuda, and when LABS_GPU is something else.
    """
    return _chosen(os.environ.get(SETTING, "").strip().lower())


def is_virtual() -> bool:
    """Whether `cuda` is the virtual device."""
    module = sys.modules.get("labs.kit.virtual.cuda")
    cuda = chosen()
    return module is not None and cuda is module.cuda


@functools.cache
def _chosen(setting: str):
    if setting not in ("", "auto", "virtual", "real"):
        raise RuntimeError(f"{SETTING} is {setting!r}: set it to virtual or real, or leave it out")
    if setting != "virtual":
        real, reason = _real()
        if real is not None:
            return real
        if setting == "real":
            raise RuntimeError(f"{SETTING}=real, but {reason}")
    from labs.kit.virtual.cuda import cuda

    return cuda


def _real():
    """(numba.cuda, "") or (None, why not)."""
    if not _driver():
        return None, "there is no CUDA driver here: no libcuda could be loaded"
    try:
        from numba import cuda
    except ImportError:
        reason = "numba-cuda is not installed: pip install 'numba-cuda[cu13]'"
        warnings.warn(f"There is a CUDA driver here, but {reason}. Kernels run on the virtual device.", stacklevel=4)
        return None, reason
    try:
        usable = cuda.is_available() and len(cuda.gpus) > 0
    except Exception as error:
        return None, f"numba-cuda finds no usable device ({error})"
    return (cuda, "") if usable else (None, "numba-cuda finds no CUDA device")


def _driver() -> bool:
    """Whether a CUDA driver can be loaded: quick, and without importing Numba."""
    for name in _DRIVERS:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return True
    return False
