"""Where the compilers' programs, libraries and headers lie: in the wheels of PyPI, or in an installed CUDA toolkit."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

_MAJORS = ("cu13", "cu12")


def _roots() -> Iterator[Path]:
    """Folders laid out like a CUDA toolkit (bin, lib, include), best first."""
    spec = _spec("nvidia")
    for base in spec.submodule_search_locations if spec else ():
        for major in _MAJORS:
            if (Path(base) / major).is_dir():
                yield Path(base) / major
        # Wheels for CUDA 12 put each part into a folder of its own.
        yield from (part for part in sorted(Path(base).glob("*")) if (part / "include").is_dir() or part.name == "nvvm")
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(name):
            yield Path(os.environ[name])
    if Path("/usr/local/cuda").is_dir():
        yield Path("/usr/local/cuda")


def _spec(name: str):
    try:
        return find_spec(name)
    except (ModuleNotFoundError, ValueError):
        return None


def _triton() -> Path | None:
    """What Triton brings from the CUDA toolkit; found without importing it."""
    spec = _spec("triton")
    if spec is None or not spec.origin:
        return None
    return Path(spec.origin).parent / "backends" / "nvidia"


def nvdisasm() -> Path | None:
    """The disassembler for NVIDIA's machine code."""
    folders = [root / "bin" for root in _roots()]
    if triton := _triton():
        folders.append(triton / "bin")
    for folder in folders:
        if (folder / "nvdisasm").is_file():
            return folder / "nvdisasm"
    found = shutil.which("nvdisasm")
    return Path(found) if found else None


def library(name: str) -> Path | None:
    """A shared library of the CUDA toolkit: "nvrtc", "nvvm", "nvJitLink"."""
    for root in _roots():
        for folder in ("lib", "lib64", "nvvm/lib64", "nvvm/lib"):
            for path in sorted((root / folder).glob(f"lib{name}.so*")):
                return path
    return None


def include_folders() -> list[Path]:
    """Folders with CUDA's headers. The one with all that mma.h needs comes first, since the parts must fit together."""
    folders = [root / "include" for root in _roots()]
    if triton := _triton():
        folders.append(triton / "include")
    if (numba := _spec("numba_cuda")) and numba.origin:
        folders += [Path(numba.origin).parent / "numba" / "cuda" / "include" / version[2:] for version in _MAJORS]
    folders = [folder for folder in dict.fromkeys(folders) if (folder / "cuda_fp16.h").is_file()]
    return sorted(folders, key=lambda folder: not (folder / "crt" / "mma.h").is_file())


def clang() -> list[str] | None:
    """The command of a C compiler that knows AMD GPUs: the system's clang, or the one inside the ziglang wheel."""
    if _spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "clang"]
    found = shutil.which("clang")
    return [found] if found else None


def fingerprint() -> list[tuple[str, int]]:
    """Programs that no package's version tells of, and when they changed."""
    programs = [nvdisasm(), Path(found) if (found := shutil.which("clang")) else None]
    return [(str(path), path.stat().st_mtime_ns) for path in programs if path]
