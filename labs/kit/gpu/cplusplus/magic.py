"""The ``%%cuda`` cell: ``%%cuda [--fast] [--no-races] [--timeout SECONDS] name [name ...]``."""

from __future__ import annotations

import shlex

from labs.kit.gpu.cplusplus.kernel import UnreadyKernel, compile_cuda
from labs.kit.gpu.cplusplus.on_cpu import base_name
from labs.kit.native.failures import NoCompiler
from labs.kit.native.source import Source

USAGE = (
    "The first line of the cell names the kernels that Python shall get: %%cuda name, or %%cuda name other_name. A"
    ' template takes its arguments with it: %%cuda "tile<16>".\n'
    "Options: --fast (check no memory access), --no-races (check, but look for no races), --timeout SECONDS."
)


def parse_line(text: str) -> tuple[tuple[str, ...], dict]:
    """Read what stands behind ``%%cuda``.

    Returns
    -------
    tuple of tuple and dict
        Names of kernels, and keyword arguments of `Options`.

    Raises
    ------
    ValueError
        With the usage.
    """
    try:
        words = shlex.split(text)
    except ValueError:
        raise ValueError(USAGE) from None
    names, options = [], {}
    while words:
        word = words.pop(0)
        try:
            if word == "--fast":
                options["checked"] = False
            elif word == "--no-races":
                options["races"] = False
            elif word == "--timeout":
                options["timeout"] = float(words.pop(0))
                if not options["timeout"] > 0:
                    raise ValueError
            elif base_name(word).isidentifier():
                names.append(word)
            else:
                raise ValueError
        except (ValueError, IndexError):
            raise ValueError(f"{word!r} was not understood.\n{USAGE}") from None
    if not names:
        raise ValueError(USAGE)
    return tuple(dict.fromkeys(names)), options


def run_cell(line: str, text: str) -> dict:
    """Compile a cell.

    Parameters
    ----------
    line : str
        What stands behind ``%%cuda``.
    text : str
        The lines below.

    Returns
    -------
    dict of str to Kernel
        What the notebook gets, by name; for an unsolved cell, or without a compiler, what says so when it is called.

    Raises
    ------
    ValueError
        For a first line that is not understood.
    CompileError
    """
    names, options = parse_line(line)
    try:
        compiled = compile_cuda(text, *names, **options)
    except NoCompiler as missing:
        print(missing)
        source = Source(text, names, "cuda")
        return {base_name(name): UnreadyKernel(base_name(name), source, str(missing)) for name in names}
    kernels = compiled if isinstance(compiled, tuple) else (compiled,)
    return {base_name(name): kernel for name, kernel in zip(names, kernels)}


def register(ipython) -> None:
    """Give a notebook the ``%%cuda`` magic."""
    from IPython.core.error import UsageError

    def cuda(line, cell):
        try:
            ipython.push(run_cell(line, cell))
        except ValueError as error:
            raise UsageError(str(error)) from None

    ipython.register_magic_function(cuda, "cell", "cuda")
