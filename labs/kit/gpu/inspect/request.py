"""What is to be compiled, as plain data: from the many forms of a kernel to one request."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from .devices import Target
from .failures import NotInspectable
from .portable import Portable, is_triton, portable, python_function, written


@dataclass(frozen=True)
class Request:
    """All that a listing depends on, besides the versions of the compilers."""

    language: str
    arch: str
    format: str
    name: str
    source: str
    header: str
    signature: str
    options: tuple

    def as_data(self) -> dict:
        return asdict(self)


def request(kernel, target: Target, signature=None, args=None, name=None, options=()) -> Request:
    """The request for `kernel`; see `machine_code` for what it may be.

    Raises
    ------
    NotInspectable
        For a kernel of an unknown form, of the wrong vendor, or without what is needed to know its types.
    """
    text, language = _text(kernel)
    if text is not None and re.search(r"^@(?:triton|cuda)\.jit", text, flags=re.M):
        return _of_python(written(text, name), target, signature, args, options)
    if text is not None:
        names = kernel_names(text)
        chosen = name or _bound_name(kernel)
        return _of_text(text, language, names, chosen, target, options)
    if python_function(kernel) is None:
        raise NotInspectable(
            "machine_code takes a kernel (a Python function, a @cuda.jit or @triton.jit kernel, a %%cuda kernel) or "
            f"the text of one; this is of type {type(kernel).__name__}."
        )
    return _of_python(portable(kernel, "triton" if is_triton(kernel) else "numba"), target, signature, args, options)


def _of_python(parts: Portable, target: Target, signature, args, options) -> Request:
    if parts.language == "numba" and target.vendor == "amd":
        raise NotInspectable(
            f"numba-cuda compiles for NVIDIA only, so there is nothing to show for {target.arch}. A Triton kernel, or "
            "C with AMD's built-in functions, can be compiled for it."
        )
    return Request(
        language=parts.language,
        arch=target.arch,
        format=target.format,
        name=parts.name,
        source=parts.source,
        header="\n".join(parts.header),
        signature=_signature(parts, signature, args),
        options=_options(parts.language, options),
    )


def _bound_name(kernel) -> str:
    """The name under which a cell bound a kernel ("scale<4>" of a template); "" for plain text."""
    own = getattr(kernel, "name", "")
    return own if isinstance(own, str) and own else getattr(getattr(kernel, "source", kernel), "symbol", "")


def _text(kernel) -> tuple[str | None, str]:
    """The C++ text of a kernel and its language; None for a Python kernel."""
    if isinstance(kernel, str):
        return kernel, ""
    source = getattr(kernel, "source", None)
    if source is None and hasattr(kernel, "text") and hasattr(kernel, "language"):
        source = kernel
    if isinstance(getattr(source, "text", None), str):
        if getattr(source, "unsolved", False):
            raise NotInspectable("This kernel is not solved yet, so there is no machine code to show.")
        return source.text, getattr(source, "language", "")
    return None, ""


_BOUNDS = r"__launch_bounds__\s*\([^)]*\)\s*"
_KERNEL = re.compile(rf"__global__\s+(?:{_BOUNDS}|\w+\s+)*?void\s+(?:{_BOUNDS})?(\w+)\s*\(")


def kernel_names(text: str) -> list[str]:
    """Names of the kernels in a C++ text, in order; comments do not count."""
    bare = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    return _KERNEL.findall(bare)


def _of_text(text: str, language: str, names: Sequence[str], chosen: str, target: Target, options) -> Request:
    if not names:
        raise NotInspectable(
            "There is no kernel in this text: a kernel starts with __global__ void and its name, as in "
            "__global__ void divide(...)."
        )
    if not chosen and len(names) > 1:
        raise NotInspectable(f"There are {len(names)} kernels in this text: say name= one of {', '.join(names)}.")
    chosen = chosen or names[0]
    if chosen.partition("<")[0] not in names:
        raise NotInspectable(f"There is no kernel {chosen!r} in this text; there is {', '.join(names)}.")
    return Request(
        language="hip" if target.vendor == "amd" else "cuda",
        arch=target.arch,
        format=target.format,
        name=chosen,
        source=text.strip("\n"),
        header="",
        signature="",
        options=_options("cuda", options),
    )


def _options(language: str, options) -> tuple:
    if language == "triton":
        return tuple(sorted(dict(options or {}).items()))
    if isinstance(options, Mapping):
        raise NotInspectable("options are a list of the compiler's flags here; only Triton takes them by name.")
    return tuple(map(str, options or ()))


def _signature(parts: Portable, signature, args) -> str:
    """The types of the kernel's parameters, in the notation of its own compiler."""
    if signature is not None and args is not None:
        raise NotInspectable("Pass signature= or args=, not both.")
    if isinstance(signature, Mapping):
        if lost := [name for name in parts.parameters if name not in signature]:
            raise NotInspectable(f"The signature does not say what {', '.join(lost)} is.")
        return ", ".join(str(signature[name]) for name in parts.parameters)
    if signature is not None:
        return str(signature)
    if args is None:
        examples = {"numba": '"uint8[::1], uint8[::1], int32"', "triton": '"*fp16:16, *fp16:16, i32, 64"'}
        raise NotInspectable(
            f"The compiler needs the types of {parts.name}'s parameters ({', '.join(parts.parameters)}): pass args= "
            f"with arguments like those of a launch, or signature={examples[parts.language]}."
        )
    if len(args) != len(parts.parameters):
        raise NotInspectable(f"{parts.name} has {len(parts.parameters)} parameters; args has {len(args)}.")
    typed = {"numba": _numba_type, "triton": _triton_type}[parts.language]
    return ", ".join(typed(value) for value in args)


def _numba_type(value) -> str:
    """numba's name for the type of an argument: "uint8[::1]" for a contiguous array of bytes."""
    if (dtype := _dtype(value)) and getattr(value, "ndim", 0):
        layout = ", ".join([":"] * (value.ndim - 1) + ["::1"]) if _contiguous(value) else ", ".join([":"] * value.ndim)
        return f"{'boolean' if dtype == 'bool' else dtype}[{layout}]"
    if dtype:
        return "boolean" if dtype == "bool" else dtype
    plain = {bool: "boolean", int: "int64", float: "float64", complex: "complex128"}
    if type(value) not in plain:
        raise NotInspectable(f"An argument of a kernel is an array or a number; in args= there is {value!r}.")
    return plain[type(value)]


def _contiguous(value) -> bool:
    flags = getattr(value, "flags", None)
    if flags is not None and hasattr(flags, "c_contiguous"):
        return bool(flags.c_contiguous)
    return bool(value.is_contiguous()) if hasattr(value, "is_contiguous") else True


def _triton_type(value) -> str:
    """Triton's name for the type of an argument; numbers that 16 divides say so, as Triton finds out at a launch."""
    short = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64", "bool": "i1"}
    if (dtype := _dtype(value)) and getattr(value, "ndim", 0):
        return f"*{short.get(dtype) or dtype.replace('uint', 'u').replace('int', 'i')}:16"
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, int):
        wide = "i32" if -(2**31) <= value < 2**31 else "i64"
        return f"{wide}:16" if value % 16 == 0 else wide
    if isinstance(value, float):
        return "fp32"
    return str(value)  # the name of a type


def _dtype(value) -> str:
    dtype = getattr(value, "dtype", None)
    return str(dtype).rpartition(".")[2] if dtype is not None else ""
