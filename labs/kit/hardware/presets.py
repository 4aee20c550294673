"""Ready-made machines, from two GPUs with a cable between them to a cluster of thousands.

Bandwidths are bytes per second and per direction. A figure marked "about" is typical and not a specification: measured
values differ from machine to machine, which is why lessons let you measure your own.
"""

from __future__ import annotations

from functools import lru_cache

from labs.kit.hardware.discovered import NVSWITCH_LATENCY, PCIE_LATENCY
from labs.kit.hardware.graph import Edge, Link, both_ways
from labs.kit.hardware.measured import reference_machine
from labs.kit.hardware.topology import Device, Topology

GB = 1e9

# FLOP/s, B/s, B: the last three fields of a Device
A5000 = (27.8e12, 768 * GB, 24 * GB)  # fp32; NVIDIA RTX A5000 data sheet
H100 = (989e12, 3350 * GB, 80 * GB)  # bf16 on tensor cores, dense; NVIDIA H100 SXM data sheet


@lru_cache(maxsize=32)
def uniform(world_size: int, latency: float = 5e-6, bandwidth: float = 50 * GB) -> Topology:
    """The ideal network: every rank has an up link and a down link to a switch that never blocks.

    A rank can send at full speed to anyone while it receives at full speed; two messages to the same rank share its
    down link. This is the network that the alpha-beta formulas of `labs.kit.hardware.costs` assume.

    Parameters
    ----------
    world_size : int
        Number of ranks, from 1. Memory grows with `world_size`, not with its square.
    latency : float
        Seconds from any rank to any other (half on the up link, half on the down link).
    bandwidth : float
        B/s of each link.
    """
    _count("world_size", world_size)
    devices = tuple(Device(f"gpu{i}", node=i) for i in range(world_size))
    edges: list[Edge] = []
    for device in devices:
        edges += both_ways(device.name, "switch", bandwidth, latency / 2, "link")
    return Topology(f"{world_size} ranks on an ideal switch", devices, edges)


def a5000_pair(peer_access: bool = True) -> Topology:
    """Two RTX A5000 with an NVLink bridge, with the figures measured on the reference machine.

    With peer access, copies cross NVLink: 52.7 and 52.9 GB/s one way, 101.7 GB/s both ways together, 1.4 us. Without
    it they go through the host's memory: 20.6 and 21.2 GB/s, but only 28.7 GB/s both ways together, 12.7 us. So each
    path has a wire for each direction and one that both directions share.

    Parameters
    ----------
    peer_access : bool
        Whether GPUs may read each other's memory. The route through the host exists in both cases; NVLink, being
        quicker, is taken when it may be.

    Notes
    -----
    Device figures: NVIDIA RTX A5000 data sheet (27.8 TFLOP/s in fp32, 768 GB/s, 24 GB).
    """
    machine = reference_machine()
    devices = tuple(Device(f"gpu{i}", 0, *A5000) for i in range(2))
    edges: list[Edge] = []
    for peer, kind, name in ((False, "PCIe", "host memory"), (True, "NVLink", "NVLink bridge")):
        if peer and not peer_access:
            continue
        one_way, both, latency = machine.one_way(peer), machine.both_ways(peer), machine.latency(peer)
        shared = Link(f"{name}, both directions", both, 0.0, kind)
        for i, j in ((0, 1), (1, 0)):
            a, b = devices[i].name, devices[j].name
            if peer:
                edges.append(Edge(a, b, Link(f"{a} > {b}", float(one_way[i, j]), latency, kind), (shared,)))
            else:  # a staged copy: into host memory, then out of it, at the speed measured for this ordered pair
                up = Link(f"{a} > host", float(one_way[i, j]), latency / 2, kind)
                edges.append(Edge(a, "host", up, (shared,)))
                edges.append(Edge("host", a, Link(f"host > {a}", float(one_way[j, i]), latency / 2, kind)))
    state = "on" if peer_access else "off"
    return Topology(f"2 RTX A5000, peer access {state}", devices, edges)


def nvswitch_node(gpus: int = 8, bandwidth: float = 450 * GB) -> Topology:
    """One node of GPUs whose NVLinks all end in NVSwitches: any GPU talks to any other at full speed.

    Parameters
    ----------
    gpus : int
        From 1; machines of this kind are sold with 8.
    bandwidth : float
        B/s of each GPU into and out of the switch. Default: H100 SXM, 18 NVLinks of 25 GB/s per direction.

    Notes
    -----
    Sources: NVIDIA H100 data sheet (NVLink 900 GB/s, both directions summed; 3.35 TB/s; 80 GB; 989 TFLOP/s dense bf16).
    The latency, about 2 us from GPU to GPU, is typical and not specified.
    """
    _count("gpus", gpus)
    devices, edges = _nvlink_node(0, gpus, bandwidth)
    return Topology(f"{gpus} GPUs on NVSwitch", devices, edges)


