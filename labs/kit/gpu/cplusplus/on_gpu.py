"""Kernels on a GPU: the same text through NVRTC, launched by CuPy."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from labs.kit.gpu.cplusplus import scanning
from labs.kit.gpu.cplusplus.arguments import as_array, check_count, scalar_bytes
from labs.kit.gpu.cplusplus.options import Options
from labs.kit.native.toolchain import CompileError

_MISSING = (
    "there is a GPU, but CuPy is not installed, so CUDA C++ cells cannot use it. Install it: pip install cupy-cuda13x"
    " (for CUDA 12: cupy-cuda12x). Or set LABS_GPU=virtual, and they run on the CPU"
)


def gpu_wanted() -> bool:
    """Whether kernels run on a GPU: ``LABS_GPU`` decides ("virtual" or "real"), else whether CUDA has a device."""
    wish = os.environ.get("LABS_GPU", "")
    if wish == "virtual":
        return False
    found = _devices() > 0
    if wish == "real" and not found:
        raise RuntimeError("LABS_GPU=real, but no CUDA device answers here. Unset it to run on the CPU")
    if found and importlib.util.find_spec("cupy") is None:
        raise RuntimeError(_MISSING)
    return found


@functools.cache
def _devices() -> int:
    """How many CUDA devices the driver counts; asked of the driver itself, because CuPy takes a second to import."""
    import ctypes

    for name in ("libcuda.so.1", "nvcuda.dll"):
        try:
            driver = ctypes.CDLL(name)
        except OSError:
            continue
        count = ctypes.c_int(0)
        if driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0:
            return count.value
    return 0


def include_folders() -> list[str]:
    """Where CUDA's headers (mma.h, cuda_fp16.h) may lie: NVIDIA's packages, and an installed CUDA."""
    folders = []
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations or ()) if spec else ():
        folders += [Path(root) / "cu13" / "include", Path(root) / "cuda_runtime" / "include"]
    folders += [Path(os.environ.get(name, "")) / "include" for name in ("CUDA_PATH", "CUDA_HOME") if name in os.environ]
    folders.append(Path("/usr/local/cuda/include"))
    return [str(folder) for folder in folders if (folder / "mma.h").exists() or (folder / "cuda_fp16.h").exists()]


@dataclass(frozen=True)
class OnGpu:
    """A compiled text on the GPU.

    Parameters
    ----------
    module : cupy.RawModule
    declared : dict of str to Declared
    """

    module: object
    declared: dict

    where = "gpu"

    def launch(self, kernel: str, grid, block, shared: int, stream, arguments: tuple, constants: dict) -> None:
        """Copy NumPy arrays to the device, run, wait, and copy back those that may have changed.

        Arrays that are on the device already (CuPy, Torch, Numba) are passed as they are, and nothing waits for them.
        """
        import cupy

        parameters = self.declared[kernel.partition("<")[0].strip()].parameters
        check_count(kernel, parameters, arguments)
        function = self.module.get_function(kernel)
        for name, value in constants.items():
            target = self.module.get_global(name)
            target.copy_from_host(value.ctypes.data, value.nbytes)
        if shared > 49152:
            function.max_dynamic_shared_size_bytes = shared
        on_device: dict = {}
        passed, back = [], []
        for value, parameter in zip(arguments, parameters):
            if not parameter.pointer:
                passed.append(_scalar(value, kernel, parameter))
            elif hasattr(value, "__cuda_array_interface__"):
                passed.append(cupy.asarray(value))
            else:
                array = as_array(value, kernel, parameter)
                key = (array.__array_interface__["data"][0], array.nbytes)
                if key not in on_device:
                    on_device[key] = cupy.asarray(array)
                passed.append(on_device[key])
                if not parameter.constant:
                    back.append((array, on_device[key]))
        with _stream(stream):
            function(grid, block, tuple(passed), shared_mem=shared)
            if on_device or not passed:
                cupy.cuda.get_current_stream().synchronize()
        for array, device in back:
            array[...] = cupy.asnumpy(device)
        sys.stdout.flush()

    def check(self, kernel: str, arguments: tuple) -> None:
        """Raise `TypeError` unless the number of arguments fits."""
        check_count(kernel, self.declared[kernel.partition("<")[0].strip()].parameters, arguments)


def _scalar(value, kernel, parameter):
    """A number as CuPy passes it by value: a NumPy scalar of the parameter's type."""
    if parameter.code == "X" or not parameter.size:  # a type that only the compiler knows
        if isinstance(value, (bool, int)):
            return np.int32(value)
        return np.float32(value) if isinstance(value, float) else value
    raw = scalar_bytes(value, kernel, parameter)
    return np.frombuffer(raw, np.uint16 if parameter.code == "z" else parameter.code)[0]


def _stream(stream):
    import contextlib

    import cupy

    if stream in (None, 0):
        return contextlib.nullcontext()
    handle = getattr(stream, "ptr", None) or getattr(getattr(stream, "handle", stream), "value", stream)
    return cupy.cuda.ExternalStream(int(handle))


def compile_on_gpu(text: str, names: tuple[str, ...], label: str, options: Options) -> OnGpu:
    """Compile a text for the GPU. `options` are for the CPU and mean nothing here."""
    import cupy

    flags = ("--std=c++17", *(f"-I{folder}" for folder in include_folders()))
    module = cupy.RawModule(code=text, options=flags, backend="nvrtc", name_expressions=list(names))
    try:
        for name in names:
            module.get_function(name)
    except cupy.cuda.compiler.CompileException as error:
        raise explain_nvrtc(str(error), text, label) from None
    return OnGpu(module, scanning.kernels(text))


def explain_nvrtc(log: str, text: str, label: str) -> CompileError:
    """NVRTC's messages (``file(line): error: ...``) with the lines of the learner's text."""
    told, found = [], []
    for match in re.finditer(r"^(?P<file>[^\n(]*)\((?P<line>\d+)\): (?:catastrophic )?error: (?P<what>.*)$", log, re.M):
        line = int(match["line"])
        lines = text.splitlines()
        inside = not match["file"].endswith((".h", ".hpp", ".cuh"))
        if inside and line <= len(lines):
            told.append(f"line {line} of your {label}: {match['what']}\n    {lines[line - 1].strip()}")
            found.append(line)
        else:
            told.append(f"{match['file'].rpartition('/')[2]}:{line}: {match['what']}")
    shown = "\n".join(told[:3]) or log.strip()[-1500:]
    return CompileError("your code does not compile.\n" + shown, log=log, lines=tuple(found))
