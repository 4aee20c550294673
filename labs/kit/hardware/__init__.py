"""Devices, links, topologies, measured machines, and what collectives cost on them."""

from labs.kit.hardware import costs
from labs.kit.hardware.discovered import parse_topo
from labs.kit.hardware.graph import Edge, Link, Network, Route, both_ways
from labs.kit.hardware.measured import ReferenceMachine, reference_machine
from labs.kit.hardware.presets import a5000_pair, cluster, ethernet_pair, nvswitch_node, pcie_box, uniform
from labs.kit.hardware.smi import TopoFormatError, TopoMatrix, parse_topo_matrix
from labs.kit.hardware.topology import Device, Topology

__all__ = [
    "Device",
    "Edge",
    "Link",
    "Network",
    "ReferenceMachine",
    "Route",
    "TopoFormatError",
    "TopoMatrix",
    "Topology",
    "a5000_pair",
    "both_ways",
    "cluster",
    "costs",
    "ethernet_pair",
    "nvswitch_node",
    "parse_topo",
    "parse_topo_matrix",
    "pcie_box",
    "reference_machine",
    "uniform",
]
