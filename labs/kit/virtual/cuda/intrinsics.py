"""What ``cuda`` offers inside kernels: a table of functions that get the running lanes as their first argument."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from labs.kit.virtual.cuda import arithmetic
from labs.kit.virtual.cuda.failures import LaunchFailed, WrongType
from labs.kit.virtual.cuda.memory import dims


class Intrinsic:
    """A function of the device.

    Parameters
    ----------
    name : str
        As a kernel writes it: "cuda.syncthreads".
    run : callable
        ``run(lanes, *arguments)``.
    """

    __slots__ = ("__name__", "run")

    def __init__(self, name: str, run: Callable):
        self.__name__, self.run = name, run

    def __call__(self, *_, **__):
        raise LaunchFailed(f"{self.__name__} exists only inside a kernel, that is, in a function under @cuda.jit")

    def __repr__(self):
        return f"<{self.__name__} of the virtual device>"


# ---- where a thread is


def grid(lanes, ndim):
    """Position of the thread in the whole grid."""
    index, size, thread = lanes.block.index3, lanes.block.launch.block, lanes.thread
    if ndim not in (1, 2, 3):
        raise WrongType("cuda.grid takes 1, 2 or 3: the number of dimensions")
    at = tuple(index[axis] * size[axis] + thread[axis] for axis in range(ndim))
    return at[0] if ndim == 1 else at


def gridsize(lanes, ndim):
    """Number of threads of the whole grid."""
    launch = lanes.block.launch
    if ndim not in (1, 2, 3):
        raise WrongType("cuda.gridsize takes 1, 2 or 3: the number of dimensions")
    at = tuple(launch.grid[axis] * launch.block[axis] for axis in range(ndim))
    return at[0] if ndim == 1 else at


# ---- arrays


def _shape(shape) -> tuple[int, ...]:
    if any(type(n) is np.ndarray for n in (shape if isinstance(shape, tuple) else (shape,))):
        raise WrongType("the shape of an array in a kernel must be a constant")
    return dims(shape)


def _dtype(dtype):
    if dtype in (int, float, bool):
        raise WrongType(f"{dtype.__name__} does not say how many bytes an element has: use np.float32, np.int32, ...")
    known = arithmetic.dtype_of(dtype)
    if known is None or known.kind not in "biuf":
        raise WrongType(f"{dtype!r} is no element type: use np.float32, np.int32, np.float16, ...")
    return known


def shared_array(lanes, shape, dtype):
    """An array that the threads of a block share; shape 0 takes the launch's dynamic shared memory."""
    return lanes.block.shared_array(lanes, _shape(shape), _dtype(dtype))


def local_array(lanes, shape, dtype):
    """An array of its own for each thread."""
    return lanes.block.local_array(lanes, _shape(shape), _dtype(dtype))


def const_array_like(lanes, values):
    """The values of a global array, for reading."""
    return values


# ---- numbers


def fma(lanes, a, b, c):
    """``a * b + c``, rounded once."""
    a, b, c = (arithmetic.typed(value) for value in (a, b, c))
    dtype = np.result_type(a, b, c)
    if dtype.kind != "f":
        raise WrongType("cuda.fma takes floating-point numbers")
    wide = np.float64 if dtype.itemsize < 8 else np.longdouble
    return lanes._counted((a.astype(wide) * b.astype(wide) + c.astype(wide)).astype(dtype), 2)


def selp(lanes, test, yes, no):
    """`yes` where `test` holds, else `no`; both are computed."""
    return lanes.merge(np.asarray(test) != 0, yes, no)


def _bits(value):
    value = arithmetic.typed(value)
    if value.dtype.kind not in "iu":
        raise WrongType("this function looks at the bits of a whole number")
    return np.asarray(value).view(f"u{value.dtype.itemsize}"), value.dtype.itemsize * 8


def popc(lanes, value):
    """Number of bits that are 1."""
    return np.bitwise_count(_bits(value)[0]).astype(np.int32)[()]


def ffs(lanes, value):
    """Position of the lowest bit that is 1, counted from 1; 0 when none is."""
    bits, _width = _bits(value)
    low = bits & (~bits + bits.dtype.type(1))
    return np.where(bits == 0, 0, np.bitwise_count(low - bits.dtype.type(1)) + 1).astype(np.uint32)[()]


def clz(lanes, value):
    """Number of zero bits above the highest bit that is 1."""
    bits, width = _bits(value)
    filled, step = bits.copy(), 1
    while step < width:
        filled |= filled >> bits.dtype.type(step)
        step *= 2
    return (width - np.bitwise_count(filled)).astype(np.int32)[()]


def brev(lanes, value):
    """The bits in reverse order."""
    bits, width = _bits(value)
    out = np.zeros_like(bits)
    one = bits.dtype.type(1)
    for i in range(width):
        out |= ((bits >> bits.dtype.type(i)) & one) << bits.dtype.type(width - 1 - i)
    return out[()]


def cbrt(lanes, value):
    """Cube root."""
    return lanes._counted(np.cbrt(value if arithmetic.typed(value).dtype.kind == "f" else np.float64(value)))


def nothing(lanes, *_):
    """A hint to the hardware that changes no result."""
