"""Transfers on shared wires: every wire's bandwidth is divided max-min fairly among the transfers on it.

A transfer needs `latency + nbytes / rate` seconds. While it is alone on every wire of its route, its rate is that of
the slowest wire and its end is known at once: one event, no bookkeeping. As soon as a second transfer comes onto one of
its wires both become *shared*: their rates are found by progressive filling (Bertsekas and Gallager, Data Networks,
section 6.5.2) and change whenever a transfer joins or leaves.

The latency follows the bytes and does not occupy the wires.
"""

from __future__ import annotations

import heapq
from math import inf

ARRIVED = inf  # the `due` of a transfer that has arrived
NOT_STARTED = -1.0
_ROUTES_KEPT = 100_000  # routes are forgotten and found again beyond this many pairs, to bound memory


class Wire:
    """A link's state during a run."""

    __slots__ = ("alone", "bandwidth", "busy", "transfers")

    def __init__(self, bandwidth: float):
        self.bandwidth = bandwidth
        self.busy = 0.0  # until when somebody uses the wire; infinite while it is shared
        self.alone = None  # the last transfer that had the wire to itself (over once its .finish is past)
        self.transfers: dict = {}  # the transfers that share the wire, in order of arrival (a dict: an ordered set)


class Transfer:
    """Bytes on their way. Subclasses have an `engine` and say what happens on arrival (`arrived`).

    `route` is (latency, bandwidth of the slowest wire, wires); `due` the time of the transfer's next event;
    `finish` when its last byte leaves the wires. For shared transfers, `remaining` bytes were left at time `since`,
    and go at `rate`.
    """

    __slots__ = ("due", "finish", "nbytes", "rate", "remaining", "route", "shared", "since", "start")
    weights = None  # or a dict: how many streams of this transfer's rate each wire carries (a ring step is many)

    def fire(self, time: float) -> None:
        if self.due != time:
            return  # an outdated event: the rate has changed since
        if self.shared:
            self.engine.network.last_byte(self)
        else:
            self.due = ARRIVED
            self.arrived()

    def arrived(self) -> None:
        raise NotImplementedError


class Network:
    """All wires of a topology, and the transfers on them.

    Parameters
    ----------
    clock : Clock
    topology : Topology
        Anything with `route(source, target) -> Route`.
    """

    def __init__(self, clock, topology):
        self.clock, self.topology, self.world_size = clock, topology, topology.world_size
        self.wires: dict[str, Wire] = {}
        self.routes: dict[int, tuple] = {}  # source * world_size + target -> route
        self.touched: dict[Wire, None] = {}  # wires on which a transfer started or ended at this instant

    def route(self, source: int, target: int) -> tuple:
        """(latency, slowest bandwidth, wires) from one rank to another."""
        route = self.routes.get(source * self.world_size + target)
        if route is None:
            found = self.topology.route(source, target)
            wires = list(dict.fromkeys(self.wire(link.name, link.bandwidth) for link in found.links))
            if len(self.routes) > _ROUTES_KEPT:
                self.routes.clear()
            slowest = min((wire.bandwidth for wire in wires), default=inf)
            route = self.routes[source * self.world_size + target] = (found.latency, slowest, wires)
        return route

    def wire(self, name: str, bandwidth: float) -> Wire:
        wire = self.wires.get(name)
        if wire is None:
            wire = self.wires[name] = Wire(bandwidth)
        return wire

    def begin(self, transfer: Transfer) -> None:
        """Start a transfer now. Without a `route` of its own it goes from its `rank` to its `peer`."""
        clock = self.clock
        now = clock.now
        route = transfer.route
        if route is None:
            source, target = transfer.rank, transfer.peer
            route = self.routes.get(source * self.world_size + target) or self.route(source, target)
            transfer.route = route
        latency, bandwidth, wires = route
        transfer.start, transfer.shared = now, False
        if transfer.nbytes:
            for wire in wires:
                if wire.busy > now:
                    self.share(transfer, wires)
                    return
            transfer.finish = finish = now + transfer.nbytes / bandwidth
            for wire in wires:
                wire.alone = transfer
                wire.busy = finish
            time = transfer.due = finish + latency
        else:
            time = transfer.finish = transfer.due = now + latency
        bucket = clock.buckets.get(time)  # clock.at(time, transfer), written out: this runs for every message
        if bucket is None:
            clock.buckets[time] = [transfer]
            heapq.heappush(clock.times, time)
        else:
            bucket.append(transfer)

    def share(self, transfer: Transfer, wires: list[Wire]) -> None:
        """Put a transfer on wires that others use. Whoever had one of them alone becomes a sharing transfer, too."""
        now, touched = self.clock.now, self.touched
        for wire in wires:
            other = wire.alone
            if other is not None:
                if other.finish > now:
                    other.shared, other.rate, other.since = True, 0.0, now
                    other.remaining = other.nbytes - other.route[1] * (now - other.start)
                    for its in other.route[2]:
                        its.alone = None
                        its.busy = inf
                        its.transfers[other] = None
                        touched[its] = None
                wire.alone = None
        transfer.shared, transfer.rate, transfer.since = True, 0.0, now
        transfer.remaining = float(transfer.nbytes)
        transfer.finish, transfer.due = inf, 0.0
        for wire in wires:
            wire.busy = inf
            wire.transfers[transfer] = None
            touched[wire] = None

    def settle(self) -> None:
        """Give new fair rates to all transfers connected with a touched wire. Called once an instant."""
        wires, rates = self.touched, {}
        self.touched = {}
        stack = list(wires)
        while stack:  # everything that shares wires with a transfer on a touched wire, and so on
            for transfer in stack.pop().transfers:
                if transfer not in rates:
                    rates[transfer] = 0.0
                    for wire in transfer.route[2]:
                        if wire not in wires:
                            wires[wire] = None
                            stack.append(wire)
        self._fill(wires, rates)
        now, clock = self.clock.now, self.clock
        for transfer, rate in rates.items():
            if rate != transfer.rate:
                left = transfer.remaining - transfer.rate * (now - transfer.since)
                transfer.remaining = left if left > 0.0 else 0.0
                transfer.rate, transfer.since = rate, now
                transfer.finish = transfer.due = now + transfer.remaining / rate
                clock.at(transfer.due, transfer)

    @staticmethod
    def _fill(wires, rates: dict) -> None:
        """Progressive filling: again and again the tightest wires fix the rate of their transfers."""
        left = {wire: wire.bandwidth for wire in wires}
        count = {wire: sum(t.weights[wire] if t.weights else 1 for t in wire.transfers) for wire in wires}
        open_transfers = dict.fromkeys(rates)
        while open_transfers:
            share = min(left[wire] / c for wire, c in count.items() if c)
            limit = share * (1 + 1e-12)  # wires that are equally tight up to rounding are filled together
            for wire in wires:
                if count[wire] and left[wire] / count[wire] <= limit:
                    for transfer in wire.transfers:
                        if transfer in open_transfers:
                            del open_transfers[transfer]
                            rates[transfer] = share
                            weights = transfer.weights
                            for its in transfer.route[2]:
                                streams = weights[its] if weights else 1
                                left[its] -= share * streams
                                count[its] -= streams

    def last_byte(self, transfer: Transfer) -> None:
        """A sharing transfer leaves its wires; its latency follows."""
        for wire in transfer.route[2]:
            del wire.transfers[transfer]
            if not wire.transfers:
                wire.busy = 0.0
            self.touched[wire] = None
        transfer.shared = False
        transfer.due = self.clock.now + transfer.route[0]
        self.clock.at(transfer.due, transfer)
