"""Find the C++ compiler and build with it, once: `compiler` and `build`.

What was built lies in the user's cache folder (``LABS_CACHE`` overrides it) under a name made of everything that the
result depends on, so nothing is ever stale and nothing is built twice. Several processes may build the same at once:
each works in a folder of its own and moves the finished file into place.

``LABS_CACHE_READ`` may name further cache folders that are searched first and never written to (a grader shows its
own cache to the sandbox in this way).
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from labs.kit.native.cache import build_once, cache_folder, contents, digest, find_built
from labs.kit.native.diagnostics import explain
from labs.kit.native.failures import CompileError, NoCompiler

__all__ = [
    "CompileError",
    "Compiler",
    "NoCompiler",
    "build",
    "build_once",
    "cache_folder",
    "compiler",
    "contents",
    "digest",
    "find_built",
    "run_compiler",
]

FLAGS = ("-std=c++20", "-O2", "-g1", "-gdwarf-4", "-fno-omit-frame-pointer")
"""Always given, before the caller's flags. ``-g1`` keeps line numbers and nothing else; in version 5 of their format
addr2line (binutils 2.40) mixes up the names of files."""

SUFFIX = {"shared": ".so", "program": "", "object": ".o"}
TIMEOUT = 180.0
"""Seconds until a compilation is given up: templates can recurse for ever."""

_MISSING = (
    "no C++ compiler was found (tried {tried}), so C++ and CUDA C++ cells do not run here; everything else does.\n"
    "Debian or Ubuntu: sudo apt-get install g++. macOS: xcode-select --install. With conda: conda install cxx-compiler"
)


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C++ compiler.

    Parameters
    ----------
    path : pathlib.Path
        The program.
    version : str
        First line of what it says about itself.
    """

    path: Path
    version: str

    @property
    def is_clang(self) -> bool:
        """Whether it is Clang, also where it is called g++ (macOS)."""
        return "clang" in self.version.lower()


def compiler() -> Compiler:
    """The C++ compiler of this machine: that of the variable ``CXX``, else g++, else clang++.

    Returns
    -------
    Compiler

    Raises
    ------
    NoCompiler
        With a sentence that says what to install.
    """
    wanted = shlex.split(os.environ.get("CXX", ""))[:1]
    tried = wanted + (["clang++", "g++"] if sys.platform == "darwin" else ["g++", "clang++", "c++"])
    for name in tried:
        path = shutil.which(name)
        version = path and _version(path, os.stat(path).st_mtime_ns)
        if version:
            return Compiler(Path(path), version)
    raise NoCompiler(_MISSING.format(tried=", ".join(dict.fromkeys(tried))))


@functools.lru_cache(maxsize=8)
def _version(path: str, _changed: int) -> str:
    """What the compiler says about itself; empty where it does not run (macOS may have one that only offers itself)."""
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL, env=_english()
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.partition("\n")[0].strip() if done.returncode == 0 else ""


def build(
    source: str,
    *,
    name: str,
    flags: tuple[str, ...] = (),
    headers: tuple[Path, ...] = (),
    kind: str = "shared",
    label: str = "cell",
    before: str = "",
    after: str = "",
    inputs: tuple[Path, ...] = (),
    prelude: Path | None = None,
    precompiled: Path | None = None,
) -> Path:
    """Compile and link one text, or find it already built.

    Parameters
    ----------
    source : str
        C++ code. Messages count its lines from 1.
    name : str
        Begins the name of the file that is built.
    flags : tuple of str
        For the compiler, after `FLAGS`. The file key holds them, and the machine's CPU if ``-march=native`` is one.
    headers : tuple of Path
        Header files or folders: their contents are part of the key, and ``#include`` finds them.
    kind : {"shared", "program", "object"}
    label : str
        What messages call `source`.
    before, after : str
        Our own text around it. Errors there are shown as ours, not as the learner's.
    inputs : tuple of Path
        Object files and libraries to link; their contents are part of the key.
    prelude : pathlib.Path, optional
        A header that is included before everything else; its content is part of the key.
    precompiled : pathlib.Path, optional
        A folder with a compiled form of `prelude` under the same name, to save time (see `precompile`).

    Returns
    -------
    pathlib.Path
        The built file, in the cache. Never change it.

    Raises
    ------
    NoCompiler
    CompileError
        The compiler's first error with the line of `source`, and the rest in short; `log` has everything.
    """
    cxx = compiler()
    folders = dict.fromkeys(str(path if path.is_dir() else path.parent) for path in headers)
    options = [*FLAGS, *flags, *(f"-I{folder}" for folder in folders)]
    # The text lies in a file of its own name, which messages and line tables then show.
    text = f'{before}\n#include "{label}"\n#line 1 "after-{label}"\n{after}\n'
    needed = [*headers, *inputs, *([prelude] if prelude else [])]
    key = digest(kind, cxx.version, options, text, source, [contents(path) for path in needed], _cpu(flags))

    def make(folder: Path, out: Path) -> None:
        (folder / "code.cpp").write_text(text, encoding="utf-8")
        (folder / label).write_text(source if source.endswith("\n") else source + "\n", encoding="utf-8")
        mode = {"shared": ["-fPIC", "-shared"], "program": [], "object": ["-fPIC", "-c"]}[kind]
        if kind == "shared" and sys.platform == "darwin":
            mode += ["-undefined", "dynamic_lookup"]
        # Libraries among the flags must follow the code that needs them, so all flags that link come last as well.
        late = [flag for flag in flags if flag.startswith(("-l", "-L", "-Wl,"))]
        first = ["-include", str(precompiled / prelude.name if precompiled else prelude)] if prelude else []
        command = [str(cxx.path), *options, *mode, *first, "code.cpp", *map(str, inputs), *late, "-o", str(out)]
        code, log = run_compiler(command, folder)
        if code:
            raise explain(log, label=label, source=source)

    return build_once(f"{name}-{key}{SUFFIX[kind]}", make)


def run_compiler(command: list[str], folder: Path, timeout: float = TIMEOUT) -> tuple[int, str]:
    """Run a compiler in a process group of its own; an interrupt or the time limit ends the whole group.

    Returns
    -------
    tuple of int and str
        Its exit status, and what it wrote.
    """
    process = subprocess.Popen(
        command, cwd=folder, env=_english(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
    )  # fmt: skip
    end = functools.partial(_end, process)  # the notebook may be closed meanwhile
    atexit.register(end)
    try:
        log, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        _end(process)
        raise CompileError(
            f"the compiler did not finish in {timeout:.0f} s: does a template or a constexpr function call itself"
            " without end?"
        ) from None
    except BaseException:  # an interrupt from the notebook
        _end(process)
        raise
    finally:
        atexit.unregister(end)
    return process.returncode, log


def _end(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _english() -> dict[str, str]:
    """The environment with English messages and plain quotes, and without flags that would change what is built."""
    left_out = ("LC_", "LANG", "GCC_COLORS", "CPATH", "CPLUS_INCLUDE_PATH", "CXXFLAGS")
    return {k: v for k, v in os.environ.items() if not k.startswith(left_out)} | {"LC_ALL": "C"}


def _cpu(flags) -> str:
    """What tells two CPUs apart for the compiler; empty where the code runs on any CPU of this kind."""
    kind = f"{sys.platform}-{platform.machine()}"
    if not any("=native" in flag for flag in flags):
        return kind
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as info:
        return kind + next((line for line in info if line.startswith(("flags", "Features"))), "")
    return kind + platform.processor()
