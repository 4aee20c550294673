"""A Python kernel as text that another process can compile: its source, and what it uses from around it."""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import numbers
import textwrap
import types
from dataclasses import dataclass, field

from .failures import NotInspectable

IMPORTS = {"numba": ("from numba import cuda",), "triton": ("import triton", "import triton.language as tl")}
LARGEST = 4096  # elements of an array that a kernel may use as a constant


@dataclass
class Portable:
    """The source that is shown, and the lines before it that define what it uses."""

    language: str
    name: str
    parameters: tuple[str, ...]
    sources: list[str] = field(default_factory=list)
    header: list[str] = field(default_factory=list)

    @property
    def source(self) -> str:
        return "\n\n\n".join(self.sources)


def python_function(kernel):
    """The plain Python function inside a kernel of numba, Triton or the virtual device; None if there is none."""
    for attribute in ("py_func", "fn"):
        inner = getattr(kernel, attribute, None)
        if callable(inner):
            return python_function(inner) or inner
    return kernel if isinstance(kernel, types.FunctionType) else None


def is_triton(kernel) -> bool:
    """Whether `kernel` is one of Triton's, compiled or interpreted, without importing Triton."""
    return type(kernel).__module__.partition(".")[0] == "triton"


def portable(kernel, language: str) -> Portable:
    """`kernel` (language "numba" or "triton") with everything that it uses.

    Raises
    ------
    NotInspectable
        If there is no source, or it uses something that cannot be written down: an open file, a large array.
    """
    function = python_function(kernel)
    jit = {"numba": "@cuda.jit", "triton": "@triton.jit"}[language]
    parameters = tuple(inspect.signature(function).parameters)
    result = Portable(language, function.__name__, parameters, header=[*IMPORTS[language]])
    _add(function, jit, jit if language == "triton" else "@cuda.jit(device=True)", result, {})
    result.header = list(dict.fromkeys(result.header))
    return result


def written(text: str, name: str | None = None) -> Portable:
    """A kernel given as Python text, which may use `cuda`, or `triton` and `tl`, and what it defines itself.

    Raises
    ------
    NotInspectable
        If the text is no Python, or has no kernel, or several and `name` does not say which.
    """
    text = textwrap.dedent(text).strip("\n")
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise NotInspectable(f"This text is not Python: line {error.lineno}: {error.msg}.") from None
    kernels = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef) and _is_kernel(node)}
    if name is None and len(kernels) != 1:
        raise NotInspectable(f"There are {len(kernels)} kernels in this text: say name= one of {', '.join(kernels)}.")
    name = name or next(iter(kernels))
    if name not in kernels:
        raise NotInspectable(f"There is no kernel {name!r} in this text; there is {', '.join(kernels)}.")
    language = "triton" if "triton" in ast.unparse(kernels[name].decorator_list[0]) else "numba"
    parameters = tuple(argument.arg for argument in kernels[name].args.args)
    return Portable(language, name, parameters, [text], [*IMPORTS[language]])


def _is_kernel(node: ast.FunctionDef) -> bool:
    decorators = [ast.unparse(each) for each in node.decorator_list]
    return any(each.startswith(("triton.jit", "cuda.jit")) and "device=True" not in each for each in decorators)


def _add(function, decorator: str, helper_decorator: str, result: Portable, done: dict) -> None:
    """Append the function's source to `result`, after that of the functions it calls."""
    done[function] = function.__name__
    text = _source(function)
    for name in _used(function):
        value = _lookup(function, name)
        if value is _NOTHING:
            continue
        inner = python_function(value)
        if inner is not None and not _is_library(inner):
            if inner not in done:
                _add(inner, helper_decorator, helper_decorator, result, done)
            if name != inner.__name__:
                result.sources.append(f"{name} = {inner.__name__}")
            continue
        result.header.append(_line(name, value, function.__name__))
    result.sources.append(f"{decorator}\n{text}")


