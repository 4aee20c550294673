"""The virtual machine of this process: devices, clock, limits, and what runs now. All state of the room is here."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from labs.kit.hardware import Topology, a5000_pair
from labs.kit.virtual.cuda.devices import Device


@dataclass(frozen=True, slots=True)
class Limits:
    """When a launch is ended, and whether it is watched.

    Parameters
    ----------
    turns : int
        Of one loop.
    seconds : float
        Of real time, for one launch.
    observe : bool
        Whether accesses are recorded: about half of the time of a launch goes into it.
    """

    turns: int = 1_000_000
    seconds: float = 60.0
    observe: bool = True


class Machine:
    """Virtual GPUs on one clock.

    Parameters
    ----------
    topology : Topology
        Its devices and links.
    limits : Limits
        For all launches.

    Attributes
    ----------
    now : float
        The host's time, in s.
    profiles : list
        Profiles that are open.
    lanes : Lanes or None
        What runs at this moment.
    pending : list
        Copies to the host that the host has not waited for.
    """

    def __init__(self, topology: Topology, limits: Limits | None = None):
        self.topology, self.limits = topology, limits or Limits()
        self.now, self.profiles, self.lanes, self.pending = 0.0, [], None, []
        self.devices = [Device(self, number, device) for number, device in enumerate(topology.devices)]
        self.current = 0
        self.stops, self.warps_take_turns = True, False

    def wait_until(self, time: float) -> None:
        """The host stands still until `time`; copies that have arrived by then become visible."""
        self.now = max(self.now, time)
        arrived = [copy for copy in self.pending if copy.time <= self.now]
        if arrived:
            self.pending = [copy for copy in self.pending if copy.time > self.now]
            for copy in arrived:
                copy.arrive()


_machines: list[Machine] = []


def machine() -> Machine:
    """The machine of this process: two RTX A5000 with an NVLink bridge, unless `virtual_machine` says otherwise."""
    if not _machines:
        _machines.append(Machine(a5000_pair()))
    return _machines[-1]


@contextlib.contextmanager
def virtual_machine(topology: Topology | None = None, *, limits: Limits | None = None) -> Iterator[Machine]:
    """A fresh virtual machine inside the ``with``: other devices, other limits, a clock at zero.

    Parameters
    ----------
    topology : Topology, optional
        For instance ``labs.kit.hardware.nvswitch_node(gpus=8)``; two RTX A5000 when left out.
    limits : Limits, optional
        For its launches.

    Yields
    ------
    Machine
        Arrays made inside belong to it.
    """
    fresh = Machine(topology or a5000_pair(), limits)
    _machines.append(fresh)
    try:
        yield fresh
    finally:
        _machines.remove(fresh)
