"""Which GPUs a kernel can be compiled for, and which of the compilers are installed on this machine."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from .failures import MissingPackage, NotInspectable

NAMES = {
    "sm_75": "NVIDIA Turing (T4, RTX 20)",
    "sm_80": "NVIDIA Ampere (A100)",
    "sm_86": "NVIDIA Ampere (A5000, RTX 30)",
    "sm_89": "NVIDIA Ada (L4, RTX 40)",
    "sm_90": "NVIDIA Hopper (H100, H200)",
    "sm_100": "NVIDIA Blackwell (B200)",
    "gfx90a": "AMD CDNA 2 (MI200)",
    "gfx942": "AMD CDNA 3 (MI300)",
    "gfx950": "AMD CDNA 4 (MI350)",
    "gfx1100": "AMD RDNA 3 (RX 7900)",
}
"""The targets that the lessons use, with what they are sold as; other `sm_…` and `gfx…` names work as well."""

FORMATS = {"nvidia": ("sass", "ptx"), "amd": ("gcn",)}
LANGUAGES = ("numba", "cuda", "triton", "hip")

# What each language needs to be shown in a format, as pip names it.
_NEEDS = {
    ("numba", "ptx"): ("numba-cuda[cu13]",),
    ("numba", "sass"): ("numba-cuda[cu13]", "nvidia-cuda-nvdisasm"),
    ("cuda", "ptx"): ("cuda-bindings", "nvidia-cuda-nvrtc"),
    ("cuda", "sass"): ("cuda-bindings", "nvidia-cuda-nvrtc", "nvidia-cuda-nvdisasm"),
    ("triton", "ptx"): ("triton",),
    ("triton", "sass"): ("triton",),
    ("triton", "gcn"): ("triton",),
    ("hip", "gcn"): ("llvmlite", "ziglang"),
}
_WRITTEN = {
    "numba": "numba-cuda kernels",
    "cuda": "CUDA C++ kernels",
    "triton": "Triton kernels",
    "hip": "HIP kernels for AMD GPUs",
}
_SHOWN = {"ptx": "PTX", "sass": "SASS, the machine code of NVIDIA GPUs,", "gcn": "the machine code of AMD GPUs"}


@dataclass(frozen=True)
class Target:
    """A GPU to compile for.

    Attributes
    ----------
    arch : str
        As compilers name it: "sm_80", "gfx942".
    vendor : {"nvidia", "amd"}
    format : {"sass", "ptx", "gcn"}
        What is shown: NVIDIA's machine code or its portable assembly, or AMD's machine code.
    """

    arch: str
    vendor: str
    format: str

    @property
    def number(self) -> int:
        """80 of "sm_80"; 0 for AMD."""
        return int(re.sub(r"\D", "", self.arch)) if self.vendor == "nvidia" else 0

    @property
    def title(self) -> str:
        """The name with what it is sold as, where known."""
        sold = NAMES.get(self.arch)
        return f"{self.arch}, {sold}" if sold else self.arch


def target(name: str, format: str | None = None) -> Target:
    """The target that `name` means.

    Parameters
    ----------
    name : str
        "sm_80", "gfx942", …; "compute_80" means PTX for sm_80.
    format : {"sass", "ptx", "gcn"}, optional
        The machine code (SASS or GCN) if not given.

    Raises
    ------
    NotInspectable
        For a name that is neither NVIDIA's nor AMD's, or a format that the vendor does not have.
    """
    name = str(name).strip()
    if re.fullmatch(r"compute_\d+[a-z]?", name):
        name, format = name.replace("compute", "sm"), format or "ptx"
    if re.fullmatch(r"sm_\d+[a-z]?", name):
        vendor = "nvidia"
    elif re.fullmatch(r"gfx[0-9a-f]{3,4}", name):
        vendor = "amd"
    else:
        raise NotInspectable(
            f"{name!r} is not a GPU target. NVIDIA's are written sm_80 (or compute_80 for PTX), AMD's gfx942; "
            f"the lessons use {', '.join(NAMES)}."
        )
    format = format or FORMATS[vendor][0]
    if format not in FORMATS[vendor]:
        raise NotInspectable(f"{name} has {' and '.join(FORMATS[vendor])}, but no {format!r}.")
    return Target(name, vendor, format)


def missing(language: str, format: str) -> tuple[str, ...]:
    """Packages that are not installed here but needed to show `language` as `format`."""
    return tuple(package for package in _NEEDS[language, format] if not _found(package))


def require(language: str, format: str) -> None:
    """Raise `MissingPackage`, in one sentence, unless `language` can be compiled and shown as `format` here."""
    if lacking := missing(language, format):
        raise MissingPackage(sentence(language, format, lacking), lacking)


def sentence(language: str, format: str, lacking: tuple[str, ...]) -> str:
    """What to install, and what is missed without it."""
    quoted = " ".join(f"'{package}'" if "[" in package else package for package in lacking)
    return (
        f"Here {_SHOWN[format]} of {_WRITTEN[language]} cannot be made, because {_several(lacking)}: "
        f"pip install {quoted} (Linux, no GPU needed) lets you see what the compiler makes of your own kernel; "
        "without it you can still run it and read the stored listings."
    )


def _several(lacking) -> str:
    return f"{' and '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} not installed"


def available() -> dict[tuple[str, str], bool]:
    """What this machine can show: {(language, format): whether all that it needs is installed}.

    Languages are "numba", "cuda" (CUDA C++), "triton" and "hip" (C for AMD GPUs); formats "ptx", "sass" and "gcn".
    """
    return {pair: not missing(*pair) for pair in _NEEDS}


def targets(language: str | None = None) -> dict[str, str]:
    """The targets of the lessons that this machine can compile for: {"sm_80": "NVIDIA Ampere (A100)", …}.

    Parameters
    ----------
    language : str, optional
        Only the targets of this language; otherwise those that any of them reaches.
    """
    if language is not None and language not in LANGUAGES:
        raise NotInspectable(f"Unknown language {language!r}; there are {', '.join(LANGUAGES)}.")
    formats = {format for (name, format), here in available().items() if here and language in (None, name)}
    return {arch: sold for arch, sold in NAMES.items() if {*FORMATS[target(arch).vendor]} & formats}


def versions(*packages: str) -> Iterator[str]:
    """Name and version of each installed package, without importing it."""
    for package in packages:
        try:
            yield f"{package} {version(package)}"
        except PackageNotFoundError:
            continue


@functools.cache
def _found(package: str) -> bool:
    """Whether a package is here; a program or a library is looked for as such, wherever it comes from."""
    from .compilers import tools

    match package:
        case "numba-cuda[cu13]":
            parts = (tools.library("nvvm"), tools.library("nvJitLink"))
            return find_spec("numba_cuda") is not None and None not in parts
        case "cuda-bindings":
            return find_spec("cuda") is not None and find_spec("cuda.bindings") is not None
        case "nvidia-cuda-nvrtc":
            return tools.library("nvrtc") is not None
        case "nvidia-cuda-nvdisasm":
            return tools.nvdisasm() is not None
        case "ziglang":
            return tools.clang() is not None
    return find_spec(package) is not None
