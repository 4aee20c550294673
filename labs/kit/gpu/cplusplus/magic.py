"""The ``%%cuda`` cell."""

from __future__ import annotations

import sys

from labs.kit.gpu.cplusplus.kernel import compile_cuda
from labs.kit.gpu.cplusplus.on_cpu import base_name

_USAGE = (
    "%%cuda name [name ...]: which kernels shall the cell give you? A template takes its arguments with it (tile<16>)."
    " --fast leaves the checks of memory out, --no-races only the search for races, --timeout=5 sets the limit in s"
)


def run_cell(line: str, text: str) -> dict:
    """Compile a cell.

    Parameters
    ----------
    line : str
        What follows ``%%cuda``: names of kernels, and options.
    text : str
        The cell below.

    Returns
    -------
    dict of str to Kernel
        What the cell binds. Without names, all kernels of the cell.
    """
    names, options = [], {}
    for word in line.split():
        if word == "--fast":
            options["checked"] = False
        elif word == "--no-races":
            options["races"] = False
        elif word.startswith("--timeout="):
            options["timeout"] = float(word.partition("=")[2])
        elif word.startswith("-") or not base_name(word).isidentifier():
            raise ValueError(f"{word!r} is no kernel. {_USAGE}")
        else:
            names.append(word)
    compiled = compile_cuda(text, *names, **options)
    kernels = compiled if isinstance(compiled, tuple) else (compiled,)
    return {base_name(kernel.name): kernel for kernel in kernels}


def register(ipython) -> None:
    """Give `ipython` the ``%%cuda`` cell magic."""

    def cuda(line, cell):
        """Compile CUDA C++ and bind its kernels: %%cuda name [name ...]"""
        from labs.kit.native.failures import NativeError

        try:
            ipython.push(run_cell(line, cell))
        except NativeError as error:
            _without_frames(error)

    ipython.register_magic_function(cuda, "cell", "cuda")


def _without_frames(error):
    """Raise `error` again as if it came from nowhere: the explanation is all that a learner needs."""
    error.__traceback__ = None
    error.__suppress_context__ = True
    sys.tracebacklimit = getattr(sys, "tracebacklimit", 1000)
    raise error
