"""Host memory that the device can reach by itself: pinned and mapped arrays.

A copy into pinned memory goes on while the host does. So the array holds its old values until the host has waited for
the copy, and whoever reads it before is told.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from labs.kit.virtual.cuda.failures import KernelHazard
from labs.kit.virtual.cuda.findings import Finding
from labs.kit.virtual.places import place_of_frame


class Guard:
    """Until when a device still writes to, or reads from, an array of the host."""

    def __init__(self, machine):
        self.machine, self.filled_at, self.read_until = machine, 0.0, 0.0

    def before_read(self) -> None:
        """The host reads the array now."""
        if self.filled_at > self.machine.now:
            self._tell(
                "The host reads an array that the device is still filling: it may hold its old values. Wait first:"
                " stream.synchronize(), event.synchronize() or cuda.synchronize()."
            )

    def before_write(self) -> None:
        """The host writes to the array now."""
        self.before_read()
        if self.read_until > self.machine.now:
            self._tell(
                "The host overwrites an array that the device is still reading: the copy may hold old and new values."
                " Wait first: stream.synchronize(), event.synchronize() or cuda.synchronize()."
            )

    def _tell(self, text):
        import sys

        frame = sys._getframe(2)
        place = place_of_frame(frame)
        if place is not None:
            text += f"\n  at {place}"
        if not self.machine.profiles:
            warnings.warn(text, KernelHazard, stacklevel=4)
            return
        finding = Finding("unsynchronised", text, "", place.line if place else 0, str(place or ""), space="host")
        for profile in self.machine.profiles:
            profile.host_findings.append(finding)


@dataclass(frozen=True, slots=True, eq=False)
class Arriving:
    """A copy to the host that nobody has waited for."""

    time: float
    target: np.ndarray
    values: np.ndarray

    def arrive(self) -> None:
        """Its values become visible."""
        self.target[...] = self.values


class PinnedArray(np.ndarray):
    """Host memory that copy engines use while the host goes on; an ndarray in all else."""

    guard: Guard | None = None

    def __array_finalize__(self, parent):
        if parent is not None and self.base is not None:
            self.guard = getattr(parent, "guard", None)

    def __getitem__(self, index):
        if self.guard is not None:
            self.guard.before_read()
        return super().__getitem__(index)

    def __setitem__(self, index, value):
        if self.guard is not None:
            self.guard.before_write()
        super().__setitem__(index, value)

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        for array in inputs:
            _before(array, "before_read")
        if out is not None:
            for array in out:
                _before(array, "before_write")
            options["out"] = tuple(_plain(array) for array in out)
        result = getattr(ufunc, method)(*(_plain(array) for array in inputs), **options)
        return out[0] if out is not None and len(out) == 1 else result

    def __array_function__(self, function, types, values, options):
        for value in values:
            _before(value, "before_read")
        return super().__array_function__(function, types, values, options)

    def tolist(self):
        _before(self, "before_read")
        return super().tolist()


class MappedArray(PinnedArray):
    """Host memory that kernels themselves read and write, over the link."""


def _before(array, what):
    guard = getattr(array, "guard", None)
    if isinstance(guard, Guard):
        getattr(guard, what)()


def _plain(array):
    return array.view(np.ndarray) if isinstance(array, PinnedArray) else array


def pinned(machine, shape, dtype, order="C", kind=PinnedArray) -> PinnedArray:
    """A new pinned (or mapped) array of zeros."""
    array = np.zeros(shape, dtype, order).view(kind)
    array.guard = Guard(machine)
    return array
