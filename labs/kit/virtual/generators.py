"""Each rank's own random generators: Python's `random`, NumPy's legacy functions and torch's default generator.

All three are global to the process, and ranks share a process. Swapping their states at every change of rank would cost
ten times as much as the message that caused it, so they are swapped only once a rank has used them. All ranks start
from the same state, as if each had called `seed(0)`: as long as nobody has drawn or seeded, that state fits every rank.

Whether somebody has is asked at every change of rank. There are two ways to answer:

- Through the libraries' public functions: compare whole states. Always right, and slow (some 50 µs).
- By a glance at eight bytes of each generator's memory, which change with the first number and with another seed, for
  less than a hundredth of that. Where these bytes lie is not documented, so the first run in a process tries it out
  (`memory_words`); where the layout differs from what is expected, ranks are watched the public way.
"""

from __future__ import annotations

import ctypes
import random
import sys
from collections.abc import Callable
from functools import cache

import numpy as np
import torch

SEED = 0
_OTHER_SEED = 0x5EED_0123_4567_89AB
_BLOCK = 624  # numbers in a Mersenne twister: all three are one


class _Torch:
    """The seed is followed by the position (after eight bytes) and the state; it tells where in the object they lie."""

    seed = staticmethod(lambda seed=SEED: torch.default_generator.manual_seed(seed))
    get = staticmethod(torch.default_generator.get_state)
    set = staticmethod(torch.default_generator.set_state)
    draw = staticmethod(lambda: torch.rand(1))
    equal = staticmethod(torch.equal)

    @staticmethod
    def address() -> int:
        generator = torch.default_generator
        generator.manual_seed(_OTHER_SEED)
        memory = ctypes.string_at(generator._cdata, 256)
        return generator._cdata + memory.index(_OTHER_SEED.to_bytes(8, sys.byteorder)) + 16  # next_, state_[0]


class _Python:
    """`random.Random` begins with its position and its state, directly behind the object's header.

    The first number of the state is the same after every seed, the second is not.
    """

    seed = staticmethod(lambda seed=SEED: random.seed(seed))
    get, set, draw = staticmethod(random.getstate), staticmethod(random.setstate), staticmethod(random.random)
    equal = staticmethod(lambda a, b: a == b)

    @staticmethod
    def address() -> int:
        return id(random._inst) + object.__basicsize__ + 4  # state[0], state[1]


class _NumPy:
    """MT19937 publishes its address: 624 numbers of state, then the position."""

    seed = staticmethod(lambda seed=SEED: np.random.seed(seed % 2**32))  # noqa: NPY002 - these are what this is about
    get, set = staticmethod(np.random.get_state), staticmethod(np.random.set_state)
    draw = staticmethod(np.random.random)
    equal = staticmethod(lambda a, b: a[2:] == b[2:] and np.array_equal(a[1], b[1]))

    @staticmethod
    def address() -> int:
        return np.random.mtrand._rand._bit_generator.ctypes.state_address + (_BLOCK - 1) * 4


_KINDS = (_Torch, _Python, _NumPy)


# ---- a glance at memory


def memory_words(kinds=_KINDS) -> tuple[ctypes.c_uint64, ...] | None:
    """Eight bytes of each generator that tell whether it was used; None where their place is not as expected.

    Nothing is believed: the bytes must change with the first number, must never be as at first during three blocks of
    numbers, must change with another seed, and be as at first again after the first seed.
    """
    before = [kind.get() for kind in kinds]
    try:
        words = tuple(ctypes.c_uint64.from_address(kind.address()) for kind in kinds)
        return words if all(_tells(kind, word) for kind, word in zip(kinds, words)) else None
    except (AttributeError, ValueError, TypeError):  # no such attribute, or no such bytes
        return None
    finally:
        for kind, state in zip(kinds, before):
            kind.set(state)


def _tells(kind, word: ctypes.c_uint64) -> bool:
    kind.seed()
    fresh = word.value
    for _ in range(3 * _BLOCK):
        kind.draw()
        if word.value == fresh:
            return False
    kind.seed(_OTHER_SEED)
    if word.value == fresh:
        return False
    kind.seed()
    return word.value == fresh


@cache
def _words_of(bit_generator) -> tuple | None:
    """The words of this process; found again when NumPy is given another bit generator."""
    return memory_words()


# ---- the two ways to watch: each gives a function that says whether all generators are as they are now


def watch_memory(words) -> Callable[[], bool]:
    """By eight bytes each. Called at every change of rank, hence a closure over plain variables."""
    a, b, c = words
    x, y, z = a.value, b.value, c.value
    return lambda: a.value == x and b.value == y and c.value == z


def watch_states() -> Callable[[], bool]:
    """By public functions only."""
    fresh = [kind.get() for kind in _KINDS]
    return lambda: all(kind.equal(kind.get(), state) for kind, state in zip(_KINDS, fresh))


# ---- the generators of a run


class Generators:
    """The generators of all ranks of one run.

    Parameters
    ----------
    public : bool, optional
        Whether to watch by public functions only; by default where the quick way does not work.

    Attributes
    ----------
    used : list
        The kinds of generator that a rank has used so far; only these are swapped.
    untouched : callable
        Whether all generators are as at the start of the run.
    """

    def __init__(self, public: bool | None = None):
        words = None if public else _words_of(np.random.mtrand._rand._bit_generator)
        self.outside = [kind.get() for kind in _KINDS]
        for kind in _KINDS:
            kind.seed()
        self.untouched = watch_states() if words is None else watch_memory(words)
        self.used: list = []
        self.base: dict = {}

    def leave(self, task) -> None:
        """A task stops running, and a generator was used: keep the states of those that were."""
        for kind in _KINDS:
            if kind not in self.used:
                state = kind.get()
                kind.seed()
                fresh = kind.get()
                if not kind.equal(state, fresh):
                    self.base[kind] = fresh
                    self.used.append(kind)
                    kind.set(state)
        task.random = {kind: kind.get() for kind in self.used}

    def enter(self, task) -> None:
        """A task goes on: give it its own generators."""
        own = task.random or {}
        for kind in self.used:
            kind.set(own.get(kind, self.base[kind]))

    def close(self) -> None:
        """Give the process its own state back."""
        for kind, state in zip(_KINDS, self.outside):
            kind.set(state)
