"""The stand-in for the module ``numba.cuda``: the same names, the same arguments."""

from __future__ import annotations

import contextlib
import difflib
from types import FunctionType, SimpleNamespace

import numpy as np

from labs.kit.virtual.cuda import arrays, cooperation, half, intrinsics
from labs.kit.virtual.cuda.context import machine
from labs.kit.virtual.cuda.devices import Device, Event, Stream
from labs.kit.virtual.cuda.failures import LaunchFailed, WrongType
from labs.kit.virtual.cuda.host import MappedArray, PinnedArray, pinned
from labs.kit.virtual.cuda.intrinsics import Intrinsic
from labs.kit.virtual.cuda.kernel import Dispatcher
from labs.kit.virtual.cuda.memory import WARP

_COOPERATION = (
    "syncthreads syncthreads_count syncthreads_and syncthreads_or syncwarp shfl_sync shfl_up_sync shfl_down_sync"
    " shfl_xor_sync ballot_sync any_sync all_sync activemask lanemask_lt threadfence"
).split()
_INTRINSICS = "grid gridsize fma selp popc ffs clz brev cbrt".split()
_ATOMICS = "add sub max min nanmax nanmin and_ or_ xor inc dec exch".split()
_TYPES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()


def _namespace(prefix, **functions):
    return SimpleNamespace(**{name: Intrinsic(f"cuda.{prefix}.{name}", run) for name, run in functions.items()})


class Devices:
    """``cuda.gpus``: the devices, by number."""

    def __len__(self):
        return len(machine().devices)

    def __getitem__(self, number) -> Device:
        return machine().devices[number]

    def __iter__(self):
        return iter(machine().devices)

    @property
    def lst(self) -> list[Device]:
        """As a list."""
        return list(machine().devices)

    @property
    def current(self) -> Device:
        """The one that is selected."""
        return machine().devices[machine().current]


