"""Devices, streams and events on the virtual clock.

A device has engines that work side by side: one for kernels, one for copies in each direction, one for copies from
other devices. A stream is a queue: what is in it starts in order. The host goes on unless it waits.
"""

from __future__ import annotations

import contextlib
from collections import namedtuple

from labs.kit import hardware
from labs.kit.virtual.cuda.failures import LaunchFailed
from labs.kit.virtual.cuda.findings import Copy
from labs.kit.virtual.cuda.memory import WARP

LAUNCH_LATENCY = 4e-6
"""s from the call until a kernel runs: a usual value."""
HOST_LATENCY, PINNED_BANDWIDTH, PAGEABLE_BANDWIDTH = 10e-6, 25e9, 12.5e9
"""s, B/s, B/s: copies over PCIe 4 x16, in round figures. To and from pageable memory the driver copies twice."""
SLOW_FLOAT64 = 64
"""float64 runs at so small a part of the float32 rate (GA102: NVIDIA Ampere GA102 whitepaper, appendix A)."""

MemoryInfo = namedtuple("MemoryInfo", "free total")


class Device:
    """One virtual GPU.

    Parameters
    ----------
    machine : Machine
        Whose.
    number : int
        Its number: what `select_device` takes.
    spec : labs.kit.hardware.Device
        Peak rates and memory.
    """

    compute_capability = (8, 6)
    shared_per_block = 48 * 1024
    WARP_SIZE = WARP
    MAX_THREADS_PER_BLOCK = 1024

    def __init__(self, machine, number: int, spec: hardware.Device):
        self.machine, self.id, self.spec, self.name = machine, number, spec, f"virtual {spec.name}"
        self.peers: set[int] = set()
        self.allocated = 0
        self.streams: list[Stream] = []
        self._engines = {"kernel": 0.0, "to_device": 0.0, "to_host": 0.0, "peer": 0.0}
        self.default = Stream(self)

    def __repr__(self):
        return f"<virtual CUDA device {self.id}: {self.spec.name}>"

    @property
    def device(self) -> Device:
        """Itself: a context's device."""
        return self

    # ---- time

    def stream(self, stream) -> Stream:
        """The stream that ``kernel[grid, block, stream]`` means; 0 is the default one."""
        if isinstance(stream, Stream):
            return stream
        if stream in (0, None):
            return self.default
        raise LaunchFailed(f"{stream!r} is no stream: cuda.stream() makes one")

    def submit(self, stream, engine: str, seconds: float) -> tuple[float, float]:
        """Queue work; returns when it starts and ends. The default stream waits for all others, and they for it."""
        queue = self.stream(stream)
        after = max(s.ready for s in self.streams) if queue is self.default else max(queue.ready, self.default.ready)
        start = max(self.machine.now, after, self._engines[engine])
        queue.ready = self._engines[engine] = start + seconds
        return start, start + seconds

    def copy(self, kind: str, stream, seconds: float, nbytes: int) -> float:
        """Queue a copy, tell the open profiles, and return when it ends."""
        engine = "kernel" if kind == "on_device" else kind
        start, end = self.submit(stream, engine, seconds)
        number = self.streams.index(self.stream(stream))
        for profile in self.machine.profiles:
            profile.copies.append(Copy(kind, nbytes, self.id, number, start, end))
        return end

    def kernel_seconds(self, nbytes: int, host_bytes: int, wavefronts: int, flops: dict) -> float:
        """How long a kernel runs: the longest of what its memory, its shared memory, its link and its units need.

        Shared memory serves 128 bytes while the units do 256 operations in float32, as on every recent GPU.
        """
        rate = self.spec.flops
        compute = sum(count * (SLOW_FLOAT64 if name == "float64" else 1) for name, count in flops.items()) / rate
        shared = wavefronts * 128 / (rate / 2)
        return max(nbytes / self.spec.memory_bandwidth, host_bytes / PINNED_BANDWIDTH, compute, shared)

    def synchronize(self) -> None:
        """The host waits for all streams."""
        self.machine.wait_until(max(stream.ready for stream in self.streams))

    # ---- other devices

    def can_access_peer(self, other) -> bool:
        """Whether a kernel here may touch the memory of device `other`."""
        number = getattr(other, "id", other)
        if not 0 <= number < len(self.machine.devices):
            raise LaunchFailed(f"there is no device {number}: this machine has {len(self.machine.devices)}")
        links = () if number == self.id else self.machine.topology.route(self.id, number).links
        return bool(links) and not any("host" in link.name for link in links)

    def enable_peer_access(self, other, flags=0) -> None:
        """Let kernels here touch the memory of device `other`."""
        if not self.can_access_peer(other):
            raise LaunchFailed(f"device {self.id} cannot reach the memory of device {getattr(other, 'id', other)}")
        self.peers.add(getattr(other, "id", other))

    # ---- numba's context

    def get_memory_info(self) -> MemoryInfo:
        """Free and total bytes."""
        return MemoryInfo(int(self.spec.memory) - self.allocated, int(self.spec.memory))

    def reserve(self, nbytes: int) -> None:
        """Take memory for an allocation."""
        if self.allocated + nbytes > self.spec.memory:
            free = self.get_memory_info().free
            raise LaunchFailed(f"out of memory: device {self.id} has {free:,} bytes left, {nbytes:,} were asked for")
        self.allocated += nbytes

    def release(self, nbytes: int) -> None:
        """Give memory back."""
        self.allocated -= nbytes

    def get_primary_context(self) -> Device:
        """Itself."""
        return self

    def push(self) -> None:
        """Make it the current device."""
        self._before = self.machine.current
        self.machine.current = self.id

    def pop(self) -> None:
        """Make the device of before current again."""
        self.machine.current = self._before

    def __enter__(self):
        self.push()
        return self

    def __exit__(self, *_):
        self.pop()


class Stream:
    """A queue of work on a device; `ready` is when its last item ends, in s."""

    def __init__(self, device: Device):
        self.device, self.ready = device, 0.0
        device.streams.append(self)

    def synchronize(self) -> None:
        """The host waits until the queue is empty."""
        self.device.machine.wait_until(self.ready)

    @contextlib.contextmanager
    def auto_synchronize(self):
        """Wait for the queue at the end of the ``with``."""
        yield self
        self.synchronize()


class Event:
    """A mark in a stream."""

    def __init__(self, machine):
        self._machine, self.time = machine, None

    def _reached(self) -> float:
        if self.time is None:
            raise LaunchFailed("this event was never recorded: call event.record(stream) first")
        return self.time

    def record(self, stream=0) -> None:
        """Mark the present end of a stream."""
        device = stream.device if isinstance(stream, Stream) else self._machine.devices[self._machine.current]
        queue = device.stream(stream)
        ready = (
            max(s.ready for s in device.streams) if queue is device.default else max(queue.ready, device.default.ready)
        )
        self.time = max(self._machine.now, ready)

    def wait(self, stream=0) -> None:
        """What comes later in `stream` starts after the mark."""
        device = stream.device if isinstance(stream, Stream) else self._machine.devices[self._machine.current]
        queue = device.stream(stream)
        queue.ready = max(queue.ready, self._reached())

    def synchronize(self) -> None:
        """The host waits for the mark."""
        self._machine.wait_until(self._reached())

    def query(self) -> bool:
        """Whether the mark has been passed."""
        return self.time is not None and self.time <= self._machine.now

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds from this mark to another."""
        return (end._reached() - self._reached()) * 1e3
