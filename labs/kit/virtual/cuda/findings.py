"""What a profile returns: plain, frozen data about each launch.

These field names are a contract: pictures draw them and lessons assert on them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from labs.kit.virtual.places import Place


@dataclass(frozen=True, slots=True)
class Access:
    """One access to memory by one thread.

    Parameters
    ----------
    block, thread : tuple of int
        Block and thread indices (x, y, z).
    op : str
        "load", "store" or "atomic".
    line : int
        Line number in the cell or file.
    place : str
        The same line in words: "line 4 of your cell, in kernel: s[t] = x[t]".
    """

    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    op: str
    line: int
    place: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong with a launch, though this time the result may be right.

    Parameters
    ----------
    kind : str
        "race" (two threads of one block), "race_between_blocks", "uninitialised", "negative_index", "inactive_lane"
        (a shuffle reads a lane that does not take part), "out_of_bounds", "divergent_barrier", "misaligned",
        "division_by_zero", "time_limit", "unsynchronised".
    text : str
        The explanation.
    kernel : str
        Name of the kernel.
    line : int
        Line of the first access.
    place : str
        The same in words.
    array, space : str
        Name of the array as the kernel calls it, and "global", "shared" or "local"; "" where none is concerned.
    index : tuple of int
        Which element.
    first, second : Access or None
        The accesses: two for a race, the first alone for the rest.
    count : int
        How often it was seen (only the first time is described).
    """

    kind: str
    text: str
    kernel: str
    line: int
    place: str
    array: str = ""
    space: str = ""
    index: tuple[int, ...] = ()
    first: Access | None = None
    second: Access | None = None
    count: int = 1


@dataclass(frozen=True, slots=True)
class Sample:
    """The addresses of one warp in one request, for drawing.

    Parameters
    ----------
    block : tuple of int
        Block index (x, y, z).
    warp : int
        Which warp of the block.
    addresses : tuple of 32 (int or None)
        Byte address of each lane's element; None for a lane that does not take part. In global memory counted from the
        array's first byte, which lies on a multiple of 256; in shared memory from the block's first byte.
    itemsize : int
        Bytes of an element.
    """

    block: tuple[int, int, int]
    warp: int
    addresses: tuple[int | None, ...]
    itemsize: int


@dataclass(frozen=True, slots=True)
class Traffic:
    """What one line does to one array, summed over all warps.

    Parameters
    ----------
    line : int
        Line number in the cell or file.
    place : str
        The same in words.
    op : str
        "load", "store" or "atomic".
    space : str
        "global" or "shared".
    array : str
        Name of the array as the kernel calls it.
    itemsize : int
        Bytes of an element.
    requests : int
        Warp-wide memory instructions: up to 32 lanes each.
    accesses : int
        Single accesses by lanes.
    sectors, ideal_sectors : int
        Global memory: aligned pieces of 32 bytes that were moved, and how few could hold the distinct elements that
        each request asked for. 0 in shared memory.
    bytes : int
        Global memory: 32 times `sectors`. Shared memory: bytes of the distinct words asked for by each request.
    wavefronts, bank_conflicts : int
        Shared memory: passes over the 32 banks of 4 bytes, and how many of them were needed only because several words
        lay in one bank. 0 in global memory.
    sample : Sample or None
        The addresses of one warp.
    """

    line: int
    place: str
    op: str
    space: str
    array: str
    itemsize: int
    requests: int
    accesses: int
    sectors: int = 0
    ideal_sectors: int = 0
    bytes: int = 0
    wavefronts: int = 0
    bank_conflicts: int = 0
    sample: Sample | None = None

    @property
    def efficiency(self) -> float:
        """Ideal over real cost, from 0 to 1: of sectors in global memory, of wavefronts in shared memory."""
        if self.space == "global":
            return self.ideal_sectors / self.sectors if self.sectors else 1.0
        return (self.wavefronts - self.bank_conflicts) / self.wavefronts if self.wavefronts else 1.0

    @property
    def sectors_per_request(self) -> float:
        """Mean number of sectors that a warp's request touches: 4 is ideal for 4-byte elements, 32 the worst."""
        return self.sectors / self.requests if self.requests else 0.0


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of a kernel.

    Parameters
    ----------
    kernel : str
        Its name.
    grid, block : tuple of int
        Launch configuration (x, y, z).
    dynamic_shared : int
        Bytes of dynamic shared memory.
    device, stream : int
        Number of the device, and of the stream on it (0 is the default stream).
    start, end : float
        In s: on the virtual clock, or measured with events on a real device (then `start` is 0).
    lines : tuple of Traffic
        Per line, array and operation; empty on a real device, which hides this.
    findings : tuple of Finding
        Empty on a real device, too.
    bytes, ideal_bytes : int
        Global memory moved (32 bytes a sector), and how little would have done for each request alone.
    flops : dict
        Floating-point operations by dtype name ("float16", "float32", "float64"); a fused multiply-add counts two.
    observed : bool
        Whether accesses were watched: False on a real device.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared: int
    device: int
    stream: int
    start: float
    end: float
    lines: tuple[Traffic, ...] = ()
    findings: tuple[Finding, ...] = ()
    bytes: int = 0
    ideal_bytes: int = 0
    flops: dict[str, int] = field(default_factory=dict)
    observed: bool = True

    @property
    def seconds(self) -> float:
        """How long it took, launch latency included."""
        return self.end - self.start

    @property
    def sectors(self) -> int:
        """Of 32 bytes, moved from and to global memory."""
        return sum(line.sectors for line in self.lines)

    @property
    def bank_conflicts(self) -> int:
        """Extra passes over shared memory."""
        return sum(line.bank_conflicts for line in self.lines)

    @property
    def wavefronts(self) -> int:
        """Passes over shared memory."""
        return sum(line.wavefronts for line in self.lines)

    @property
    def intensity(self) -> float:
        """Floating-point operations per byte of global memory (the x axis of a roofline)."""
        return sum(self.flops.values()) / self.bytes if self.bytes else 0.0

    @property
    def races(self) -> tuple[Finding, ...]:
        """The findings that are races, within a block or between blocks."""
        return tuple(finding for finding in self.findings if finding.kind.startswith("race"))

    def traffic(self, array: str, op: str = "load") -> Traffic:
        """The one line that does `op` to `array`; `ValueError` when there is none, or more than one."""
        found = [line for line in self.lines if (line.array, line.op) == (array, op)]
        if len(found) != 1:
            known = ", ".join(f"line {line.line}: {line.op} {line.array}" for line in self.lines) or "none"
            raise ValueError(f"{len(found)} lines {op} {array}, not one. The lines of {self.kernel}: {known}")
        return found[0]

    def as_data(self) -> dict:
        """Plain data, at any depth: dicts, lists, numbers, text."""
        return _lists(asdict(self)) | {"seconds": self.seconds}


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy on the virtual clock.

    Parameters
    ----------
    kind : str
        "to_device", "to_host", "peer" (between devices) or "on_device".
    nbytes : int
        Bytes.
    device, stream : int
        Who carries it out, and in which stream.
    start, end : float
        In s.
    """

    kind: str
    nbytes: int
    device: int
    stream: int
    start: float
    end: float

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.end - self.start


def _lists(value):
    if isinstance(value, dict):
        return {key: _lists(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_lists(item) for item in value]
    return value


def where(place: Place | None) -> str:
    """A place in words; "" for none."""
    return str(place) if place else ""
