"""`work`: computation that costs virtual time."""

from __future__ import annotations

from math import isfinite

from labs.kit.virtual.messages import in_backward
from labs.kit.virtual.tasks import current_task


def work(seconds: float | None = None, *, flops: float | None = None, bytes: float | None = None, label: str = "work"):
    """Let the calling rank compute for a while.

    On virtual ranks the rank's clock goes on; elsewhere (on real ranks, outside of a run) nothing happens, so the same
    program serves both. Inside backward, in a gradient hook, the rank gets ahead of the other ranks' clock: what it
    starts there starts that much later, and its next waiting operation after backward first lets the clock catch up.

    Parameters
    ----------
    seconds : float, optional
        How long, in s.
    flops : float, optional
        Floating-point operations; cost `flops / device.flops` seconds on this rank's device.
    bytes : float, optional
        Bytes moved in the device's memory; cost `bytes / device.memory_bandwidth` seconds. With flops as well, the
        larger of the two counts (a roofline).
    label : str
        Name of the work in pictures.

    Raises
    ------
    ValueError
        For no quantity, or one that is negative or not finite.
    """
    if seconds is not None and (flops is not None or bytes is not None):
        raise ValueError("work: give seconds, or flops and bytes, not both")
    given = {k: v for k, v in {"seconds": seconds, "flops": flops, "bytes": bytes}.items() if v is not None}
    if not given:
        raise ValueError("work: how much? Give seconds=, flops= or bytes=")
    for name, value in given.items():
        if not (value >= 0 and isfinite(value)):
            raise ValueError(f"work: {name} must be a number from 0 up, not {value}")
    task = current_task()
    if task is None or task.engine.closing:
        return
    engine, rank = task.engine, task.rank
    if seconds is None:
        device = engine.topology.devices[rank]
        seconds = max((flops or 0) / device.flops if flops else 0.0, bytes / device.memory_bandwidth if bytes else 0.0)
    now = engine.clock.now + task.offset
    engine.record.work(rank, now, now + seconds, label)
    if in_backward() != -1:
        task.offset += seconds
        return
    task.offset += seconds
    engine.catch_up(task)
