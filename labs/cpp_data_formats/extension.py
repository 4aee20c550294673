"""The compiled readers: found, or built, when the first one is called."""

from __future__ import annotations

import functools
from types import ModuleType

from .errors import MissingPart

# What each part brings, and where it comes from: for messages, and for `python -m labs doctor`.
PARTS = {
    "simdjson": ("read_json", "pip install pysimdjson (which ships its source)"),
    "zlib": ("PNG pictures, and compressed HDF5", "Debian and Ubuntu: apt install zlib1g-dev"),
    "HDF5": ("read_hdf5 and slabs of HDF5 files", "Debian and Ubuntu: apt install libhdf5-dev zlib1g-dev"),
    "libjpeg": ("JPEG pictures", "Debian and Ubuntu: apt install libjpeg-dev"),
    "Eigen": ("Eigen's view of a buffer", "pip install cmeel-eigen"),
    "xtensor": ("xtensor's view of a buffer", "Debian and Ubuntu: apt install libxtensor-dev"),
    "Armadillo": ("Armadillo's view of a buffer", "Debian and Ubuntu: apt install libarmadillo-dev"),
    "Dlib": ("Dlib's view of a buffer", "Debian and Ubuntu: apt install libdlib-dev"),
    "OpenCV": ("OpenCV's view of a buffer", "Debian and Ubuntu: apt install libopencv-dev"),
    "Blaze": ("Blaze's view of a buffer", "from its authors; few systems package it"),
    "libfccp": (
        "nothing here: CSV by Ben Strasser's csv.h, for your own cells",
        "Debian and Ubuntu: apt install libfccp-dev",
    ),
    "HighFive": ("HDF5 in C++ style, for your own cells", "from its authors"),
    "ArrayFire": ("arrays on GPUs, for your own cells", "from its authors"),
    "mlpack": (
        "learning on Armadillo's matrices, for your own cells",
        "Debian and Ubuntu: apt install libmlpack-dev",
    ),
}


@functools.cache
def native() -> ModuleType:
    """The extension module, built into the user's cache the first time (about half a minute on two cores).

    Raises
    ------
    NoCompiler
        Where there is nothing to build it with; says what to install.
    """
    from labs.kit.native import extension

    return extension("labs.cpp_data_formats")


def parts() -> dict[str, str | None]:
    """Optional parts of the extension: the version that was found, or None where a library is missing.

    Returns
    -------
    dict
        Names as in `PARTS`, in the same order.
    """
    found = native().__parts__
    return {name: found.get(name) for name in PARTS}


def need(part: str) -> ModuleType:
    """The extension, if it has this part.

    Raises
    ------
    MissingPart
        Says what is missed and how to install it.
    """
    module = native()
    if part not in module.__parts__:
        brings, install = PARTS[part]
        raise MissingPart(
            f"This build of the readers has no {part}, so it lacks: {brings}. Install it ({install}) and start Python"
            " again: the extension is then rebuilt."
        )
    return module
