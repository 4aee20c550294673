"""From the text of a cell to a module that Python can load: `build_cell`, and the parts that all cells share.

The shared parts (nanobind's own code, the compiled form of the headers, the child's guard) lie in ``support/`` inside
the cache. They depend on no learner's code, so a grader may show that folder to its sandbox.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from labs.kit.native import libraries, toolchain
from labs.kit.native.failures import CompileError
from labs.kit.native.source import Source
from labs.kit.native.toolchain import FLAGS, build, build_once, compiler, digest, find_built, run_compiler

HERE = Path(__file__).parent
MODULE = "labs_cell"
"""Name of every cell's module; the files differ."""

CHECK_FLAGS = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer")
_MODULE_FLAGS = ("-fPIC", "-fvisibility=hidden", "-Werror=return-type")
_COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that has been built.

    Parameters
    ----------
    path : pathlib.Path
        The module.
    source : Source
    check : bool
        Whether the address and undefined-behaviour sanitizers watch it.
    seconds : float
        How long it took to have it.
    cached : bool
        Whether it had been built before.
    """

    path: Path
    source: Source
    check: bool
    seconds: float
    cached: bool


def build_cell(source: Source, *, flags: Sequence[str] = (), check: bool = False) -> Cell:
    """Build the module that offers `source.symbols` to Python.

    Parameters
    ----------
    source : Source
        C++ text that defines the functions `source.symbols`.
    flags : sequence of str
        For the compiler, last.
    check : bool
        Build with the address and undefined-behaviour sanitizers.

    Raises
    ------
    CompileError, NoCompiler, NoNanobind
    """
    began = time.perf_counter()
    for name in source.symbols:
        if not re.search(rf"\b{re.escape(name)}\s*\(", _plain(source.text)):
            raise CompileError(f"the first line of the cell names {name}, but the cell defines no function {name}(...)")
    nanobind = nanobind_object()
    usual = not flags and not check
    before = time.time()
    path = build(
        source.text,
        name="cell",
        flags=(*_module_flags(), *(CHECK_FLAGS if check else ()), *flags),
        label=source.label,
        after=_module(source),
        inputs=(nanobind,),
        prelude=HERE / "cell.hpp",
        precompiled=find_built(_precompiled_name()) if usual else None,
    )
    cached = path.stat().st_mtime < before - 1
    return Cell(path, source, check, time.perf_counter() - began, cached)


def prepare() -> Path:
    """Build what all cells share, some seconds of work that is done once on a machine.

    Returns
    -------
    pathlib.Path
        The folder ``support`` of the cache, in which it lies.
    """
    guard()
    nanobind_object()
    build_once(_precompiled_name(), _precompile)
    return toolchain.cache_folder() / "support"


def guard() -> Path:
    """The small library that watches over the child process (guard.cpp)."""
    text = (HERE / "guard.cpp").read_text(encoding="utf-8")
    late = ("-ldl", "-lpthread") if sys.platform.startswith("linux") else ()
    return build(text, name="support/guard", flags=("-std=c++17", *late), label="guard.cpp")


def _module_flags():
    include = libraries.nanobind()
    folders = [libraries.python_headers(), include / "include", include / "ext" / "robin_map" / "include"]
    if eigen := libraries.eigen():
        folders.append(eigen)
    if json := libraries.header("nlohmann/json.hpp"):
        folders.append(json)
    system = [folder for folder in dict.fromkeys(folders) if str(folder) != "/usr/include"]
    return (*_MODULE_FLAGS, *(flag for folder in system for flag in ("-isystem", str(folder))))


def nanobind_object() -> Path:
    """nanobind's own code, compiled: the same for every cell, and for a lesson's extension."""
    import nanobind

    source = libraries.nanobind() / "src" / "nb_combined.cpp"
    return build(
        f'#include "{source}"',
        name=f"support/nanobind-{nanobind.__version__}",
        flags=(*_module_flags(), "-O1", "-DNDEBUG", "-fno-strict-aliasing"),
        kind="object",
        label="nanobind",
    )


def _precompiled_name():
    text = (HERE / "cell.hpp").read_text(encoding="utf-8")
    return f"support/headers-{digest(compiler().version, FLAGS, _module_flags(), _nanobind_version(), text)}"


def _nanobind_version():
    import nanobind

    return nanobind.__version__


def _precompile(folder, out):
    """A folder with cell.hpp and its compiled form, which g++ takes for the text when the flags agree.

    Clang's form names the folder in which it was made, so it cannot be moved into place: there the text must do.
    """
    out.mkdir()
    header = out / "cell.hpp"
    shutil.copyfile(HERE / "cell.hpp", header)
    if compiler().is_clang:
        return
    command = [str(compiler().path), *FLAGS, *_module_flags(), "-x", "c++-header", str(header)]
    code, log = run_compiler([*command, "-o", f"{header}.gch"], folder)
    if code:
        raise CompileError("the course's own headers do not compile here:\n" + log[-1500:], log=log)


def _module(source):
    """The text behind the cell that offers its functions to Python."""
    lines = []
    for name in source.symbols:
        names = ", ".join(f'"{parameter}"' for parameter in parameters(source.text, name))
        lines.append(f'#line 1 "first line"\n    lab::bind(m, "{name}", &{name}, {{{names}}});')
    return f"NB_MODULE({MODULE}, m) {{\n{chr(10).join(lines)}\n}}"


def parameters(text: str, function: str) -> tuple[str, ...]:
    """Names of the parameters of a function defined in `text`; empty where they cannot be read."""
    plain = _plain(text)
    for found in re.finditer(rf"\b{re.escape(function)}\s*\(", plain):
        end = _closing(plain, found.end() - 1)
        if end and re.match(r"\s*(?:noexcept\s*)?(?:->[^{};]*)?\{", plain[end + 1 :]):
            pieces = _split(plain[found.end() : end])
            names = [re.search(r"([A-Za-z_]\w*)\s*(?:\[\s*\])?\s*(?:=.*)?$", piece.strip()) for piece in pieces]
            if all(names) and all(re.search(r"[\s&*>]", piece.strip()) for piece in pieces):
                return tuple(name[1] for name in names)
    return ()


def _plain(text):
    """`text` with comments and string literals blanked, line breaks kept."""
    return _COMMENT_OR_TEXT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def _closing(text, opening):
    depth = 0
    for at in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return None


def _split(text):
    """Split at the commas that stand outside brackets."""
    pieces, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += {"(": 1, "<": 1, "[": 1, "{": 1, ")": -1, ">": -1, "]": -1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            pieces.append(text[start:at])
            start = at + 1
    return [piece for piece in [*pieces, text[start:]] if piece.strip()]


def demangle(symbol: str) -> str:
    """The C++ name of a linker's symbol; the symbol itself where c++filt is absent."""
    try:
        return subprocess.run(["c++filt", symbol], capture_output=True, text=True, timeout=10).stdout.strip() or symbol
    except (OSError, subprocess.TimeoutExpired):
        return symbol