def pcie_box(gpus: int = 4, per_switch: int = 2, bandwidth: float = 25 * GB) -> Topology:
    """A workstation without NVLink: GPUs in pairs under PCIe switches, each switch with one link up to the host.

    Two GPUs under one switch talk at full speed. As soon as both talk to GPUs under other switches, they share their
    switch's only uplink and each gets half.

    Parameters
    ----------
    gpus : int
        From 1.
    per_switch : int
        GPUs under each PCIe switch, from 1.
    bandwidth : float
        B/s and direction of each PCIe link. Default: PCIe 4.0 x16, which carries 31.5 GB/s on paper (16 GT/s, 16
        lanes, 128b/130b code) and about 25 GB/s in copies.

    Notes
    -----
    Latencies are typical: about 1.25 us a PCIe link. Device figures as in `a5000_pair`. Peer-to-peer copies through
    the host bridge are assumed to work, which not every board allows.
    """
    _count("gpus", gpus)
    _count("per_switch", per_switch)
    devices = tuple(Device(f"gpu{i}", 0, *A5000) for i in range(gpus))
    edges: list[Edge] = []
    for i, device in enumerate(devices):
        edges += both_ways(device.name, f"PCIe switch {i // per_switch}", bandwidth, PCIE_LATENCY, "PCIe")
    for switch in range((gpus + per_switch - 1) // per_switch):
        edges += both_ways(f"PCIe switch {switch}", "host", bandwidth, PCIE_LATENCY, "PCIe")
    return Topology(f"{gpus} GPUs in a PCIe box", devices, edges)


@lru_cache(maxsize=32)
def cluster(
    nodes: int,
    gpus_per_node: int = 8,
    nic_per_gpu: bool = False,
    nvlink: float = 450 * GB,
    nic: float = 50 * GB,
    latency: float = 5e-6,
) -> Topology:
    """Nodes of GPUs on NVSwitch, joined by a network that is several times slower.

    Ranks go node by node: rank r runs on GPU ``r % gpus_per_node`` of node ``r // gpus_per_node``. Use
    `Topology.reorder` to place them otherwise.

    Parameters
    ----------
    nodes, gpus_per_node : int
        From 1.
    nic_per_gpu : bool
        True: every GPU has its own network card. False: the GPUs of a node share one, so what leaves the node at the
        same time shares its bandwidth.
    nvlink : float
        B/s of each GPU into and out of its node's NVSwitch. Default: H100 SXM.
    nic : float
        B/s and direction of one network card. Default: 400 Gb/s, as ConnectX-7.
    latency : float
        Seconds from node to node, from card to card. About 5 us, typical for RDMA; the tuning table of one NCCL
        (src/graph/tuning.cc) assumes 2.7, 4.0 or 9.6 us a step of a ring, by protocol.

    Notes
    -----
    The network between the nodes never blocks; only cards limit it. A GPU reaches a shared card over its own PCIe 5.0
    x16 (about 50 GB/s, 1.5 us).
    """
    _count("nodes", nodes)
    _count("gpus_per_node", gpus_per_node)
    devices: list[Device] = []
    edges: list[Edge] = []
    for node in range(nodes):
        inside, wires = _nvlink_node(node, gpus_per_node, nvlink)
        devices += inside
        edges += wires
        if nodes == 1:
            continue
        if nic_per_gpu:
            for gpu in inside:
                edges += both_ways(gpu.name, "network", nic, latency / 2, "NIC")
        else:
            for gpu in inside:
                edges += both_ways(gpu.name, f"node{node} host", 50 * GB, 1.5e-6, "PCIe")
            edges += both_ways(f"node{node} host", "network", nic, latency / 2, "NIC")
    cards = "a NIC per GPU" if nic_per_gpu else "a NIC per node"
    return Topology(f"{nodes} nodes of {gpus_per_node} GPUs, {cards}", devices, edges)


def ethernet_pair(bandwidth: float = 1.25 * GB, latency: float = 30e-6) -> Topology:
    """Two machines with one GPU each and an Ethernet cable between them.

    Parameters
    ----------
    bandwidth : float
        B/s and direction. Default: 10 Gb/s.
    latency : float
        Seconds one way. About 30 us is typical of TCP on 10 Gb/s Ethernet.
    """
    devices = tuple(Device(f"node{i} gpu0", i, *A5000) for i in range(2))
    edges = both_ways(devices[0].name, devices[1].name, bandwidth, latency, "Ethernet")
    return Topology("2 machines on Ethernet", devices, edges)


def _nvlink_node(node: int, gpus: int, bandwidth: float) -> tuple[list[Device], list[Edge]]:
    devices = [Device(f"node{node} gpu{i}", node, *H100) for i in range(gpus)]
    edges: list[Edge] = []
    for device in devices:
        edges += both_ways(device.name, f"node{node} NVSwitch", bandwidth, NVSWITCH_LATENCY, "NVLink")
    return devices, edges


def _count(name: str, value: int) -> None:
    if value < 1:
        raise ValueError(f"{name} must be at least 1, not {value}")
