"""From a text of CUDA C++ to a library for the CPU: the text as it is, our header before it, tables after it."""

from __future__ import annotations

import contextlib
import re
import subprocess
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from labs.kit.gpu.cplusplus import advice, scanning
from labs.kit.native.failures import CompileError, NativeError, NoCompiler
from labs.kit.native.toolchain import build, compiler

HERE = Path(__file__).parent
INCLUDE, WORKER = HERE / "include", HERE / "worker"
MOST_SHARED = 49152
"""Bytes of `__shared__` arrays that a kernel can declare; more needs dynamic shared memory."""

# Kernels stay functions of their own with frame pointers, so that every access has a line. At -O2 g++ would turn a call
# at the end of a function into a jump and lose the line of the call.
COMMON = (
    "-march=native", "-ffp-contract=fast", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics",
    "-gdwarf-4",  # addr2line takes the first file of version 5 for the second
    "-fvisibility=hidden", "-fno-optimize-sibling-calls", "-fstack-clash-protection", "-fno-strict-aliasing", "-w",
    # The worker that loads the library brings the C library, and in place of libtsan and libubsan its own answers.
    "-nodefaultlibs", "-lgcc",
)  # fmt: skip
CHECKED = (
    "-O2", "-fsanitize=thread", "--param=tsan-instrument-func-entry-exit=0", "--param=tsan-distinguish-volatile=1",
    "-fsanitize=bounds,alignment",
)  # fmt: skip
FAST = ("-O3",)

_ONE_AT_A_TIME = threading.Lock()

_CLANG = (
    "CUDA C++ on the CPU needs g++ of GCC, and {found} is Clang, so CUDA C++ cells do not run here; everything else"
    " does.\nDebian or Ubuntu: sudo apt-get install g++ (and set CXX=g++). macOS: open the course in a Linux container"
)

_AFTER = """
extern "C" {{
{hidden}
extern char __start_cuda_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_cuda_shared[] __attribute__((weak, visibility("hidden")));
extern char __start_cuda_constant[] __attribute__((weak, visibility("hidden")));
extern char __stop_cuda_constant[] __attribute__((weak, visibility("hidden")));
__attribute__((visibility("hidden"), aligned(1024))) char emulated_dynamic[EMULATED_DYNAMIC_SHARED];
}}
static char emulated_pad __attribute__((section("cuda_shared"), used));
static const emulated_kernel emulated_kernels[] = {{{kernels}{{0, 0, 0}}}};
static const emulated_constant emulated_constants[] = {{{constants}{{0, 0, 0}}}};
extern "C" __attribute__((visibility("default"), used)) const emulated_module emulated_facts = {{
    emulated_kernels, emulated_constants, __start_cuda_shared, __stop_cuda_shared, emulated_dynamic,
    __start_cuda_constant, __stop_cuda_constant, {checked}}};
"""


@dataclass(frozen=True, slots=True)
class Library:
    """A text, compiled for the CPU.

    Parameters
    ----------
    path : Path
        The shared library.
    text, label : str
        What was compiled, and what messages call it.
    kernels : tuple of str
        The compiled kernels, for templates with their arguments: the order in which the worker counts them.
    constants : tuple of str
        Likewise the `__constant__` variables.
    checked : bool
        Whether accesses are observed.
    """

    path: Path
    text: str
    label: str
    kernels: tuple[str, ...]
    constants: tuple[str, ...]
    checked: bool


def worker_program() -> Path:
    """The child process's program, compiled once for this machine.

    It lies in the folder ``support`` of the cache, which a grader shows to its sandboxes.
    """
    with _ONE_AT_A_TIME:  # whoever launches while it is being built in the background waits for that
        return _worker_program()


@cache
def _worker_program():
    _refuse_clang()
    flags = ("-march=native", "-rdynamic", "-ldl", "-Wall", "-Wextra")
    text = worker_text()
    return build(text, name="support/cuda-worker", flags=flags, kind="program", label="worker.cpp")


