"""Each rank's own random generators: Python's `random`, NumPy's legacy functions and torch's default generator.

All three are global to the process, and ranks share a process. Swapping their states at every change of rank would cost
more than the message that caused it, so they are swapped only once a rank has used them. All ranks start from the same
state, as if each had called `seed(0)`: as long as nobody has drawn or seeded, that state fits every rank. Whether
somebody has is seen from a few bytes of each generator's memory, which change with the first number and with a seed.
"""

from __future__ import annotations

import ctypes
import random
import sys
from functools import cache

import numpy as np
import torch

SEED = 0


def _bytes(address: int, count: int) -> ctypes.Array:
    return (ctypes.c_char * count).from_address(address)


class _Torch:
    """The position in the Mersenne twister lies behind the seed, 80 bytes into the object in torch 2.x."""

    @staticmethod
    def word() -> ctypes.Array:
        generator = torch.default_generator
        before = generator.get_state()
        try:
            seed = 0x5EED_0123_4567_89AB
            generator.manual_seed(seed)
            memory = ctypes.string_at(generator._cdata, 256)
            offset = memory.index(seed.to_bytes(8, sys.byteorder))
            return _bytes(generator._cdata + offset + 16, 8)  # next_, state_[0]
        finally:
            generator.set_state(before)

    seed = staticmethod(lambda: torch.default_generator.manual_seed(SEED))
    get = staticmethod(torch.default_generator.get_state)
    set = staticmethod(torch.default_generator.set_state)
    draw = staticmethod(lambda: torch.rand(1))


class _Python:
    """`random.Random` begins with its index and its state, directly after the object's header.

    The first word of the state is the same after every seed, so the second belongs to what is watched.
    """

    word = staticmethod(lambda: _bytes(id(random._inst) + object.__basicsize__, 12))
    seed = staticmethod(lambda: random.seed(SEED))
    get, set, draw = staticmethod(random.getstate), staticmethod(random.setstate), staticmethod(random.random)


class _NumPy:
    """MT19937 publishes its address: 624 words of state, then the position."""

    @staticmethod
    def word() -> ctypes.Array:
        return _bytes(np.random.mtrand._rand._bit_generator.ctypes.state_address + 623 * 4, 8)

    seed = staticmethod(lambda: np.random.seed(SEED))  # noqa: NPY002 - the legacy functions are what this is about
    get, set = staticmethod(np.random.get_state), staticmethod(np.random.set_state)
    draw = staticmethod(np.random.random)


_KINDS = (_Torch, _Python, _NumPy)


@cache
def _words() -> tuple:
    """What to watch in each generator: their addresses stay the same as long as the process lives."""
    return tuple(kind.word() for kind in _KINDS)


class Generators:
    """The generators of all ranks of one run.

    Attributes
    ----------
    used : list
        The kinds of generator from which a rank has drawn so far; only these are swapped.
    """

    def __init__(self):
        self.outside = [kind.get() for kind in _KINDS]
        for kind in _KINDS:
            kind.seed()
        self.words = _words()
        self.fresh = [word.raw for word in self.words]
        self.used: list[int] = []
        self.base: dict[int, object] = {}
        a, b, c = self.words
        x, y, z = self.fresh
        # `untouched` runs at every change of rank, hence a closure over plain variables.
        self.untouched = lambda: a.raw == x and b.raw == y and c.raw == z

    def leave(self, task) -> None:
        """A task stops running: keep the state of the generators that were used."""
        for k, kind in enumerate(_KINDS):
            if k not in self.used and self.words[k].raw != self.fresh[k]:
                drawn = kind.get()
                kind.seed()
                self.base[k] = kind.get()
                kind.set(drawn)
                self.used.append(k)
        task.random = {k: _KINDS[k].get() for k in self.used}

    def enter(self, task) -> None:
        """A task goes on: give it its own generators."""
        for k in self.used:
            own = task.random or {}
            _KINDS[k].set(own.get(k, self.base[k]))

    def close(self) -> None:
        """Give the process its own state back."""
        for kind, state in zip(_KINDS, self.outside):
            kind.set(state)


def self_test() -> bool:
    """Whether a drawn number shows in each generator's word on this machine."""
    for kind in _KINDS:
        before = kind.get()
        try:
            kind.seed()
            word = kind.word()
            fresh = word.raw
            kind.draw()
            drawn = word.raw
            kind.seed()
            if drawn == fresh or word.raw != fresh:
                return False
        except (ValueError, AttributeError, OSError):
            return False
        finally:
            kind.set(before)
    return True
