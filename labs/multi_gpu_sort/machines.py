"""Four machines of the kind on which multi-GPU sorts were compared: GPUs, a CPU that holds the data, and the wires.

The last rank is the CPU. Bandwidths are B/s and direction, rounded from data sheets; they are typical, not measured.
"""

from __future__ import annotations

from labs.kit.hardware import Device, Topology
from labs.kit.hardware.graph import both_ways

GB = 1e9
KINDS = ("PCIe only", "NVLink pairs", "NVSwitch", "NVLink to the CPU")


def machine(kind, gpus, keys_per_key=1.0):
    """A machine of one kind.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    gpus : int
        2 to 8; ranks 0 to gpus - 1. Rank `gpus` is the CPU.
    keys_per_key : float
        Each key stands for so many: all bandwidths are divided by it, so that a small array behaves like a large one.

    Returns
    -------
    labs.kit.hardware.Topology

    Raises
    ------
    ValueError
        For an unknown kind.

    Notes
    -----
    PCIe 3.0 x16: 12 GB/s in copies, two GPUs under a switch; NVLink 2: 25 GB/s a link. "PCIe only" and "NVLink pairs"
    have V100s (900 GB/s of memory bandwidth), "NVSwitch" has A100s (1,555 GB/s; 600 GB/s of NVLink, both directions;
    PCIe 4.0: 25 GB/s, one x16 for two GPUs), "NVLink to the CPU" is like an IBM AC922: two GPUs and three NVLinks
    each on a CPU socket, and 32 GB/s between the sockets.
    """
    if kind not in KINDS:
        raise ValueError(f"no machine {kind!r}; there are {', '.join(KINDS)}")
    memory = (1555 if kind == "NVSwitch" else 900) * GB / keys_per_key
    devices = [Device(f"gpu{i}", memory_bandwidth=memory) for i in range(gpus)]
    cpu = Device("cpu", memory_bandwidth=100 * GB / keys_per_key)
    edges = []

    def wire(a, b, bandwidth, latency, name):
        edges.extend(both_ways(a, b, bandwidth / keys_per_key, latency, name))

    if kind == "NVLink to the CPU":
        for i, device in enumerate(devices):
            wire(device.name, f"socket {2 * i // gpus}", 72 * GB, 1e-6, "NVLink")
            if i % 2 and 2 * i // gpus == 2 * (i - 1) // gpus:
                wire(devices[i - 1].name, device.name, 72 * GB, 1.4e-6, "NVLink")
        wire("socket 0", "socket 1", 32 * GB, 1e-6, "X-Bus")
        wire("cpu", "socket 0", 100 * GB, 0.1e-6, "memory")
    else:
        pcie = (25 if kind == "NVSwitch" else 12) * GB
        for i, device in enumerate(devices):
            wire(device.name, f"PCIe switch {i // 2}", pcie, 1.25e-6, "PCIe")
            if kind == "NVSwitch":
                wire(device.name, "NVSwitch", 279 * GB, 1e-6, "NVLink")
            if kind == "NVLink pairs" and i % 2:
                wire(devices[i - 1].name, device.name, 48 * GB, 1.4e-6, "NVLink")
        for switch in range((gpus + 1) // 2):
            wire(f"PCIe switch {switch}", "host", pcie, 1.25e-6, "PCIe")
        wire("cpu", "host", 100 * GB, 0.1e-6, "memory")
    return Topology(f"{gpus} GPUs, {kind}", [*devices, cpu], edges)
