"""Links, routes, and the graph in which routes are found."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from math import fsum, inf, isfinite


@dataclass(frozen=True, slots=True)
class Link:
    """One direction of one wire. Two messages on it at the same time share its bandwidth.

    Parameters
    ----------
    name : str
        Identifies the wire: links with equal names are the same wire, wherever they appear.
    bandwidth : float
        Bytes per second in this direction, > 0.
    latency : float
        Seconds that this wire adds to the route of a message, >= 0.
    kind : str
        What it is made of ("NVLink", "PCIe", "NIC", ...); only for pictures.
    """

    name: str
    bandwidth: float
    latency: float = 0.0
    kind: str = ""

    def __post_init__(self):
        if not (self.bandwidth > 0 and isfinite(self.bandwidth)):
            raise ValueError(f"link {self.name!r}: the bandwidth must be positive, in B/s, not {self.bandwidth}")
        if not (self.latency >= 0 and isfinite(self.latency)):
            raise ValueError(f"link {self.name!r}: the latency must be 0 or more seconds, not {self.latency}")


@dataclass(frozen=True, slots=True)
class Edge:
    """A directed connection between two named points (devices or switches): what a picture draws as one arrow.

    Parameters
    ----------
    source, target : str
        Names of the points. A name that is no device's is a switch.
    link : Link
        The wire in this direction.
    shared : tuple of Link
        Further wires that a message on this edge occupies too, for instance a memory bus that serves both directions.
    """

    source: str
    target: str
    link: Link
    shared: tuple[Link, ...] = ()

    @property
    def links(self) -> tuple[Link, ...]:
        """All wires that a message on this edge occupies."""
        return (self.link, *self.shared)


@dataclass(frozen=True, slots=True)
class Route:
    """The way of a message from one device to another.

    A message of ``nbytes`` that is alone on its route takes ``latency + nbytes / bandwidth`` seconds; otherwise the
    fair share of its slowest link takes the place of ``bandwidth``.

    Parameters
    ----------
    latency : float
        Seconds, the sum over the links.
    links : tuple of Link
        In the order in which they are passed. Empty from a device to itself.
    """

    latency: float
    links: tuple[Link, ...]

    @property
    def bandwidth(self) -> float:
        """Bytes per second of the slowest link (infinite without links)."""
        return min((link.bandwidth for link in self.links), default=inf)

    def time(self, nbytes: float) -> float:
        """Seconds for one message of `nbytes` that shares no link with another."""
        return self.latency + nbytes / self.bandwidth


def both_ways(a: str, b: str, bandwidth: float, latency: float = 0.0, kind: str = "", shared=()) -> tuple[Edge, Edge]:
    """Two edges, from `a` to `b` and back, each with its own wire of `bandwidth` B/s (a full-duplex cable)."""
    return (
        Edge(a, b, Link(f"{a} > {b}", bandwidth, latency, kind), tuple(shared)),
        Edge(b, a, Link(f"{b} > {a}", bandwidth, latency, kind), tuple(shared)),
    )


class Network:
    """A graph of devices and switches that knows the quickest route between two devices.

    The quickest route is the one of the smallest latency; of those the one with the fewest edges; of those the one
    with the most bandwidth. Devices begin and end routes but never forward: a GPU does not pass on the messages of
    its neighbours. So a route is: out of the source, through switches, into the destination, and only the switches
    need a search. Its result is kept for each switch, which makes the route of a pair quick to assemble however many
    devices there are.

    Parameters
    ----------
    devices : iterable of str
        Names of the devices, all different.
    edges : iterable of Edge
        At most one from one point to another.

    Raises
    ------
    ValueError
        For two devices of one name, two edges between the same points in one direction, an edge from a point to
        itself, or two different links of one name.
    """

    def __init__(self, devices: Iterable[str], edges: Iterable[Edge]):
        self.devices = tuple(devices)
        self.edges = tuple(edges)
        names = set(self.devices)
        if len(names) < len(self.devices):
            twice = next(name for name in self.devices if self.devices.count(name) > 1)
            raise ValueError(f"two devices are called {twice!r}; every device needs a name of its own")
        self._direct: dict[tuple[str, str], Edge] = {}
        self._out: dict[str, list[Edge]] = {}
        self._into: dict[str, list[Edge]] = {}
        self._between: dict[str, list[Edge]] = {}
        self._found: dict[str, dict[str, tuple[float, tuple[Edge, ...]]]] = {}
        wires: dict[str, Link] = {}
        for edge in self.edges:
            a, b = edge.source, edge.target
            if a == b:
                raise ValueError(f"an edge leads from {a!r} to itself")
            if (a, b) in self._direct:
                raise ValueError(f"two edges lead from {a!r} to {b!r}; give one edge the bandwidth of both")
            self._direct[a, b] = edge
            for link in edge.links:
                if (known := wires.setdefault(link.name, link)) is not link and known != link:
                    raise ValueError(f"two different links are called {link.name!r}: {known} and {link}")
            if a in names:
                if b not in names:
                    self._out.setdefault(a, []).append(edge)
            elif b in names:
                self._into.setdefault(b, []).append(edge)
            else:
                self._between.setdefault(a, []).append(edge)

    @property
    def switches(self) -> tuple[str, ...]:
        """Names of the points that are no device, in the order in which the edges mention them."""
        devices = set(self.devices)
        points = dict.fromkeys(name for edge in self.edges for name in (edge.source, edge.target))
        return tuple(name for name in points if name not in devices)

    def route(self, source: str, target: str) -> Route:
        """The quickest route from one device to another.

        Raises
        ------
        ValueError
            When no path leads there.
        """
        if source == target:
            return Route(0.0, ())
        best = None
        if edge := self._direct.get((source, target)):
            best = _rated((edge,))
        for first in self._out.get(source, ()):
            for last in self._into.get(target, ()):
                middle = self._paths(first.target).get(last.source)
                if middle is not None:
                    rated = _rated((first, *middle[1], last))
                    if best is None or rated[0] < best[0]:
                        best = rated
        if best is None:
            raise ValueError(f"no path leads from {source!r} to {target!r}: they share no link and no switch")
        return best[1]

    def _paths(self, start: str) -> dict[str, tuple[float, tuple[Edge, ...]]]:
        """Quickest way from switch `start` to every switch that it reaches (Dijkstra's algorithm, once a switch)."""
        found = self._found.get(start)
        if found is not None:
            return found
        found = {}
        order = 0  # breaks ties in favour of the edge that was declared first, so that routes are reproducible
        queue: list = [(0.0, 0, -inf, order, start, ())]
        while queue:
            latency, hops, narrow, _, point, path = heapq.heappop(queue)
            if point in found:
                continue
            found[point] = latency, path
            for edge in self._between.get(point, ()):
                if edge.target not in found:
                    order += 1
                    step = fsum(link.latency for link in edge.links)
                    width = max(narrow, -min(link.bandwidth for link in edge.links))
                    heapq.heappush(queue, (latency + step, hops + 1, width, order, edge.target, (*path, edge)))
        self._found[start] = found
        return found


def _rated(path: tuple[Edge, ...]) -> tuple[tuple[float, int, float], Route]:
    """The route along `path`, and the key by which routes are compared (smaller is better)."""
    links = tuple(link for edge in path for link in edge.links)
    # fsum is exact before it rounds once, so a route and its way back get the same latency to the last digit.
    route = Route(fsum(link.latency for link in links), links)
    return (route.latency, len(path), -route.bandwidth), route
