"""Where the headers of C++ libraries lie: in PyPI packages that ship them, or in the system."""

from __future__ import annotations

import importlib.util
import sys
import sysconfig
from pathlib import Path

from labs.kit.native.failures import NativeError

SHIPPED = ("simdjson", "nlohmann_json/include", "cmeel.prefix/include")
"""Folders of headers inside site-packages: of pysimdjson, nlohmann-json and the cmeel packages."""

SYSTEM = ("/usr/include", "/usr/local/include", "/opt/homebrew/include", f"{sys.prefix}/include")


class NoNanobind(NativeError):
    """The headers that join C++ and Python are not installed."""


def nanobind() -> Path:
    """Folder of the nanobind package.

    Raises
    ------
    NoNanobind
    """
    folder = _package("nanobind")
    if folder is None or not (folder / "src" / "nb_combined.cpp").exists():
        raise NoNanobind(
            "nanobind, which joins C++ and Python, is not installed, so %%cpp cells do not run here.\n"
            "Install it with: pip install -e ."
        )
    return folder


def python_headers() -> Path:
    """Folder with Python.h.

    Raises
    ------
    NoNanobind
        Where a distribution keeps these headers in a package of their own that is not installed.
    """
    folder = Path(sysconfig.get_paths()["include"])
    if not (folder / "Python.h").exists():
        raise NoNanobind(
            f"Python's C headers (Python.h) are not in {folder}, so %%cpp cells do not run here.\n"
            f"On Debian or Ubuntu: sudo apt-get install python{sys.version_info[0]}.{sys.version_info[1]}-dev"
        )
    return folder


def eigen() -> Path | None:
    """Folder from which ``#include <Eigen/Core>`` works, or None."""
    cmeel = _package("cmeel")
    places = [cmeel.parent / "cmeel.prefix" / "include" / "eigen3"] if cmeel else []
    places += [Path(path) / "cmeel.prefix" / "include" / "eigen3" for path in sys.path if path.endswith("-packages")]
    places += [Path(folder) / "eigen3" for folder in SYSTEM]
    return next((place for place in places if (place / "Eigen" / "Core").exists()), None)


def header(name: str) -> Path | None:
    """Folder from which ``#include <name>`` works: that of a PyPI package that ships headers, or of the system."""
    packages = [Path(path) for path in sys.path if path.endswith("-packages")]
    places = [path / shipped for path in packages for shipped in SHIPPED] + [Path(folder) for folder in SYSTEM]
    return next((place for place in places if (place / name).exists()), None)


def _package(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    return Path(next(iter(spec.submodule_search_locations))) if spec and spec.submodule_search_locations else None
