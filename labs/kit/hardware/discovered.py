"""From the matrix of ``nvidia-smi topo -m`` to a topology.

The matrix says how near two devices are, not how fast. So wires are inferred, with typical bandwidths that can be
given as arguments; measure before you trust a figure.
"""

from __future__ import annotations

from dataclasses import replace

from labs.kit.hardware.graph import Edge, both_ways
from labs.kit.hardware.smi import TopoMatrix, parse_topo_matrix
from labs.kit.hardware.topology import Device, Topology

NVLINK_LATENCY = 1.4e-6  # s from GPU to GPU, as measured on the reference pair
NVSWITCH_LATENCY = 1e-6  # s a link, two on a route; typical
PCIE_LATENCY = 1.25e-6  # s a link; typical
MAX_NVLINKS = 18  # that one GPU has: Hopper and Blackwell; earlier ones have fewer

_LEVELS = (
    (("PIX",), "PCIe switch"),
    (("PXB",), "PCIe bridges"),
    (("PHB",), "host bridge"),
    (("NODE",), "NUMA node"),
    (("SYS",), "system"),
)


def parse_topo(
    text: str,
    *,
    name: str = "this machine",
    device: Device | None = None,
    nvlink_bandwidth: float = 25e9,
    pcie_bandwidth: float = 25e9,
    socket_bandwidth: float = 60e9,
) -> Topology:
    """A topology from the output of ``nvidia-smi topo -m``.

    Parameters
    ----------
    text : str
        The output; see `labs.kit.hardware.smi.parse_topo_matrix` for what is understood.
    name : str
        Of the topology.
    device : Device, optional
        What each GPU can do; its name is replaced. The text does not say, so the default is `Device`'s.
    nvlink_bandwidth : float
        B/s and direction of one NVLink. Default: that of V100, A100 and H100; an RTX A5000's has 14.0625e9.
    pcie_bandwidth : float
        B/s and direction of a PCIe link. Default: about what PCIe 4.0 x16 carries.
    socket_bandwidth : float
        B/s and direction of a host bridge or NUMA node to the rest of the machine. Default: about three UPI links.

    Returns
    -------
    Topology
        Rank i runs on GPU i; network cards are points of the network. All on node 0.

    Raises
    ------
    labs.kit.hardware.smi.TopoFormatError
        Says at which line and column the text is malformed.

    Notes
    -----
    PCIe: devices that are PIX to each other hang under one switch, PXB under one group of bridges, PHB under one host
    bridge, NODE (or an equal NUMA affinity) under one NUMA node; each such group has one uplink, which its devices
    share. NVLink: NV# is a direct cable of # links, unless a GPU would then need more than 18 links in all; then
    the GPUs hang on NVSwitches, with # links each. GPUs never forward, so a pair without NVLink uses PCIe.
    """
    matrix = parse_topo_matrix(text)
    gpus = matrix.gpus
    edges = _pcie(matrix, pcie_bandwidth, socket_bandwidth) + _nvlink(matrix, nvlink_bandwidth)
    template = device or Device("")
    return Topology(name, [replace(template, name=gpu, node=0) for gpu in gpus], edges)


def _pcie(matrix: TopoMatrix, pcie_bandwidth: float, socket_bandwidth: float) -> list[Edge]:
    """The tree of PCIe switches, host bridges and sockets: groups of devices that grow level by level."""
    if len(matrix.names) == 1:
        return []
    edges: list[Edge] = []
    # a group is (the point that stands for it, its devices, the bandwidth and kind of its uplink)
    groups = [(name, {name}, pcie_bandwidth, "PCIe") for name in matrix.names]
    for kinds, title in _LEVELS:
        merged: list[list[tuple[str, set[str], float, str]]] = []
        for group in groups:
            near = [other for other in merged if title == "system" or _near(matrix, group, other, kinds, title)]
            merged = [other for other in merged if other not in near]
            merged.append([*(member for other in near for member in other), group])
        groups, number = [], 0
        for members in merged:
            if len(members) == 1:
                groups.append(members[0])
                continue
            point = title if title == "system" else f"{title} {number}"
            number += 1
            for member, _, bandwidth, kind in members:
                edges += both_ways(member, point, bandwidth, PCIE_LATENCY, kind)
            up = (pcie_bandwidth, "PCIe") if title in ("PCIe switch", "PCIe bridges") else (socket_bandwidth, "socket")
            groups.append((point, set().union(*(member[1] for member in members)), *up))
    return edges


def _near(matrix: TopoMatrix, group: tuple, others: list[tuple], kinds: tuple[str, ...], title: str) -> bool:
    """Whether a device of `group` has one of the relations `kinds` to a device of `others`."""
    numa = matrix.numa_affinity
    for a in group[1]:
        for b in (device for other in others for device in other[1]):
            same_numa = title == "NUMA node" and a in numa and numa[a] == numa.get(b)
            if same_numa or matrix.relation(a, b) in kinds:
                return True
    return False


def _nvlink(matrix: TopoMatrix, bandwidth: float) -> list[Edge]:
    counts = {
        (a, b): int(relation[2:])
        for a in matrix.gpus
        for b in matrix.gpus
        if (relation := matrix.relation(a, b)).startswith("NV")
    }
    total = {gpu: sum(count for (a, _), count in counts.items() if a == gpu) for gpu in matrix.gpus}
    edges: list[Edge] = []
    if max(total.values()) > MAX_NVLINKS:
        for gpu in matrix.gpus:
            if links := max((count for (a, _), count in counts.items() if a == gpu), default=0):
                edges += both_ways(gpu, "NVSwitch", links * bandwidth, NVSWITCH_LATENCY, "NVLink")
    else:
        for (a, b), count in counts.items():
            if matrix.gpus.index(a) < matrix.gpus.index(b):
                edges += both_ways(a, b, count * bandwidth, NVLINK_LATENCY, "NVLink")
    return edges
