"""A kernel's Python text as a module of its own, in a file: numba and Triton read their kernels from files."""

from __future__ import annotations

import contextlib
import importlib.util
import linecache
import tempfile
from pathlib import Path

from ..parse import OURS


@contextlib.contextmanager
def load(request: dict):
    """The module, whose file is named `OURS`, so that lines of other files (Triton's library) are told apart.

    The header is executed under another name, so that line 1 of the file is line 1 of the source.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / OURS
        path.write_text(request["source"] + "\n", encoding="utf-8")
        loader = importlib.machinery.SourceFileLoader(OURS, str(path))
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader(OURS, loader))
        import sys

        sys.modules[OURS] = module
        exec(compile(request["header"], "<header>", "exec"), module.__dict__)
        loader.exec_module(module)
        linecache.checkcache(str(path))
        yield module
