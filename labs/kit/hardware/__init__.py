"""Devices, links, topologies, measured machines, and what collectives cost on them."""

from labs.kit.hardware.graph import Edge, Link, Network, Route, both_ways
from labs.kit.hardware.measured import ReferenceMachine, reference_machine
from labs.kit.hardware.presets import a5000_pair, cluster, ethernet_pair, nvswitch_node, pcie_box, uniform
from labs.kit.hardware.topology import Device, Topology

__all__ = [
    "Device",
    "Edge",
    "Link",
    "Network",
    "ReferenceMachine",
    "Route",
    "Topology",
    "a5000_pair",
    "both_ways",
    "cluster",
    "ethernet_pair",
    "nvswitch_node",
    "pcie_box",
    "reference_machine",
    "uniform",
]