class Cuda:
    """What kernels and the host use of ``numba.cuda``."""

    __name__ = "labs.kit.virtual.cuda"
    warpsize = WARP
    float16, float32, float64 = np.float16, np.float32, np.float64
    int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
    uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
    boolean = bool_ = np.bool_
    types = SimpleNamespace(**{name: getattr(np, name) for name in _TYPES}, boolean=np.bool_)

    def __init__(self):
        for module, names in ((cooperation, _COOPERATION), (intrinsics, _INTRINSICS)):
            for name in names:
                setattr(self, name, Intrinsic(f"cuda.{name}", getattr(module, name)))
        self.threadfence_system = Intrinsic("cuda.threadfence_system", cooperation.threadfence)
        self.threadfence_block = Intrinsic("cuda.threadfence_block", intrinsics.nothing)
        self.nanosleep = Intrinsic("cuda.nanosleep", intrinsics.nothing)
        self.atomic = _namespace("atomic", **{name: cooperation.atomic(name) for name in _ATOMICS})
        self.atomic.cas = Intrinsic("cuda.atomic.cas", cooperation.compare_and_swap_at)
        self.atomic.compare_and_swap = Intrinsic("cuda.atomic.compare_and_swap", cooperation.compare_and_swap)
        self.shared = _namespace("shared", array=intrinsics.shared_array)
        self.local = _namespace("local", array=intrinsics.local_array)
        self.const = _namespace("const", array_like=intrinsics.const_array_like)
        self.fp16 = half.namespace()
        self.gpus = Devices()

    def __repr__(self):
        return "<the virtual CUDA device, in place of numba.cuda>"

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        spelt = {known.lower(): known for known in dir(self) if not known.startswith("_")}
        close = [spelt[known] for known in difflib.get_close_matches(name.lower(), spelt, n=1)]
        raise AttributeError(
            f"the virtual device has no cuda.{name}. "
            + "".join(f"Did you mean cuda.{known}? " for known in close)
            + "It offers the part of numba.cuda that the course uses: jit, grid, shared.array, syncthreads, shuffles,"
            " votes, atomic, fp16, device arrays, streams, events and devices"
        )

    # ---- who a thread is

    def _lanes(self, name):
        lanes = machine().lanes
        if lanes is None:
            raise LaunchFailed(f"cuda.{name} exists only inside a kernel, that is, in a function under @cuda.jit")
        return lanes

    @property
    def threadIdx(self):
        """Position of the thread in its block."""
        return self._lanes("threadIdx").thread

    @property
    def laneid(self):
        """Number of the thread in its warp."""
        return self._lanes("laneid").lane

    @property
    def blockIdx(self):
        """Position of the block in the grid."""
        return self._lanes("blockIdx").block.index3

    @property
    def blockDim(self):
        """Shape of a block."""
        return self._lanes("blockDim").block.launch.block

    @property
    def gridDim(self):
        """Shape of the grid."""
        return self._lanes("gridDim").block.launch.grid

    # ---- kernels

    def jit(self, func_or_sig=None, device=False, **_):
        """Make a kernel, or with ``device=True`` a device function. Signatures are accepted and ignored."""
        if isinstance(func_or_sig, Dispatcher):
            raise WrongType("@cuda.jit stands above this function twice")
        if isinstance(func_or_sig, FunctionType):
            return Dispatcher(func_or_sig, device)
        return lambda function: self.jit(function, device)

    # ---- devices

    def is_available(self) -> bool:
        """Whether kernels can run: always."""
        return True

    def get_current_device(self) -> Device:
        """The device that is selected."""
        return self.gpus.current

    def current_context(self, devnum=None) -> Device:
        """The device that is selected, or device `devnum`."""
        return self.gpus.current if devnum is None else self.gpus[devnum]

    def select_device(self, device_id) -> Device:
        """Use device `device_id` from now on."""
        here = machine()
        if not 0 <= device_id < len(here.devices):
            raise LaunchFailed(f"there is no device {device_id}: this machine has {len(here.devices)}")
        here.current = device_id
        return here.devices[device_id]

    def list_devices(self) -> Devices:
        """All devices."""
        return self.gpus

    def can_access_peer(self, device, peer) -> bool:
        """Whether kernels on `device` may touch the memory of `peer`."""
        return self.gpus[device].can_access_peer(peer)

    def synchronize(self) -> None:
        """The host waits for the device that is selected."""
        self.gpus.current.synchronize()

    def close(self) -> None:
        """Nothing to close."""

    def detect(self) -> bool:
        """Print the devices."""
        for device in self.gpus:
            print(f"device {device.id}: {device.spec.name}, virtual")
        return True

    @contextlib.contextmanager
    def defer_cleanup(self):
        """Nothing to defer."""
        yield

    # ---- streams and events

    def stream(self) -> Stream:
        """A new queue of work on the device that is selected."""
        return Stream(self.gpus.current)

    def default_stream(self) -> Stream:
        """The queue that is used when none is named."""
        return self.gpus.current.default

    legacy_default_stream = default_stream

    def event(self, timing=True) -> Event:
        """A new mark."""
        return Event(machine())

    def event_elapsed_time(self, evtstart, evtend) -> float:
        """Milliseconds between two marks."""
        return evtstart.elapsed_time(evtend)

    # ---- arrays

    def device_array(self, shape, dtype=np.float64, strides=None, order="C", stream=0) -> arrays.DeviceNDArray:
        """Memory on the device that nobody has written."""
        if strides is not None:
            raise WrongType("the virtual device makes arrays without gaps: leave strides out, or take a slice")
        return arrays.new_array(self.gpus.current, shape, np.dtype(dtype), order)

    def device_array_like(self, ary, stream=0) -> arrays.DeviceNDArray:
        """Memory of the same shape and type."""
        return self.device_array(ary.shape, ary.dtype)

    def to_device(self, obj, stream=0, copy=True, to=None) -> arrays.DeviceNDArray:
        """Copy an array of the host to the device that is selected (or into `to`)."""
        if isinstance(obj, arrays.DeviceNDArray):
            return obj
        if not isinstance(obj, np.ndarray):
            obj = np.asarray(obj)
        arrays.check_gaps(obj, "this array")
        target = self.device_array(obj.shape, obj.dtype, order=arrays.order_of(obj)) if to is None else to
        target.copy_to_device(obj, stream)
        if to is None:
            target.memory.written = None
        return target

    def pinned_array(self, shape, dtype=np.float64, strides=None, order="C") -> PinnedArray:
        """Host memory that copy engines use while the host goes on."""
        return pinned(machine(), shape, dtype, order)

    def pinned_array_like(self, ary) -> PinnedArray:
        """Pinned memory of the same shape and type."""
        return pinned(machine(), ary.shape, ary.dtype)

    def mapped_array(self, shape, dtype=np.float64, strides=None, order="C", stream=0, **_) -> MappedArray:
        """Host memory that kernels read and write over the link."""
        return pinned(machine(), shape, dtype, order, MappedArray)

    def mapped_array_like(self, ary, stream=0, **_) -> MappedArray:
        """Mapped memory of the same shape and type."""
        return self.mapped_array(ary.shape, ary.dtype)

    def is_cuda_array(self, obj) -> bool:
        """Whether `obj` lies on a device."""
        return isinstance(obj, arrays.DeviceNDArray)
