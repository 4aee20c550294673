"""Traps of the lessons in C++: no compiler, one too old, missing headers, programs and libraries.

Sources: GCC, "C++ Standards Support" (``-std=c++20`` since 10; earlier ``c++2a``) and Clang, "C++ Support in Clang"
(since 10); what each library is for stands in `labs.kit.native.parts`.
"""

from __future__ import annotations

import re

from labs.course.doctor.facts import Facts
from labs.course.doctor.finding import COSTS, NOTE, Found, trap

OLDEST = 10
"""First version of both GCC and Clang that knows ``-std=c++20``."""

_CELLS = "C++ cells of lessons 06 and 21 say what they leave out; everything else works."
_COMPILER = (
    "Debian, Ubuntu, WSL: `sudo apt-get install g++`. Fedora: `sudo dnf install gcc-c++`. "
    "macOS: `xcode-select --install`. Without administrator's rights: `conda install -c conda-forge cxx-compiler`"
)
_PIP = "`pip install -e .` (in the folder of the course)"
READERS = ("zlib", "HDF5", "libjpeg")
"""The system's libraries that lesson 21 reads its formats with."""
SHIPPED = ("Eigen", "simdjson", "nlohmann_json")
"""Those that pip brings."""


@trap(
    "no-compiler", COSTS, "No C++ compiler",
    sign='"no C++ compiler was found" under a %%cpp or %%cuda cell', costs=_CELLS, cure=_COMPILER,
)  # fmt: skip
def no_compiler(facts: Facts):
    return "No g++ and no clang++ that runs." if facts.compiler.compiler_fault else None


@trap(
    "old-compiler", COSTS, "A C++ compiler too old for C++20",
    sign='"unrecognized command-line option -std=c++20"', costs=_CELLS,
    cure="Debian, Ubuntu: `sudo apt-get install g++-12`, then `CXX=g++-12 python -m labs lab`. "
    "Elsewhere: `conda install -c conda-forge cxx-compiler`",
)  # fmt: skip
def old_compiler(facts: Facts):
    version = compiler_version(facts.compiler.version)
    if version is not None and version < OLDEST:
        return f"{facts.compiler.version}; the course's C++ needs version {OLDEST} of GCC or Clang."


def compiler_version(first_line: str) -> int | None:
    """Major version in the first line of what a compiler says about itself, or None.

    ``g++ (Debian 12.2.0-14) 12.2.0``, ``Ubuntu clang version 14.0.0-1``, ``Apple clang version 15.0.0 (...)``.
    """
    found = re.search(r"clang version (\d+)\.", first_line) or re.search(r"\) (\d+)\.\d+", first_line)
    return int(found[1]) if found else None


@trap(
    "no-nanobind", COSTS, "nanobind is missing",
    sign='"nanobind, which joins C++ and Python, is not installed"', costs=_CELLS, cure=_PIP,
)  # fmt: skip
def no_nanobind(facts: Facts):
    return "The package nanobind is not installed." if facts.compiler.nanobind_fault else None


@trap(
    "no-python-headers", COSTS, "Python's C headers are missing",
    sign='"fatal error: Python.h: No such file or directory"', costs=_CELLS,
    cure="Debian, Ubuntu, WSL: `sudo apt-get install python3-dev` (of the same version as your Python). "
    "Fedora: `sudo dnf install python3-devel`",
)  # fmt: skip
def no_python_headers(facts: Facts):
    fault = facts.compiler.headers_fault
    if fault:
        version = ".".join(map(str, facts.python.version[:2])) or "3"
        return Found("Python.h is not where this Python expects it.", f"`sudo apt-get install python{version}-dev`")


@trap(
    "no-cmake", COSTS, "CMake or make is missing",
    sign="lesson 21 cannot build its extension",
    costs="Lesson 21 shows its formats without its own readers in C++.",
    cure=f"CMake: {_PIP}. make: `sudo apt-get install make` (macOS: `xcode-select --install`)",
)  # fmt: skip
def no_cmake(facts: Facts):
    return facts.compiler.cmake_fault or None


@trap(
    "packages-of-lesson-21", COSTS, "Libraries that pip should have brought",
    sign='"Eigen/Core: No such file or directory"',
    costs="Exercises of lesson 21 that use them do not compile.", cure=_PIP,
)  # fmt: skip
def packages_of_lesson_21(facts: Facts):
    absent = [name for name in SHIPPED if facts.compiler.parts.get(name) == ""]
    return f"Not found: {', '.join(absent)}." if absent else None


@trap(
    "libraries-of-lesson-21", NOTE, "Libraries of lesson 21 that the system does not have",
    sign="lesson 21 says which of its readers were not built",
    costs="Lesson 21 leaves out its own readers of those formats; its exercises do not need them.",
    cure="`sudo apt-get install zlib1g-dev libhdf5-dev libjpeg-dev` (macOS: `brew install hdf5 jpeg-turbo`)",
)  # fmt: skip
def libraries_of_lesson_21(facts: Facts):
    absent = [name for name in READERS if facts.compiler.parts.get(name) == ""]
    return f"Not found: {', '.join(absent)}." if absent else None


TRAPS = (
    no_compiler, old_compiler, no_nanobind, no_python_headers, no_cmake, packages_of_lesson_21, libraries_of_lesson_21,
)  # fmt: skip
