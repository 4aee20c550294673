"""Look for what the lessons in C++ build with. `labs.kit.native` knows where, and what to install."""

from __future__ import annotations

from labs.course.doctor.facts import Compiler
from labs.course.doctor.machine import Machine


def look_compiler(_machine: Machine) -> Compiler:
    """The compiler, what joins C++ and Python, CMake, and the libraries of lesson 21."""
    from labs.kit.native import libraries, parts, project
    from labs.kit.native.failures import NativeError
    from labs.kit.native.toolchain import compiler

    def attempt(look):
        try:
            return look(), ""
        except NativeError as missing:
            return None, str(missing).replace("\n", " ")

    found, compiler_fault = attempt(compiler)
    return Compiler(
        version=found.version if found else "",
        compiler_fault=compiler_fault,
        nanobind_fault=attempt(libraries.nanobind)[1],
        headers_fault=attempt(libraries.python_headers)[1],
        cmake_fault=attempt(project.cmake)[1],
        parts={part.name: str(part.folder() or "") for part in parts.PARTS},
    )
