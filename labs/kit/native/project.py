"""A lesson's own C++ extension, built when it is first needed and loaded into this process: `extension`.

The lesson package holds a folder ``native`` with a ``CMakeLists.txt`` like this one::

    cmake_minimum_required(VERSION 3.18...4.0)
    project(cpp_data_formats LANGUAGES CXX C)
    set(CMAKE_CXX_STANDARD 20)
    set(CMAKE_CXX_STANDARD_REQUIRED ON)
    include(LabParts)                                      # labs/kit/native/cmake/LabParts.cmake
    lab_find_parts(Eigen simdjson nlohmann_json HDF5 OpenCV xtensor Armadillo Dlib)
    lab_extension(readers src/module.cpp src/csv.cpp)      # NB_MODULE(readers, m)
    target_include_directories(readers PRIVATE include)

In C++, ``#if LAB_HAS_HDF5`` asks whether a part was found. In Python::

    from labs.kit.native import extension
    readers = extension("labs.cpp_data_formats")           # the module; the second time at once
    readers.__parts__                                      # {"HDF5": "1.10.8", ...}: parts that were found

Nothing is written into the repository. Keys of the cache are the folder's contents, the compiler, CMake, Python,
nanobind, the options, and which optional libraries are here, so that one installed later is found.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from labs.kit.native import libraries, parts
from labs.kit.native.binding import nanobind_object
from labs.kit.native.failures import CompileError, NativeError
from labs.kit.native.toolchain import build_once, compiler, contents, digest, run_compiler

HERE = Path(__file__).parent
FOLDER = "native"
PATIENCE = 1800.0  # s; an extension has many files, and the machine may be busy


class NoCMake(NativeError):
    """CMake, or what it drives, is not installed."""


def extension(package: str | ModuleType, *, options: Mapping[str, str] | None = None, load: bool = True):
    """Build a lesson's extension unless it is in the cache, and load it.

    Parameters
    ----------
    package : str or module
        The lesson package, which holds the folder ``native`` (see the head of this module).
    options : mapping of str to str, optional
        Variables for CMake (``{"LAB_SANITIZE": "ON"}``); part of the key.
    load : bool
        False returns the folder in which the built module and ``parts.txt`` lie, and loads nothing.

    Returns
    -------
    module or pathlib.Path
        The module, with ``__parts__``: version by name of each part that was found (empty text when unknown).

    Raises
    ------
    NoCompiler, NoNanobind, NoCMake
        With what to install.
    CompileError
        With the first error of the compiler or of CMake; `log` has everything.
    """
    name = package if isinstance(package, str) else package.__name__
    folder = build(_native_folder(name), options=options or {})
    if not load:
        return folder
    files = [file for file in folder.iterdir() if file.suffix in (".so", ".pyd", ".dylib")]
    if len(files) != 1:
        raise NativeError(f"the extension of {name} should install one module, not {len(files)}")
    full = f"{name}.{FOLDER}.{files[0].name.partition('.')[0]}"
    if full not in sys.modules or getattr(sys.modules[full], "__file__", "") != str(files[0]):
        spec = importlib.util.spec_from_file_location(full, files[0])
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.__parts__ = found_parts(folder)
        sys.modules[full] = module
    return sys.modules[full]


def found_parts(folder: Path) -> dict[str, str]:
    """Version by name of the parts with which the extension in `folder` was built."""
    lines = (folder / "parts.txt").read_text(encoding="utf-8").splitlines()
    return {name: version for name, _, version in (line.partition(" ") for line in lines) if name}


def build(source: Path, *, options: Mapping[str, str]) -> Path:
    """Build and install the CMake project in `source` into the cache; returns the folder."""
    cxx, program = compiler(), cmake()  # the bigger gap is told first
    arguments = _arguments(cxx, options)
    here = sorted(name for name, found in parts.present().items() if found)
    rules = HERE / "cmake"
    about = (cxx.version, _version(program), sys.version, importlib.metadata.version("nanobind"))
    key = digest(about, arguments, here, contents(source), contents(rules))

    def make(folder: Path, out: Path) -> None:
        shared = f"-DLAB_NANOBIND_OBJECT={nanobind_object()}"
        steps = [
            [program, "-S", str(source), "-B", "build", shared, *arguments],
            [program, "--build", "build", "--config", "Release", "--parallel", str(os.cpu_count() or 1)],
            [program, "--install", "build", "--config", "Release", "--prefix", str(out)],
        ]
        for step in steps:
            code, log = run_compiler(step, folder, PATIENCE)
            if code:
                raise _explain(log, source)

    return build_once(f"extension-{source.parent.name}-{key}", make, wait=True)


def _native_folder(name):
    spec = importlib.util.find_spec(name)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(place) / FOLDER / "CMakeLists.txt").exists():
            return Path(place) / FOLDER
    raise NativeError(f"{name} has no folder {FOLDER!r} with a CMakeLists.txt")


def cmake() -> str:
    """The program CMake.

    Raises
    ------
    NoCMake
        Also when there is neither make nor ninja, with what to install.
    """
    beside = Path(sys.executable).parent / "cmake"  # from PyPI, also when the environment is not activated
    found = str(beside) if beside.exists() else shutil.which("cmake")
    if not found:
        raise NoCMake("CMake, which builds the extension of a lesson in C++, is not installed: pip install -e .")
    if not (shutil.which("ninja") or shutil.which("make")):
        raise NoCMake("CMake needs make or ninja to build with: apt install make (macOS: xcode-select --install)")
    return found


def _version(program):
    done = subprocess.run([program, "--version"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.stdout.partition("\n")[0]


def _arguments(cxx, options):
    import nanobind

    libraries.nanobind()
    libraries.python_headers()
    headers = [part.folder() for part in parts.PARTS]
    folders = dict.fromkeys(str(folder) for folder in headers if folder)
    eigen = libraries.eigen()
    values = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_CXX_COMPILER": str(cxx.path),
        "CMAKE_MODULE_PATH": str(HERE / "cmake"),
        "CMAKE_POLICY_DEFAULT_CMP0144": "NEW",
        "Python_EXECUTABLE": sys.executable,
        "nanobind_DIR": nanobind.cmake_dir(),
        "LAB_HEADER_FOLDERS": ";".join(folders),
        **({"Eigen3_DIR": str(eigen.parents[1] / "share" / "eigen3" / "cmake")} if eigen else {}),
        **options,
    }
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    return [*generator, "-Wno-dev", *(f"-D{name}={value}" for name, value in values.items())]


def _explain(log, source):
    """The first error in a log of CMake's, with the lines that follow it."""
    lines = log.splitlines()
    first = next((i for i, line in enumerate(lines) if " error: " in line or line.startswith("CMake Error")), None)
    shown = lines[first : first + 8] if first is not None else lines[-15:]
    told = "\n".join(shown).replace(f"{source}{os.sep}", "")
    return CompileError(f"the extension in {source.parent.name}/{source.name} was not built:\n{told}", log=log)