_NOTHING = object()


def _lookup(function, name: str):
    code = function.__code__
    if name in code.co_freevars:
        cell = function.__closure__[code.co_freevars.index(name)]
        try:
            return cell.cell_contents
        except ValueError:
            return _NOTHING
    if name in function.__globals__:
        return function.__globals__[name]
    return _NOTHING  # a builtin, an attribute, or a mistake that the compiler will name


def _used(function) -> list[str]:
    """Names that a function reads from around it: in its body, its annotations and its defaults."""
    names = _read_in(function.__code__)
    head = ast.parse(_source(function)).body[0]
    for part in (head.args, head.returns):
        names += [node.id for node in ast.walk(part) if isinstance(node, ast.Name)] if part else []
    return list(dict.fromkeys(names))


def _read_in(code) -> list[str]:
    names = [*code.co_freevars]
    names += [each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names += [name for name in _read_in(constant) if name not in code.co_varnames + code.co_cellvars]
    return names


def _is_library(function) -> bool:
    return function.__module__.partition(".")[0] in ("triton", "numba", "numpy", "math", "builtins")


def _source(function) -> str:
    """The function's text, without decorators, from its `def` on."""
    try:
        lines = textwrap.dedent("".join(inspect.getsourcelines(function)[0]))
    except (OSError, TypeError):
        raise NotInspectable(
            f"The source of {function.__name__} cannot be found. Define the kernel in a notebook cell or in a file."
        ) from None
    tree = ast.parse(lines)
    found = tree.body[0]
    if not isinstance(found, ast.FunctionDef):
        raise NotInspectable(f"{function.__name__} is not a function that was written with def.")
    return "\n".join(lines.splitlines()[found.lineno - 1 : found.end_lineno])


def _line(name: str, value, where: str) -> str:
    """A line of Python that binds `name` to `value`."""
    kind = type(value)
    home = kind.__module__.partition(".")[0]
    if {"threadIdx", "blockIdx", "shared", "jit"} <= {*dir(value)}:  # not hasattr: outside a kernel some of them raise
        return f"from numba import cuda as {name}"  # numba's own module, its simulator or the virtual device
    if isinstance(value, types.ModuleType):
        return f"import {value.__name__} as {name}"
    if isinstance(value, (bool, numbers.Number, str, bytes, type(None))) and home in ("builtins", "numpy"):
        return f"{name} = {value.item()!r}" if home == "numpy" else f"{name} = {value!r}"
    if isinstance(value, tuple) and all(isinstance(part, numbers.Number) for part in value):
        return f"{name} = {tuple(value)!r}"
    if home == "triton" and kind.__name__ == "constexpr":
        return f"{name} = tl.constexpr({value.value!r})"
    if home == "triton" and kind.__name__ == "dtype":
        return f"{name} = tl.{value.name}" if hasattr(value, "name") else f"{name} = tl.dtype({str(value)!r})"
    if isinstance(value, type) and value.__module__ == "numpy":
        return f"import numpy; {name} = numpy.{value.__name__}"
    if home in ("numba", "labs") and isinstance(getattr(value, "name", None), str):  # numba's types and their stand-ins
        return f"{name} = cuda.types.{value.name}"
    if kind.__module__ == "numpy" and kind.__name__ == "ndarray" and value.size <= LARGEST:
        return f"import numpy; {name} = numpy.array({value.tolist()!r}, dtype={value.dtype.str!r})"
    if callable(value) and getattr(value, "__name__", None) and getattr(value, "__module__", None):
        module, own = value.__module__, value.__name__
        if module == "builtins" and hasattr(builtins, own):
            return f"{name} = {own}"
        return f"from {module} import {own} as {name}"
    raise NotInspectable(
        f"{where} uses {name}, a {kind.__name__}, which cannot be given to the compiler. Pass it as an argument, or "
        "make it a number."
    )
