"""Memory of the virtual device: flat allocations that remember what was written, and shaped windows on them."""

from __future__ import annotations

import math

import numpy as np

READ, WRITE, ATOMIC = 0, 1, 2
OPERATIONS = ("load", "store", "atomic")
WARP = 32
ALIGNMENT = 256
"""Every global allocation starts on a multiple of this many bytes, as from cudaMalloc."""


def dims(shape) -> tuple[int, ...]:
    """A shape as a tuple of int, from a number or a sequence."""
    return tuple(int(n) for n in shape) if isinstance(shape, (tuple, list)) else (int(shape),)


class Allocation:
    """A flat piece of memory.

    Parameters
    ----------
    shape : tuple of int
        How its owner thinks of it (for messages).
    dtype : numpy.dtype
        Of its elements.
    space : {"global", "shared", "local", "const"}
        Where it lies. Races and traffic are watched in global and shared memory.
    name : str
        As the kernel calls it.
    data : numpy.ndarray, optional
        The elements, one dimension. Without it: fresh memory full of NaN, or of 0xCB bytes, so that what is read too
        early looks odd.
    written : bool
        Whether the elements count as written from the start.
    lanes : int
        Local memory: one copy for each of so many lanes; element k of lane i is ``data[k * lanes + i]``.
    base : int
        Address of its first byte in shared memory; where it starts within its 256 bytes in global memory.
    on_host : bool
        Mapped memory: the device reaches it over the link.
    misaligned : bool
        Whether it starts at an address that is no multiple of the size of an element.
    order : {"C", "F"}
        Whether its elements lie row by row or column by column.
    """

    __slots__ = (
        "base", "data", "dtype", "lanes", "misaligned", "name", "on_host", "order", "shape", "space", "written"
    )  # fmt: skip

    def __init__(
        self, shape, dtype, space, name="?", data=None, written=False, lanes=0, base=0, on_host=False,
        misaligned=False, order="C",
    ):  # fmt: skip
        self.shape, self.dtype, self.space, self.name = shape, np.dtype(dtype), space, name
        self.data = poisoned(math.prod(shape) * max(lanes, 1), self.dtype) if data is None else data
        self.written = None if written else np.zeros(self.data.size, bool)
        self.lanes, self.base, self.on_host, self.misaligned = lanes, base, on_host, misaligned
        self.order = order

    def where(self, element) -> tuple[int, ...]:
        """Index, in the allocation's own shape, of a flat element."""
        element = int(element) // max(self.lanes, 1)
        if len(self.shape) < 2:
            return (element,)
        return tuple(int(i) for i in np.unravel_index(element, self.shape, self.order))


def poisoned(size: int, dtype: np.dtype) -> np.ndarray:
    """Fresh memory whose content nobody should rely on."""
    data = np.empty(size, dtype)
    if data.dtype.kind in "fc":
        data[:] = np.nan
    else:
        data.view(np.uint8)[:] = 0xCB
    return data


class View:
    """A shaped window on an allocation: what a kernel sees as an array.

    Parameters
    ----------
    memory : Allocation
        What it looks at.
    shape : tuple of (int or numpy.ndarray)
        A length may differ from lane to lane, after a slice whose bounds do.
    strides : tuple of int, optional
        In elements; row-major when left out.
    offset : int or numpy.ndarray
        Flat element of index 0; may differ from lane to lane, after ``a[i]`` on a matrix.
    """

    __slots__ = ("dtype", "memory", "ndim", "offset", "shape", "strides")

    def __init__(self, memory: Allocation, shape, strides=None, offset=0):
        self.memory, self.shape, self.offset = memory, tuple(shape), offset
        if strides is None:
            strides, step = [], 1
            for n in reversed(self.shape):
                strides.insert(0, step)
                step *= n
        self.strides, self.ndim, self.dtype = tuple(strides), len(self.shape), memory.dtype

    @property
    def size(self):
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self):
        """Bytes."""
        return self.size * self.dtype.itemsize

    @property
    def T(self) -> View:
        """With its dimensions reversed."""
        return View(self.memory, self.shape[::-1], self.strides[::-1], self.offset)

    def __getattr__(self, name):
        raise AttributeError(
            f"an array in a kernel has no attribute {name!r}; it has shape, size, ndim, dtype, T and its elements"
        )
