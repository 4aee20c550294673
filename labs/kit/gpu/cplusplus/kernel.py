"""`compile_cuda`: from a text of CUDA C++ to kernels that are launched like those of Numba."""

from __future__ import annotations

import operator
from dataclasses import dataclass

import numpy as np

from labs.kit.gpu.cplusplus import advice, scanning
from labs.kit.gpu.cplusplus.arguments import constant_array
from labs.kit.gpu.cplusplus.on_cpu import base_name, compile_on_cpu
from labs.kit.gpu.cplusplus.on_gpu import compile_on_gpu, gpu_wanted
from labs.kit.gpu.cplusplus.options import Options
from labs.kit.native.failures import CompileError, NoCompiler
from labs.kit.native.source import Source, is_unsolved


class Kernel:
    """One `__global__` function.

    ``kernel[grid, block](*arguments)`` launches it and waits; ``kernel[grid, block, stream, shared_bytes]`` also names
    a stream (for a GPU) and the bytes of dynamic shared memory. Sizes are integers or tuples of up to three. NumPy
    arrays stand for pointers and are changed in place; numbers take the type of their parameter.

    Attributes
    ----------
    name : str
    source : Source
        The text it comes from.
    where : str
        "cpu" or "gpu".
    """

    unsolved = False

    def __init__(self, name: str, source: Source, backend, constants: dict | None = None):
        self.name, self.source = name, source
        self._backend, self._constants = backend, constants or {}

    @property
    def where(self) -> str:
        """Where it runs: "cpu" or "gpu"."""
        return self._backend.where

    def __getitem__(self, configuration) -> Configured:
        if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 4:
            raise _wrong(
                f"{self.name}[grid, block] needs two sizes, optionally a stream and the bytes of dynamic shared memory"
            )
        grid, block, stream, shared = (*configuration, None, 0)[:4] if len(configuration) < 4 else configuration
        return Configured(self, size(grid, "grid"), size(block, "block"), stream, operator.index(shared or 0))

    def __call__(self, *_arguments, **_named):
        raise _wrong(f"how many threads? A kernel is launched as {self.name}[grid, block](...)")

    def with_constants(self, **values) -> Kernel:
        """The same kernel with values for `__constant__` variables.

        Parameters
        ----------
        **values : array_like
            By the name of the variable; as large as it is, and with its type (Python's numbers are converted).
        """
        known, arrays = scanning.constants(self.source.text), {}
        for name, value in values.items():
            if name not in known:
                raise ValueError(f"there is no __constant__ {name} here (there is: {', '.join(known) or 'none'})")
            arrays[name] = constant_array(name, value, known[name])
        return Kernel(self.name, self.source, self._backend, self._constants | arrays)

    def __repr__(self):
        parameters = scanning.kernels(self.source.text)[base_name(self.name)].parameters
        return f"<CUDA kernel {self.name}({', '.join(p.name for p in parameters)}) on the {self.where.upper()}>"


@dataclass(frozen=True, slots=True)
class Configured:
    """A kernel with the sizes of a launch."""

    kernel: Kernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    stream: object
    shared: int

    def __call__(self, *arguments, **named) -> None:
        """Launch."""
        kernel = self.kernel
        if named:
            raise _wrong(f"the arguments of {kernel.name} are given in order, without {next(iter(named))}=")
        kernel._backend.launch(
            kernel.name, self.grid, self.block, self.shared, self.stream, arguments, kernel._constants
        )


class UnreadyKernel:
    """What a cell binds when there is nothing to launch: its answer is unsolved, or there is no compiler.

    Parameters
    ----------
    name : str
    source : Source
    unavailable : str
        Why it cannot be launched on this machine; empty for an unsolved answer.
    """

    def __init__(self, name: str, source: Source, unavailable: str = ""):
        self.name, self.source, self.unavailable = name, source, unavailable
        self.unsolved = not unavailable

    def __getitem__(self, _configuration):
        return self

    def __call__(self, *_arguments):
        if self.unsolved:
            raise NotImplementedError("not solved yet")
        raise NoCompiler(self.unavailable)

    def __repr__(self):
        return f"<CUDA kernel {self.name}: {'not solved yet' if self.unsolved else 'cannot run here'}>"


def _wrong(text: str) -> TypeError:
    """A `TypeError` that a notebook shows without our frames."""
    from labs.kit.gpu.cplusplus.failures import WrongType

    return WrongType(text)


def size(value, what: str) -> tuple[int, int, int]:
    """A size as three integers: ``4``, ``(4, 2)`` and ``(4, 2, 1)`` are all right."""
    parts = tuple(value) if isinstance(value, (tuple, list, np.ndarray)) else (value,)
    if not 1 <= len(parts) <= 3:
        raise _wrong(f"the {what} has one to three sizes, not {len(parts)}")
    try:
        numbers = tuple(operator.index(part) for part in parts)
    except TypeError:
        raise _wrong(f"the {what} is given in whole numbers, not {value!r} (use // or -(-n // block))") from None
    return (*numbers, 1, 1)[:3]


def compile_cuda(text: str, *names: str, label: str = "cell", **options):
    """Compile CUDA C++: for the GPU where there is one, else for the CPU.

    Parameters
    ----------
    text : str
        The source, as NVRTC takes it.
    *names : str
        The kernels wanted, templates with arguments (``"tile<16>"``). By default all that are no templates.
    label : str
        What error messages call the text.
    **options
        See `Options`.

    Returns
    -------
    Kernel, or tuple of Kernel
        A tuple when several are named, or the text has several.

    Raises
    ------
    NoCompiler
        There is neither a GPU nor a C++ compiler.
    CompileError
        With the lines of `text`.
    """
    chosen = Options(**options)
    declared = scanning.kernels(text)
    wanted = names or tuple(name for name, kernel in declared.items() if not kernel.template)
    source = Source(text, tuple(wanted), "cuda", label)
    if is_unsolved(text):
        kernels = tuple(UnreadyKernel(base_name(name), source) for name in wanted)
    else:
        _check_names(wanted, text, declared, label)
        compile_it = compile_on_gpu if gpu_wanted() else compile_on_cpu
        try:
            backend = compile_it(text, tuple(wanted), label, chosen)
        except CompileError as error:
            raise advice.advised(error, text) from None
        kernels = tuple(Kernel(name, Source(text, (name,), "cuda", label), backend) for name in wanted)
    return kernels[0] if len(kernels) == 1 else kernels


def _check_names(wanted, text, declared, label):
    if not wanted:
        templates = [name for name, kernel in declared.items() if kernel.template]
        more = f" {templates[0]} is a template: name what to compile, '{templates[0]}<16>'." if templates else ""
        raise CompileError(f"there is no kernel in your {label}: no function `__global__ void name(...) {{`.{more}")
    for name in wanted:
        base = base_name(name)
        if base not in declared:
            raise CompileError(advice.no_kernel(base, text, declared, label))
        if declared[base].template and "<" not in name:
            raise CompileError(f"{base} is a template: name what to compile, for example '{base}<16>'")
