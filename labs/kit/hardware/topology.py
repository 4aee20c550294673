"""Devices and the topology that connects them: which rank runs where, and how a message gets from rank to rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from labs.kit.hardware.graph import Edge, Network, Route


@dataclass(frozen=True, slots=True)
class Device:
    """One processor with its own memory, on which one rank runs.

    The defaults describe no product: they are round numbers of a present-day data-centre GPU, good for mental
    arithmetic. The presets name real devices.

    Parameters
    ----------
    name : str
        Unique in its topology, for instance "node0 gpu3".
    node : int
        The machine that holds it.
    flops : float
        Peak floating-point operations per second for the dtype that the preset names.
    memory_bandwidth : float
        Bytes per second between the device and its memory, reading and writing together.
    memory : float
        Bytes.
    """

    name: str
    node: int = 0
    flops: float = 100e12
    memory_bandwidth: float = 2e12
    memory: float = 40e9


class Topology:
    """Ranks on devices, and the network between the devices. Never changes once made.

    Parameters
    ----------
    name : str
        For pictures and messages.
    devices : sequence of Device
        Rank i runs on ``devices[i]``.
    edges : iterable of Edge
        The network: see `labs.kit.hardware.graph.Network` for the rules. Every name that is no device's is a switch.

    Raises
    ------
    ValueError
        When there is no device, when a device is connected in one direction only or not at all, or when the edges
        break a rule of `Network`.

    Examples
    --------
    >>> from labs.kit.hardware import uniform
    >>> route = uniform(4, latency=5e-6, bandwidth=50e9).route(0, 3)
    >>> route.latency, route.bandwidth
    (5e-06, 50000000000.0)
    """

    def __init__(self, name: str, devices: Sequence[Device], edges: Iterable[Edge]):
        self.name = name
        self.devices = tuple(devices)
        if not self.devices:
            raise ValueError(f"topology {name!r} has no device; it needs at least one")
        self._names = tuple(device.name for device in self.devices)
        self._network = Network(self._names, edges)
        if len(self.devices) > 1:
            leaves = {edge.source for edge in self._network.edges}
            enters = {edge.target for edge in self._network.edges}
            for device in self._names:
                for points, missing in ((leaves, "leaves"), (enters, "leads to")):
                    if device not in points:
                        raise ValueError(f"topology {name!r}: no link {missing} device {device!r}")

    def __repr__(self) -> str:
        return f"<Topology {self.name!r}: {self.world_size} ranks on {len(self.nodes)} nodes>"

    @property
    def world_size(self) -> int:
        """The number of ranks, one for each device."""
        return len(self.devices)

    @property
    def nodes(self) -> tuple[int, ...]:
        """The machines, in the order in which the ranks visit them."""
        return tuple(dict.fromkeys(device.node for device in self.devices))

    @property
    def switches(self) -> tuple[str, ...]:
        """Names of the points of the network that are no device."""
        return self._network.switches

    def links(self) -> tuple[Edge, ...]:
        """Every directed connection of the network, as (source, target, link): what a picture draws."""
        return self._network.edges

    def node_of(self, rank: int) -> int:
        """The machine on which `rank` runs."""
        self._check(rank)
        return self.devices[rank].node

    def route(self, src: int, dst: int) -> Route:
        """The quickest way for a message from rank `src` to rank `dst`.

        Returns
        -------
        Route
            With the smallest latency, then the fewest hops, then the most bandwidth. From a rank to itself: no link
            and no latency.

        Raises
        ------
        ValueError
            When a rank does not exist, or when no path leads there.
        """
        names = self._names
        if not (0 <= src < len(names) and 0 <= dst < len(names)):
            self._check(src)
            self._check(dst)
        return self._network.route(names[src], names[dst])

    def reorder(self, order: Sequence[int]) -> Topology:
        """The same machine with its ranks placed in another order.

        Parameters
        ----------
        order : sequence of int
            New rank i runs on the device of old rank ``order[i]``; each old rank once.

        Raises
        ------
        ValueError
            When `order` is not a permutation of the ranks: says which ranks are missing or come twice.
        """
        order = [int(rank) for rank in order]
        counts, ranks = Counter(order), range(self.world_size)
        missing = [rank for rank in ranks if not counts[rank]]
        wrong = [rank for rank, count in counts.items() if count > 1 or rank not in ranks]
        if missing or wrong:
            raise ValueError(
                f"an order of {self.world_size} ranks names each of 0..{self.world_size - 1} once; "
                f"missing: {_some(missing)}; twice or unknown: {_some(wrong)}"
            )
        moved = object.__new__(Topology)
        moved.name = self.name
        moved.devices = tuple(self.devices[rank] for rank in order)
        moved._names = tuple(device.name for device in moved.devices)
        moved._network = self._network  # the wires do not move, nor do the routes that were found already
        return moved

    def bandwidth_matrix(self) -> np.ndarray:
        """Bytes per second of every route: float64 (world_size, world_size), row = source, infinite on the diagonal."""
        return self._matrix(lambda route: route.bandwidth)

    def latency_matrix(self) -> np.ndarray:
        """Seconds of latency of every route: float64 (world_size, world_size), row = source, 0 on the diagonal."""
        return self._matrix(lambda route: route.latency)

    def _matrix(self, value) -> np.ndarray:
        ranks = range(self.world_size)
        return np.array([[value(self.route(src, dst)) for dst in ranks] for src in ranks], dtype=np.float64)

    def _check(self, rank: int) -> None:
        if not 0 <= rank < self.world_size:
            raise ValueError(f"there is no rank {rank}: {self.name!r} has ranks 0..{self.world_size - 1}")


def _some(values: list, most: int = 8) -> str:
    """The first few of `values` as text, "none" for an empty list."""
    if not values:
        return "none"
    return ", ".join(map(str, values[:most])) + (f" and {len(values) - most} more" if len(values) > most else "")
