"""Why threads help, and when they stop helping: bytes on their way to and from memory."""

from __future__ import annotations

RESIDENT = 64 * 1536
"""Threads that an RTX A5000 holds at once: 64 multiprocessors (8,192 units, 128 in each) of 1,536 threads."""
LATENCY_NS = 500
"""An assumption: a read of memory takes a few hundred nanoseconds."""


def rate(threads, bytes_each, bandwidth, latency, resident=RESIDENT):
    """B/s that some threads can draw from memory.

    In any interval of length `latency`, the bytes that arrive are those that were on their way when it began (Little's
    law): at most `bytes_each` for each thread that is there.

    Parameters
    ----------
    threads : int
    bytes_each : int
        Bytes that a thread has on their way at a time.
    bandwidth : float
        B/s.
    latency : float
        s.
    resident : int
        Threads that the device holds at once; the others wait.
    """
    return min(bandwidth, min(threads, resident) * bytes_each / latency)


def explore_threads():
    """A slider for the latency, over the time of one division by the number of threads.

    Returns
    -------
    labs.kit.draw.Explorer
    """
    from labs.kit.draw import explore

    return explore(
        threads_picture,
        label="Are more threads faster?",
        latency_ns=[LATENCY_NS, 200, 300, 400, 600, 800],
        frames=[{}, {"latency_ns": 200}, {"latency_ns": 800}],
    )


def threads_picture(latency_ns=LATENCY_NS, pixels=64_000_000):
    """Draw the time that reading an image takes over the number of threads, for three widths of a load.

    Parameters
    ----------
    latency_ns : float
        From a load to its data.
    pixels : int
        Bytes that are read.

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import curves
    from labs.kit.hardware import a5000_pair

    bandwidth = a5000_pair().devices[0].memory_bandwidth
    threads = [1000 * 2**k for k in range(11)]
    lines = {
        f"{wide} B a load": (threads, [pixels / rate(n, wide, bandwidth, latency_ns * 1e-9) for n in threads])
        for wide in (1, 4, 8)
    }
    return curves(
        lines,
        xlabel="threads",
        ylabel="time (s)",
        logx=True,
        logy=True,
        marks=[(RESIDENT, f"{RESIDENT:,} fit at once")],
        name=f"Reading 64 MB on an RTX A5000, {latency_ns:g} ns from a load to its data",
    )


def launch_times(count=2_000_000):
    """When a launch of `gather` returns, and when its kernel is done.

    Parameters
    ----------
    count : int
        Pixels.

    Returns
    -------
    tuple of float
        Seconds after the call: on the virtual clock, or measured on a GPU.
    """
    from time import perf_counter

    import numpy as np

    from labs.first_kernels.given import gather
    from labs.kit.gpu import cuda, is_virtual, virtual_machine

    def one(clock):
        image = cuda.to_device(np.zeros(count, np.uint8))
        out = cuda.device_array_like(image)
        if not is_virtual():
            gather[-(-count // 256), 256](image, out, 1)  # compile first
            cuda.synchronize()
        begin = clock()
        gather[-(-count // 256), 256](image, out, 1)
        returned = clock()
        cuda.synchronize()
        return returned - begin, clock() - begin

    if not is_virtual():
        return one(perf_counter)
    with virtual_machine() as machine:
        return one(lambda: machine.now)
