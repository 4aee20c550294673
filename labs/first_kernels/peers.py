"""Rows from device to device: over their own wire, or through the memory of the host."""

from __future__ import annotations


def two_ways(nbytes=4_000_000):
    """Seconds for rows to get from device 0 to device 1 on two virtual RTX A5000 with an NVLink bridge.

    Parameters
    ----------
    nbytes : int

    Returns
    -------
    dict of str to float
    """
    import numpy as np

    from labs.kit.hardware import a5000_pair
    from labs.kit.virtual.cuda import cuda, virtual_machine

    def peer(rows):
        cuda.select_device(1)
        copy = cuda.device_array(rows.shape, rows.dtype)
        copy.copy_to_device(rows)

    def through_the_host(rows):
        host = rows.copy_to_host()
        cuda.select_device(1)
        cuda.to_device(host)

    times = {}
    for name, way in (("from device to device", peer), ("through the host", through_the_host)):
        with virtual_machine(a5000_pair()) as machine:
            cuda.select_device(0)
            rows = cuda.to_device(np.zeros(nbytes, np.uint8))
            begin = machine.now
            way(rows)
            for device in machine.devices:
                device.synchronize()
            times[name] = machine.now - begin
    return times
