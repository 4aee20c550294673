"""Arrays on the device, as the host holds them, and the copies between host and devices."""

from __future__ import annotations

import math
import weakref

import numpy as np

from labs.kit.virtual.cuda.devices import HOST_LATENCY, PAGEABLE_BANDWIDTH, PINNED_BANDWIDTH, Device, Stream
from labs.kit.virtual.cuda.failures import LaunchFailed, WrongType
from labs.kit.virtual.cuda.host import Arriving, PinnedArray
from labs.kit.virtual.cuda.memory import Allocation, View


class DeviceNDArray:
    """An array in the memory of a device. The host copies it or takes parts of it; kernels calculate with it.

    Parameters
    ----------
    memory : Allocation
        What it looks at.
    values : numpy.ndarray
        A view of the allocation's elements with this array's shape.
    device : Device
        Where.
    """

    def __init__(self, memory: Allocation, values: np.ndarray, device: Device):
        self.memory, self._values, self.device = memory, values, device

    shape = property(lambda self: self._values.shape)
    strides = property(lambda self: self._values.strides)
    size = property(lambda self: self._values.size)
    ndim = property(lambda self: self._values.ndim)
    dtype = property(lambda self: self._values.dtype)
    nbytes = property(lambda self: self._values.nbytes)

    def __len__(self):
        return len(self._values)

    def __getattr__(self, name):
        raise AttributeError(f"a device array has no attribute {name!r}: copy_to_host() gives a NumPy array")

    def __repr__(self):
        return f"<device array {self.shape} of {self.dtype} on {self.device.name}; copy_to_host() shows its values>"

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.copy_to_host(), dtype)

    def is_c_contiguous(self) -> bool:
        """Whether its elements follow one another, rows first."""
        return bool(self._values.flags.c_contiguous)

    # ---- parts and shapes: the same memory

    def _like(self, values):
        return DeviceNDArray(self.memory, values, self.device)

    def reshape(self, *shape, order="C") -> DeviceNDArray:
        """The same elements in another shape."""
        shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        if not self._values.flags.c_contiguous:
            raise NotImplementedError("reshape of a part needs copying: copy it to the host first")
        return self._like(self._values.reshape(shape, order=order))

    def ravel(self) -> DeviceNDArray:
        """The same elements in one dimension."""
        return self.reshape(-1)

    @property
    def T(self) -> DeviceNDArray:
        """With its dimensions reversed."""
        return self._like(self._values.T)

    def view(self, dtype) -> DeviceNDArray:
        """The same bytes read as another type: eight uint8 as one uint64."""
        values = self._values.view(np.dtype(dtype))  # NumPy says it in words when the bytes do not divide
        size = values.dtype.itemsize
        start = self._byte_offset()
        flat = values.reshape(-1)
        memory = Allocation(
            values.shape, values.dtype, "global", self.memory.name, flat, written=True, misaligned=start % size != 0
        )
        memory.base = self.memory.base + start
        if self.memory.written is not None and np.all(self._written()):
            self.memory.written[...] = True
        elif self.memory.written is not None:
            self.memory.written = None  # what is written through the other view cannot be followed
        return DeviceNDArray(memory, values, self.device)

    def __getitem__(self, index):
        part = self._values[index]
        if isinstance(part, np.ndarray):
            return self._like(part)
        self.device.machine.wait_until(self.device.copy("to_host", 0, HOST_LATENCY, self.dtype.itemsize))
        return part

    def __setitem__(self, index, value):
        index = index if isinstance(index, tuple) else (index,)
        part = self._like(self._values[index if ... in index else (*index, ...)])  # a view, also of one element
        if isinstance(value, DeviceNDArray):
            part.copy_to_device(value)
        else:
            part.copy_to_device(np.broadcast_to(np.asarray(value, self.dtype), part.shape))

    # ---- for kernels

    def _byte_offset(self) -> int:
        return self._values.ctypes.data - self.memory.data.ctypes.data if self._values.size else 0

    def as_view(self) -> View:
        """What a kernel sees."""
        size = self.dtype.itemsize
        return View(self.memory, self.shape, [s // size for s in self.strides], self._byte_offset() // size)

    def _written(self):
        size = self.dtype.itemsize
        mask = self.memory.written[self._byte_offset() // size :]
        return np.lib.stride_tricks.as_strided(mask, self.shape, [s // size for s in self.strides])

    # ---- copies

    def _machine_copy(self, kind, stream, bandwidth, latency=HOST_LATENCY) -> float:
        return self.device.copy(kind, stream, latency + self.nbytes / bandwidth, self.nbytes)

    def copy_to_host(self, ary=None, stream=0) -> np.ndarray:
        """Copy to the host.

        Parameters
        ----------
        ary : numpy.ndarray, optional
            Where to; a new array when left out.
        stream : Stream, optional
            With a stream and a pinned `ary` the host goes on at once, and `ary` keeps its old values until the host
            has waited for the stream.
        """
        if ary is None:
            ary = np.empty(self.shape, self.dtype)
        self._check(ary)
        machine = self.device.machine
        pinned = isinstance(ary, PinnedArray)
        end = self._machine_copy("to_host", stream, PINNED_BANDWIDTH if pinned else PAGEABLE_BANDWIDTH)
        target = ary.view(np.ndarray)
        if pinned and isinstance(stream, Stream):
            machine.pending.append(Arriving(end, target, self._values.copy()))
            if ary.guard is not None:
                ary.guard.filled_at = max(ary.guard.filled_at, end)
        else:
            target[...] = self._values
            machine.wait_until(end)
        return ary

    def copy_to_device(self, ary, stream=0) -> None:
        """Fill this array from the host, from this device, or from another one."""
        if isinstance(ary, DeviceNDArray):
            self._copy_from_device(ary, stream)
            return
        self._check(ary)
        self._values[...] = np.asarray(ary).reshape(self.shape)
        if self.memory.written is not None:
            self._written()[...] = True
        pinned = isinstance(ary, PinnedArray)
        end = self._machine_copy("to_device", stream, PINNED_BANDWIDTH if pinned else PAGEABLE_BANDWIDTH)
        if pinned and isinstance(stream, Stream):
            if ary.guard is not None:
                ary.guard.read_until = max(ary.guard.read_until, end)
        else:
            self.device.machine.wait_until(end)

    def _copy_from_device(self, other, stream):
        self._check(other)
        self._values[...] = other._values
        if self.memory.written is not None:
            self._written()[...] = True if other.memory.written is None else other._written()
        if other.device is self.device:
            self._machine_copy("on_device", stream, self.device.spec.memory_bandwidth / 2, latency=0.0)
            return
        route = self.device.machine.topology.route(other.device.id, self.device.id)
        start = max(s.ready for s in other.device.streams)  # the source must be complete
        queue = self.device.stream(stream)
        queue.ready = max(queue.ready, start)
        self._machine_copy("peer", stream, route.bandwidth, route.latency)

    def _check(self, other):
        if tuple(np.shape(other) if not isinstance(other, DeviceNDArray) else other.shape) != self.shape:
            has = other.shape if isinstance(other, DeviceNDArray) else np.shape(other)
            raise ValueError(f"incompatible shape: {tuple(has)} vs. {self.shape}")
        if other.dtype != self.dtype:
            raise TypeError(f"incompatible dtype: {other.dtype} vs. {self.dtype}")


def check_values(array: np.ndarray) -> None:
    """Refuse what kernels here cannot calculate with."""
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise WrongType(f"the virtual device holds whole numbers, floats and Booleans, not {array.dtype}")


def check_gaps(array: np.ndarray, name: str) -> None:
    """Refuse a view with gaps, as Numba does: only whole memory is copied to a device."""
    if array.size == 0:
        return
    used = array[tuple(slice(None) if stride else 0 for stride in array.strides)]  # what is repeated takes no memory
    if not (used.flags.c_contiguous or used.flags.f_contiguous):
        raise LaunchFailed(
            f"{name} is a view with gaps in its memory (a part of another array), which cannot be copied to the device"
            " in one piece: take np.ascontiguousarray(...), a copy without gaps"
        )


def order_of(array: np.ndarray) -> str:
    """ "F" for an array that lies column by column, else "C"."""
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


def new_array(device: Device, shape, dtype, order="C") -> DeviceNDArray:
    """Memory on a device that nobody has written."""
    shape = tuple(int(n) for n in shape) if isinstance(shape, (tuple, list)) else (int(shape),)
    if any(n < 0 for n in shape):
        raise LaunchFailed(f"the shape {shape} has a negative length")
    check_values(np.empty(0, dtype))
    device.reserve(math.prod(shape) * np.dtype(dtype).itemsize)
    memory = Allocation(shape, dtype, "global", order=order)
    array = DeviceNDArray(memory, memory.data[: math.prod(shape)].reshape(shape, order=order), device)
    weakref.finalize(memory.data, device.release, memory.data.nbytes)  # the buffer lives as long as a view of it
    return array


def mapped_view(device: Device, array: np.ndarray) -> DeviceNDArray:
    """A mapped array of the host as a kernel's argument."""
    values = array.view(np.ndarray)
    flat = values.reshape(-1) if values.flags.c_contiguous else values.ravel(order="K")
    return DeviceNDArray(
        Allocation(values.shape, values.dtype, "global", data=flat, written=True, on_host=True), values, device
    )
