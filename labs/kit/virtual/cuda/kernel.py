"""Kernels as objects: what ``@cuda.jit`` makes of a function, and its launch."""

from __future__ import annotations

import functools
import inspect
import math
import warnings
from types import FunctionType

import numpy as np

from labs.kit.virtual.cuda import arrays
from labs.kit.virtual.cuda.arithmetic import is_number
from labs.kit.virtual.cuda.context import machine
from labs.kit.virtual.cuda.devices import LAUNCH_LATENCY, Device, Stream
from labs.kit.virtual.cuda.failures import KernelHazard, LaunchFailed, Unsupported, WrongType
from labs.kit.virtual.cuda.findings import Launch
from labs.kit.virtual.cuda.host import MappedArray
from labs.kit.virtual.cuda.launch import Dim3, LaunchRun
from labs.kit.virtual.cuda.translate import Translated, translate

_HOW = "kernel_function[blockspergrid, threadsperblock](arg0, arg1, ..., argn)"
_MOST_GRID, _MOST_BLOCK = (2**31 - 1, 65535, 65535), (1024, 1024, 64)


class Dispatcher:
    """A kernel, or a device function that kernels call.

    Parameters
    ----------
    function : types.FunctionType
        The learner's.
    device : bool
        Whether it is a device function.
    """

    def __init__(self, function: FunctionType, device: bool = False):
        functools.update_wrapper(self, function)
        self.py_func, self.device = function, device
        self._translated: Translated | Unsupported | None = None

    @property
    def __code__(self):
        return self.py_func.__code__

    def __repr__(self):
        kind = "device function" if self.device else "kernel"
        return f"<{kind} {self.__name__} for the virtual device>"

    def translated(self) -> Translated:
        """The function rewritten for lockstep; raises `Unsupported` where that cannot be."""
        if self._translated is None:
            try:
                self._translated = translate(self.py_func)
            except Unsupported as error:
                self._translated = error
        if isinstance(self._translated, Unsupported):
            error = self._translated
            raise Unsupported(str(error), error.place)
        return self._translated

    def __call__(self, *args):
        if self.device:
            raise LaunchFailed(f"{self.__name__} is a device function: only a kernel can call it")
        raise LaunchFailed(f"Kernel launch configuration was not specified. Use the syntax: {_HOW}")

    def __getitem__(self, configuration):
        if self.device:
            raise LaunchFailed(f"{self.__name__} is a device function: launch a kernel that calls it")
        if not isinstance(configuration, tuple) or len(configuration) < 2:
            raise LaunchFailed(f"must specify at least the griddim and blockdim: {_HOW}")
        if len(configuration) > 4:
            raise LaunchFailed("a launch takes [grid, block, stream, shared memory in bytes], no more")
        grid, block, stream, dynamic = (*configuration, 0, 0)[:4]
        return Configured(self, _dims("grid", grid, _MOST_GRID), _dims("block", block, _MOST_BLOCK), stream, dynamic)

    def forall(self, ntasks, tpb=0, stream=0, sharedmem=0):
        """One thread for each of `ntasks`, in blocks of `tpb`."""
        tpb = tpb or 128
        return self[-(-ntasks // tpb), tpb, stream, sharedmem]


class Configured:
    """A kernel with its launch configuration: call it with the arguments."""

    def __init__(self, kernel, grid, block, stream, dynamic):
        if math.prod(block) > Device.MAX_THREADS_PER_BLOCK:
            raise LaunchFailed(f"a block of {tuple(block)} has {math.prod(block)} threads; the most is 1024")
        if not isinstance(dynamic, (int, np.integer)) or dynamic < 0:
            raise WrongType(f"the bytes of shared memory are a whole number, not {dynamic!r}")
        self.kernel, self.grid, self.block, self.stream, self.dynamic = kernel, grid, block, stream, int(dynamic)

    def __call__(self, *args, **named):
        if named:
            raise WrongType(f"the arguments of {self.kernel.__name__} are given in order, without {next(iter(named))}=")
        launch(self.kernel, self.grid, self.block, self.stream, self.dynamic, args)


def _dims(what, value, most) -> Dim3:
    value = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(value) <= 3 or not all(isinstance(n, (int, np.integer)) and type(n) is not bool for n in value):
        hint = ": use //, not /" if any(isinstance(n, float) for n in value) else ""
        shown = value[0] if len(value) == 1 else value
        raise WrongType(f"{what}dim must be a whole number, or a tuple of up to three, not {shown!r}{hint}")
    full = tuple(int(n) for n in value) + (1,) * (3 - len(value))
    for n, limit, axis in zip(full, most, "xyz"):
        if n < 1:
            raise LaunchFailed(f"{what}dim.{axis} is {n}: there is nothing to launch. Check for empty arrays before.")
        if n > limit:
            raise LaunchFailed(f"{what}dim.{axis} is {n:,}; the most is {limit:,}")
    return Dim3(*full)


def launch(kernel: Dispatcher, grid: Dim3, block: Dim3, stream, dynamic: int, args: tuple) -> None:
    """Run a kernel, put it on the clock, and tell the open profiles."""
    here = machine()
    if here.lanes is not None:
        raise LaunchFailed("a kernel cannot launch a kernel")
    device = stream.device if isinstance(stream, Stream) else here.devices[here.current]
    kernel.translated()
    arguments, copied, mapped = _arguments(kernel, args, device)
    run = LaunchRun(here, kernel, grid, block, dynamic, device)
    try:
        run.run([a.as_view() if isinstance(a, arrays.DeviceNDArray) else a for a in arguments])
    except BaseException:
        _finish(run, device, stream, arguments, mapped, failed=True)
        raise
    _finish(run, device, stream, arguments, mapped)
    for on_device, on_host in copied:
        on_device.copy_to_host(on_host)


def _arguments(kernel, args, device):
    """(what the kernel gets, arrays to copy back, mapped arrays)."""
    try:
        names = list(inspect.signature(kernel.py_func).bind(*args).arguments)
    except TypeError:
        wanted = ", ".join(inspect.signature(kernel.py_func).parameters)
        count = f"{len(args)} argument{'s' * (len(args) != 1)}"
        raise WrongType(f"{kernel.__name__}({wanted}) was launched with {count}") from None
    out, copied, mapped, taken = [], [], [], {}
    for name, value in zip(names, args):
        if isinstance(value, MappedArray):
            arrays.check_values(value)
            mapped.append(value)
            value = arrays.mapped_view(device, value)
        elif isinstance(value, np.ndarray):
            arrays.check_values(value)
            arrays.check_gaps(value, f"{name} of {kernel.__name__}")
            on_device = arrays.new_array(device, value.shape, value.dtype, arrays.order_of(value))
            on_device.copy_to_device(value)
            on_device.memory.written = None
            copied.append((on_device, value))
            value = on_device
        elif not isinstance(value, arrays.DeviceNDArray):
            _check_scalar(kernel, name, value)
        if isinstance(value, arrays.DeviceNDArray):
            _check_device(kernel, name, value, device)
            before = taken.setdefault(id(value.memory), [])
            before.append(name)
            value.memory.name = " or ".join(before)
        out.append(value)
    return out, [pair for pair in copied if pair[1].flags.writeable], mapped


def _check_scalar(kernel, name, value):
    if is_number(value) or value is None or isinstance(value, (bool, np.bool_)):
        return
    if isinstance(value, tuple) and all(is_number(item) for item in value):
        return
    kind = type(value).__name__
    if type(value).__module__.partition(".")[0] == "torch":
        raise WrongType(f"{name} of {kernel.__name__} is a tensor: hand over {name}.numpy(), which shares its memory")
    hint = ", so np.array(...) it" if isinstance(value, (list, tuple)) else ""
    raise WrongType(f"{name} of {kernel.__name__} is a {kind}: a kernel takes arrays and numbers{hint}")


def _check_device(kernel, name, array, device):
    if array.device.machine is not device.machine:
        raise LaunchFailed(f"{name} belongs to another virtual machine: make it inside the same `with`")
    if array.device is not device and array.device.id not in device.peers:
        raise LaunchFailed(
            f"{name} lies on device {array.device.id}, but {kernel.__name__} runs on device {device.id}. Copy it there,"
            f" or let device {device.id} reach it: cuda.current_context().enable_peer_access({array.device.id})"
        )


def _finish(run: LaunchRun, device: Device, stream, arguments, mapped, failed=False):
    lines, findings = run.lines(), run.findings()
    on_host = {a.memory.name for a in arguments if isinstance(a, arrays.DeviceNDArray) and a.memory.on_host}
    host_bytes = sum(line.bytes for line in lines if line.space == "global" and line.array in on_host)
    moved = sum(line.bytes for line in lines if line.space == "global")
    flops = {dtype.name: count for dtype, count in run.flops.items() if count}
    wavefronts = sum(line.wavefronts for line in lines)
    if not run.observed:
        moved = sum(a.nbytes for a in arguments if isinstance(a, arrays.DeviceNDArray))
    seconds = LAUNCH_LATENCY + device.kernel_seconds(moved - host_bytes, host_bytes, wavefronts, flops)
    start, end = device.submit(stream, "kernel", seconds)
    for array in mapped:
        array.guard.filled_at = max(array.guard.filled_at, end)
        array.guard.read_until = max(array.guard.read_until, end)
    for argument in arguments:
        if isinstance(argument, arrays.DeviceNDArray) and argument.memory.written is not None:
            if argument.memory.written.all():
                argument.memory.written = None
    record = Launch(
        kernel=run.kernel.__name__,
        grid=tuple(run.grid),
        block=tuple(run.block),
        dynamic_shared=run.dynamic,
        device=device.id,
        stream=device.streams.index(device.stream(stream)),
        start=start,
        end=end,
        lines=lines,
        findings=findings,
        bytes=moved,
        ideal_bytes=sum(32 * line.ideal_sectors for line in lines),
        flops=flops,
        observed=run.observed,
    )
    for profile in run.machine.profiles:
        profile.launches.append(record)
    if not run.machine.profiles and not failed:
        for finding in findings:
            warnings.warn(f"{finding.kind}: {finding.text}", KernelHazard, stacklevel=4)
