"""C++ for the lessons: build it, load it, and run a learner's code in a child process that may crash.

In a notebook::

    %load_ext labs.kit.native

    %%cpp column_sums
    std::vector<double> column_sums(lab::Matrix<const double> a) { ... }

binds a Python callable ``column_sums`` (see `Function`). `shared` makes arrays that such functions get without a copy;
`extension` builds and loads a lesson's own extension.
"""

from __future__ import annotations

_WHERE = {
    "CompileError": "failures",
    "Crashed": "failures",
    "Function": "function",
    "NativeError": "failures",
    "NoCompiler": "failures",
    "Source": "source",
    "TooSlow": "failures",
    "compiler": "toolchain",
    "extension": "project",
    "shared": "memory",
}

__all__ = sorted(_WHERE)


def __getattr__(name):
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def load_ipython_extension(ipython):
    """``%load_ext labs.kit.native``: register ``%%cpp``, and build in the background what its cells share."""
    from labs.kit.native.magic import register
    from labs.kit.native.warm import warm_up

    register(ipython)
    warm_up()
