"""A Triton kernel, compiled ahead of time for NVIDIA or AMD, to PTX, SASS or GCN."""

from __future__ import annotations

import os
import tempfile

from . import sass
from .module import load


class Refused(Exception):
    """Triton's own words about what is wrong with the kernel."""


REFUSALS = (Refused, sass.Refused)


def compile(request: dict) -> dict:
    """PTX, SASS or GCN of one kernel of a Python text."""
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # what Triton does today, said, so that it does not warn
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache  # our own cache keeps the result
        return _compile(request)


def _compile(request: dict) -> dict:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.errors import TritonError

    with load(request) as module:
        kernel = getattr(module, request["name"])
        types, constants, divisible = signature(request["signature"], kernel.arg_names)
        source = ASTSource(
            fn=kernel,
            signature=types,
            constexprs=constants,
            attrs={(kernel.arg_names.index(name),): [["tt.divisibility", by]] for name, by in divisible.items()},
        )
        arch = request["arch"]
        if arch.startswith("gfx"):
            # GFX9 (CDNA) has wavefronts of 64 lanes, GFX10 and later (RDNA) of 32.
            goal = GPUTarget("hip", arch, 64 if arch.startswith("gfx9") else 32)
        else:
            goal = GPUTarget("cuda", int("".join(filter(str.isdigit, arch))), 32)
        try:
            made = triton.compile(source, target=goal, options=dict(request["options"]))
        except (TritonError, RuntimeError, ValueError, AssertionError) as error:
            raise Refused(f"{type(error).__name__}: {error}") from None
    compiler = f"Triton {triton.__version__}"
    if request["format"] == "sass":
        raw, disassembler = sass.disassemble(made.asm["cubin"])
        return {"raw": raw, "kernel": made.metadata.name, "compiler": f"{compiler} and {disassembler}"}
    raw = made.asm["amdgcn" if request["format"] == "gcn" else "ptx"]
    return {"raw": raw, "kernel": made.metadata.name, "compiler": compiler}


def signature(text: str, names) -> tuple[dict, dict, dict]:
    """Types, constants and known divisors from the notation of Triton's own ahead-of-time tool.

    "*fp16:16, i32, i32:16, 64": a pointer to halves that is divisible by 16, a number, a number divisible by 16, and a
    constant.
    """
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != len(names):
        raise Refused(f"The kernel has {len(names)} parameters ({', '.join(names)}); the signature is {text!r}.")
    types, constants, divisible = {}, {}, {}
    for name, part in zip(names, parts):
        kind, _, divisor = part.partition(":")
        value = _constant(kind)
        if value is not None:
            types[name], constants[name] = "constexpr", value
            continue
        types[name] = kind
        if divisor:
            divisible[name] = int(divisor)
    return types, constants, divisible


def _constant(text: str):
    """The number or truth value that a part of the signature is; None for a type."""
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None
