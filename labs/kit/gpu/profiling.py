"""``with profile() as p:`` what the launches inside did, as plain data."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from labs.kit.gpu.choice import chosen, is_virtual

_REAL = (
    "This is a real GPU: it tells times and launch configurations. Sectors, bank conflicts and races are seen on the"
    " virtual"
    " device (set LABS_GPU=virtual before the first import)."
)


class Profile:
    """What was seen while it was open.

    Attributes
    ----------
    launches : list of Launch
        One for each launch, in order; see `labs.kit.virtual.cuda.findings.Launch`.
    copies : list of Copy
        Copies on the virtual clock; empty on a real device.
    host_findings : list of Finding
        What concerns the host: arrays that were read before the device had filled them.
    virtual : bool
        Whether this was the virtual device.
    note : str
        What cannot be seen here; "" on the virtual device.
    """

    def __init__(self, virtual: bool):
        self.launches, self.copies, self.host_findings = [], [], []
        self.virtual, self.note = virtual, "" if virtual else _REAL

    @property
    def findings(self) -> list:
        """All findings of all launches, then those of the host."""
        return [finding for launch in self.launches for finding in launch.findings] + self.host_findings

    @property
    def races(self) -> list:
        """The findings that are races."""
        return [finding for launch in self.launches for finding in launch.races]

    @property
    def lines(self) -> list:
        """Traffic by line, of all launches."""
        return [line for launch in self.launches for line in launch.lines]

    @property
    def seconds(self) -> float:
        """Sum over the launches, in s (they may have overlapped)."""
        return sum(launch.seconds for launch in self.launches)

    def traffic(self, array: str, op: str = "load"):
        """The one line that does `op` to `array`, when one launch was seen; see `Launch.traffic`."""
        if len(self.launches) != 1:
            raise ValueError(f"{len(self.launches)} launches were seen, not one: ask p.launches[i].traffic(...)")
        return self.launches[0].traffic(array, op)

    def as_data(self) -> dict:
        """Plain data, at any depth."""
        from dataclasses import asdict

        return {
            "virtual": self.virtual,
            "launches": [launch.as_data() for launch in self.launches],
            "copies": [asdict(copy) for copy in self.copies],
            "host_findings": [asdict(finding) for finding in self.host_findings],
        }

    def __repr__(self):
        if not self.launches:
            return "<profile: no launch>"
        rows = [_row(launch) for launch in self.launches]
        return "\n".join([*rows, *filter(None, [self.note])])


def _row(launch) -> str:
    text = f"{launch.kernel} {launch.grid} x {launch.block}: {launch.seconds * 1e6:.4g} µs"
    if launch.observed:
        text += f", {launch.bytes:,} B moved, {len(launch.findings)} findings"
    return text


@contextlib.contextmanager
def profile(*, stop: bool = True, warps_take_turns: bool = False) -> Iterator[Profile]:
    """Watch the launches inside the ``with``.

    Parameters
    ----------
    stop : bool
        Whether a fault (an index out of bounds, a divergent barrier) ends its launch with an exception. Without, it
        becomes a finding, and the thread goes on without that access. Virtual device only.
    warps_take_turns : bool
        Whether each warp runs until its next barrier before the next one starts, as on hardware, so that a missing
        barrier gives wrong results. Otherwise all warps of a block run in step, which is quicker. Virtual device only.

    Yields
    ------
    Profile
        Filled as launches end. On a real device with times and configurations only; ``p.note`` says so.
    """
    if not is_virtual():
        from labs.kit.gpu.timed import timed_launches

        seen = Profile(virtual=False)
        with timed_launches(chosen(), seen.launches):
            yield seen
        return
    from labs.kit.virtual.cuda import machine

    here, seen = machine(), Profile(virtual=True)
    before = here.stops, here.warps_take_turns
    here.stops, here.warps_take_turns = stop, warps_take_turns
    here.profiles.append(seen)
    try:
        yield seen
    finally:
        here.profiles.remove(seen)
        here.stops, here.warps_take_turns = before
