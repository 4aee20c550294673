"""The ``%%cpp`` cell: ``%%cpp [--check] [--timeout SECONDS] [--flags "..."] name [name ...]``."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from labs.kit.native.failures import NoCompiler
from labs.kit.native.function import SECONDS, Function, Unready, load
from labs.kit.native.libraries import NoNanobind
from labs.kit.native.source import Source

USAGE = (
    "The first line of the cell names the functions that Python shall get: %%cpp name, or %%cpp name other_name.\n"
    'Options: --check (watch every memory access), --timeout SECONDS, --flags "-O3 -march=native".'
)


@dataclass(frozen=True, slots=True)
class Line:
    """The first line of a cell, read.

    Parameters
    ----------
    names : tuple of str
    check : bool
    seconds : float
    flags : tuple of str
    """

    names: tuple[str, ...]
    check: bool = False
    seconds: float = SECONDS
    flags: tuple[str, ...] = ()


def parse_line(text: str) -> Line:
    """Read what stands behind ``%%cpp``.

    Raises
    ------
    ValueError
        With the usage.
    """
    try:
        words = shlex.split(text.replace(",", " "), comments=False)
    except ValueError:
        raise ValueError(USAGE) from None
    names, check, seconds, flags = [], False, SECONDS, ()
    while words:
        word = words.pop(0)
        try:
            if word == "--check":
                check = True
            elif word == "--timeout":
                seconds = float(words.pop(0))
                if not seconds > 0:
                    raise ValueError
            elif word == "--flags":
                flags = tuple(words.pop(0).split())
            elif word.isidentifier():
                names.append(word)
            else:
                raise ValueError
        except (ValueError, IndexError):
            raise ValueError(f"{word!r} was not understood.\n{USAGE}") from None
    if not names:
        raise ValueError(USAGE)
    return Line(tuple(dict.fromkeys(names)), check, seconds, flags)


def run_cell(line: str, text: str) -> dict:
    """Build a cell and load it.

    Parameters
    ----------
    line : str
        What stands behind ``%%cpp``.
    text : str
        The lines below.

    Returns
    -------
    dict of str to callable
        What the notebook gets. Without a compiler these are callables that say so; the same for an unsolved answer.

    Raises
    ------
    ValueError
        For a first line that is not understood.
    CompileError, Crashed
    """
    from labs.kit.native.binding import build_cell

    options = parse_line(line)
    source = Source(text, options.names, "cpp")
    if source.unsolved:
        return {name: Unready(source, name) for name in options.names}
    try:
        cell = build_cell(source, flags=options.flags, check=options.check)
    except (NoCompiler, NoNanobind) as missing:
        print(missing)
        return {name: Unready(source, name, str(missing)) for name in options.names}
    load(cell)
    return {name: Function(cell, name, seconds=options.seconds) for name in options.names}


def register(ipython) -> None:
    """Give a notebook the ``%%cpp`` magic."""
    from IPython.core.error import UsageError

    def cpp(line, cell):
        try:
            ipython.push(run_cell(line, cell))
        except ValueError as error:
            raise UsageError(str(error)) from None

    ipython.register_magic_function(cpp, "cell", "cpp")
