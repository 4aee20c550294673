"""What is often forgotten in CUDA C++: looked for before the compiler is asked, and added to what the compiler says.

g++ takes some programs that NVRTC refuses: a function of the host called from a kernel, or the C++ library. They are
refused here as well, so that what runs without a GPU also compiles for one.
"""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from labs.kit.gpu.cplusplus import scanning
from labs.kit.native.failures import CompileError

_HEADERS = sorted(path.name for path in (Path(__file__).parent / "include").glob("*.h") if path.stem != "cuda_on_cpu")
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"](?P<name>[^>\"\n]*)[>\"]", re.M)
_DEFINED = re.compile(r"\b(?P<name>[A-Za-z_]\w*)\s*\((?P<parameters>[^(){};]*)\)\s*\{")
_HOST_SIDE = (
    "The host's side of CUDA C++ (cudaMalloc, cudaMemcpy, name<<<grid, block>>>) is Python here:"
    " name[grid, block](arrays) copies, launches and waits."
)
_HINTS = (
    (r"\b(?:__)?half2?\b|__float2half|__half2float", "cuda_fp16.h", "half needs #include <cuda_fp16.h> on top."),
    (r"bfloat16", "cuda_bf16.h", "__nv_bfloat16 needs #include <cuda_bf16.h> on top."),
    (r"\bnvcuda\b|\bwmma\b", "mma.h", "nvcuda::wmma needs #include <mma.h> on top."),
    (r"\bcuda(?:Malloc|Memcpy|Memset|Free|DeviceSynchronize)|<<<", None, _HOST_SIDE),
    (r"no such instruction|inline assembly|impossible constraint", None, "Inline PTX (asm) runs on a GPU only."),
)
"""(what the compiler complains about, the header that would bring it, what to say when that is not included)."""


def check(text: str, label: str) -> None:
    """Raise `CompileError` for what g++ takes and NVRTC refuses: headers of the host, functions of the host."""
    for match in _INCLUDE.finditer(re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)):
        if match["name"] not in _HEADERS:
            line = text.count("\n", 0, match.start("name")) + 1
            raise CompileError(
                f"line {line} of your {label}: {match[0].strip()}\n    Code for a GPU has no such header. It has"
                " cuda_fp16.h, cuda_bf16.h and mma.h; printf, assert and the functions of math need none.",
                lines=(line,),
            )
    clean = scanning.blanked(text)
    for name, header, line in _functions(clean):
        called = len(re.findall(rf"\b{name}\s*(?:<[^;{{}}()]*>\s*)?\(", clean)) > 1
        if called and not re.search(r"\b(?:__device__|__global__|constexpr|consteval)\b", header):
            raise CompileError(
                f"line {line} of your {label}: {name} is a function of the host, which a kernel cannot call\n"
                f"    {text.splitlines()[line - 1].strip()}\nWrite __device__ before it.",
                lines=(line,),
            )


def _functions(clean: str):
    """Name, what stands before it, and line of the functions that a blanked text defines outside of braces."""
    outside, depth = [], 0
    for character in re.sub(
        r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", lambda m: re.sub(r"[^\n]", " ", m.group()), clean, flags=re.M
    ):
        depth -= character == "}"
        outside.append(character if depth <= 0 or character == "\n" else " ")
        depth += character == "{"
    flat = "".join(outside)
    for match in _DEFINED.finditer(flat):
        begin = max(flat.rfind(mark, 0, match.start("name")) for mark in ";}") + 1
        yield match["name"], flat[begin : match.start("name")], flat.count("\n", 0, match.start("name")) + 1


def no_kernel(name: str, text: str, declared, label: str) -> str:
    """Why a text has no kernel of that name."""
    for known, header, line in _functions(scanning.blanked(text)):
        if known != name:
            continue
        if "__device__" in header:
            return (
                f"line {line} of your {label}: {name} is a __device__ function, which kernels call. Python launches"
                " __global__ functions only"
            )
        if "__global__" in header:
            return f"line {line} of your {label}: a kernel returns nothing, so write `__global__ void {name}(...)`"
        return f"line {line} of your {label}: to make {name} a kernel, write `__global__ void {name}(...)`"
    close = difflib.get_close_matches(name, declared, n=1)
    known = ", ".join(declared) or "none"
    return f"there is no kernel {name} in your {label}. There is: {known}" + "".join(
        f". Did you mean {one}?" for one in close
    )


def advised(error: CompileError, text: str) -> CompileError:
    """The same error without the names of our own parts, and with what is probably missing."""
    told = re.sub(r"; did you mean '[^']*emulated[^']*'\?| \(found inside after-cell\)", "", str(error))
    told = re.sub(r"\bemulated_\w+::", "", told)
    included = {match["name"] for match in _INCLUDE.finditer(text)}
    hints = [hint for what, header, hint in _HINTS if header not in included and re.search(what, told)]
    return CompileError("\n".join([told, *hints]), log=error.log, lines=error.lines)
