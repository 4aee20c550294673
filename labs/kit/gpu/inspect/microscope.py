"""`machine_code`: what a compiler makes of a kernel, on a machine with or without a GPU."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import labs
from labs.kit.native.toolchain import build_once, digest

from . import stored as stored_listings
from .compilers import tools
from .devices import missing, require, versions
from .devices import target as target_of
from .failures import CompileFailed, MissingPackage
from .listing import Listing
from .parse import parse
from .request import Request, request

TIMEOUT = 180.0  # seconds; a compilation takes about one
_CHANGED_BY = (
    "numba-cuda", "cuda-bindings", "nvidia-cuda-nvrtc", "nvidia-cuda-nvdisasm", "nvidia-nvjitlink", "nvidia-nvvm",
    "triton", "llvmlite", "ziglang",
)  # fmt: skip


def machine_code(
    kernel,
    target: str = "sm_80",
    *,
    format: str | None = None,
    signature=None,
    args=None,
    name: str | None = None,
    options=(),
    stored: os.PathLike | str | None = None,
) -> Listing:
    """The machine code of a kernel for a GPU, parsed, counted and ready to show. No GPU is needed.

    Parameters
    ----------
    kernel : callable or str
        A Python function or `@cuda.jit` kernel (of numba-cuda or of the virtual device), a `@triton.jit` kernel, a
        kernel of a `%%cuda` cell, or text: CUDA C++, or C with AMD's built-in functions and HIP's `__global__`,
        `__shared__` and `threadIdx` for an AMD target.
    target : str
        "sm_75", "sm_80", "sm_90", "sm_100", …, "gfx90a", "gfx942", "gfx950", "gfx1100", …; see `targets`.
    format : {"sass", "ptx", "gcn"}, optional
        "ptx" shows NVIDIA's portable assembly in place of the machine code.
    signature : str or dict, optional
        The types of a Python kernel's parameters as its compiler writes them: "uint8[::1], uint8[::1], int32" for
        numba; for Triton the notation of its ahead-of-time tool, "*fp16:16, i32, i32:16, 64" (a number is a
        `constexpr`, ":16" means divisible by 16), or a dict of such parts by parameter.
    args : sequence, optional
        In place of a signature: arguments like those of a launch, of which only the types are used.
    name : str, optional
        Which kernel of a text that has several; "scale<4>" instantiates a template.
    options : sequence of str, or dict for Triton
        More flags for the compiler (`["--use_fast_math"]`), or Triton's options (`{"num_warps": 8}`).
    stored : path, optional
        A folder with listings that were stored with a lesson, to fall back on where the compiler is missing.

    Returns
    -------
    Listing
        Kept on disk, so that the same question is answered at once.

    Raises
    ------
    NotInspectable
        If the question does not fit (an unknown target, a missing signature).
    CompileFailed
        If the compiler refuses the kernel.
    MissingPackage
        If the compiler is not installed and there is no stored listing of this kernel.
    """
    wanted = request(kernel, target_of(target, format), signature, args, name, options)
    if missing(wanted.language, wanted.format):
        found = stored_listings.find(wanted, stored)
        if found is None:
            require(wanted.language, wanted.format)
        return listing(wanted, found, stored=True)
    return listing(wanted, compiled(wanted))


def look(*arguments, **options) -> Listing | MissingPackage:
    """As `machine_code`, but where the compiler is missing, the sentence that says so, to be shown in its place."""
    try:
        return machine_code(*arguments, **options)
    except MissingPackage as missing_package:
        return missing_package


def listing(wanted: Request, result: dict, *, stored: bool = False) -> Listing:
    """The listing that a compiler's result makes."""
    text, instructions = parse(wanted.format, result["raw"], result["kernel"], wanted.name)
    return Listing(
        kernel=wanted.name,
        target=wanted.arch,
        format=wanted.format,
        text=text,
        instructions=instructions,
        source=wanted.source,
        compiler=result["compiler"],
        stored=stored,
    )


def compiled(wanted: Request) -> dict:
    """What the compiler answers, from the cache if it was asked before with the same versions of everything."""
    data = wanted.as_data()
    key = digest(
        sorted(data.items()), list(versions(*_CHANGED_BY)), tools.fingerprint(), sys.version_info[:2], _own_text()
    )

    def make(folder: Path, out: Path) -> None:
        out.write_text(json.dumps(_ask(data, folder)), encoding="utf-8")

    return json.loads(build_once(f"machine-code-{key}.json", make).read_text(encoding="utf-8"))


def _own_text() -> str:
    """The text of our compilers, so that a changed one is asked again."""
    return "".join(path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("compilers/*.py")))


def _ask(data: dict, folder: Path) -> dict:
    answer = folder / "answer.json"
    command = [sys.executable, "-m", f"{__package__}.compilers", str(answer)]
    process = subprocess.Popen(
        command, env=_environment(), cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True, errors="replace",
    )  # fmt: skip
    try:
        _, said = process.communicate(json.dumps(data), timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        raise CompileFailed(
            f"Compiling {data['name']} for {data['arch']} took more than {TIMEOUT:.0f} s and was given up."
        ) from None
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    if not answer.exists():
        if match := re.search(r"Cannot select: intrinsic %llvm\.(\S+)", said):
            raise _without_instruction(data, match[1])
        last = "\n".join(said.strip().splitlines()[-3:])
        raise CompileFailed(
            f"The compiler stopped (exit status {process.returncode}) while it worked on {data['name']} for "
            f"{data['arch']}. It said last:\n{last}"
        )
    result = json.loads(answer.read_text(encoding="utf-8"))
    if "refused" in result:
        if match := re.search(r"'__builtin_(amdgcn\w+)' needs target feature", result["refused"]):
            raise _without_instruction(data, match[1].replace("_", "."))  # clang's name, as LLVM writes it
        raise CompileFailed(f"{data['name']} does not compile for {data['arch']}:\n{result['refused']}")
    return result


def _without_instruction(data: dict, name: str) -> CompileFailed:
    text = f"{data['name']} does not compile for {data['arch']}: that GPU has no instruction for {name}."
    return CompileFailed(text)


def _environment() -> dict[str, str]:
    """The child's environment: real compilers, where the notebook may have switched on simulators or interpreters."""
    changed = ("TRITON_INTERPRET", "NUMBA_ENABLE_CUDASIM", "NUMBA_DISABLE_JIT", "LABS_GPU")
    kept = {key: value for key, value in os.environ.items() if key not in changed}
    root = str(Path(labs.__file__).parents[1])
    kept["PYTHONPATH"] = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    return kept