def worker_text() -> str:
    """The worker as one text, its own headers put in place: what is built does not depend on where this file lies."""
    seen: set[Path] = set()

    def lines(file):
        for line in file.read_text(encoding="utf-8").splitlines():
            included = re.fullmatch(r'#include "(.+)"', line)
            if not included:
                yield "" if line == "#pragma once" else line
                continue
            header = next(folder / included[1] for folder in (WORKER, INCLUDE) if (folder / included[1]).is_file())
            if header not in seen:
                seen.add(header)
                yield from lines(header)

    return "\n".join(lines(WORKER / "worker.cpp"))


def warm_up() -> None:
    """Begin to build the worker in the background, while the learner still reads; the first launch tells a failure."""

    def work():
        with contextlib.suppress(NativeError, OSError):
            worker_program()

    threading.Thread(target=work, name="labs-cuda-warm-up", daemon=True).start()


def _refuse_clang():
    if compiler().is_clang:
        raise NoCompiler(_CLANG.format(found=compiler().path))


def build_library(text: str, names: tuple[str, ...], *, checked: bool = True, label: str = "cell") -> Library:
    """Compile a text for the CPU.

    Parameters
    ----------
    text : str
        CUDA C++, as it would go to NVRTC.
    names : tuple of str
        Kernels to compile: ``"scale"``, or ``"tile<16>"`` for a template.
    checked : bool
        Whether accesses are observed; without that, kernels run several times faster.
    label : str
        What messages call the text.

    Raises
    ------
    NoCompiler
    CompileError
    """
    _refuse_clang()
    advice.check(text, label)
    dynamic, constants = scanning.dynamic_shared(text), tuple(scanning.constants(text))
    after = _AFTER.format(
        # Without this, the address of a dynamic array would be looked up in other libraries as well.
        hidden="\n".join(f'asm(".hidden {name}\\n.globl {name}\\n");' for name in dynamic),
        kernels="".join(f'EMULATED_ENTRY("{name}", ({name})), ' for name in names),
        constants="".join(f'{{"{name}", (void*)&{name}, sizeof({name})}}, ' for name in constants),
        checked=int(checked),
    )
    path = build(
        re.sub(r"\bextern(\s+)__shared__", r"\1__emulated_dynamic_shared__", text),
        name="cuda",
        flags=(
            *COMMON,
            *(CHECKED if checked else FAST),
            *(f"-Wl,--defsym={name}=emulated_dynamic" for name in dynamic),
        ),
        headers=(INCLUDE,),
        kind="shared",
        label=label,
        before='#include "cuda_on_cpu.h"',
        after=after,
    )
    if "__shared__" in text:
        _check_shared(path)
    return Library(path, text, label, names, constants, checked)


def _check_shared(path: Path) -> None:
    """Refuse a kernel whose `__shared__` arrays exceed what every GPU offers."""
    listed = [line.split() for line in _tool("nm", "-S", str(path)).splitlines()]
    at = {words[-1]: int(words[0], 16) for words in listed if len(words) >= 3}
    begin, end = at.get("__start_cuda_shared", 0), at.get("__stop_cuda_shared", 0)
    sizes: dict[str, int] = {}
    for words in listed:
        if len(words) == 4 and begin <= int(words[0], 16) < end and words[3].startswith("_ZZ"):
            function = words[3].rsplit("E", 1)[0]
            sizes[function] = sizes.get(function, 0) + int(words[1], 16)
    for function, size in sizes.items():
        if size > MOST_SHARED:
            name = _tool("c++filt", "_Z" + function[3:]).strip()
            raise CompileError(
                f"{name} declares {size} bytes of __shared__ arrays; at most {MOST_SHARED} (48 KB) are possible."
                " Take a smaller tile."
            )


def _tool(name: str, *arguments: str) -> str:
    """What one of the compiler's companions (nm, addr2line, c++filt) says; empty where it is missing."""
    try:
        done = subprocess.run(
            [str(compiler().path.with_name(name)) if compiler().path.with_name(name).exists() else name, *arguments],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=30,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def line_of(library: Library, counters: list[str]) -> int:
    """The learner's line in which the first of some program counters stands (hexadecimal); 0 if none does."""
    if not counters:
        return 0
    for place in _tool("addr2line", "-i", "-e", str(library.path), *counters).splitlines():
        match = re.match(rf"(?:.*/)?{re.escape(library.label)}:(\d+)", place)
        if match:
            return int(match[1])
    return 0
