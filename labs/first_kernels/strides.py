"""A warp's 32 addresses, and what they cost, as the stride changes."""

from __future__ import annotations

WARP, SECTOR = 32, 32


def addresses(stride, itemsize, start=0):
    """The byte at which each lane's element begins.

    Parameters
    ----------
    stride : int
        Elements from one lane's element to the next one's.
    itemsize : int
        Bytes of an element.
    start : int
        Byte of the first lane's element.
    """
    return [start + lane * stride * itemsize for lane in range(WARP)]


def sectors_per_warp(stride, itemsize, start=0):
    """How many sectors of 32 bytes one request of a warp touches."""
    first = addresses(stride, itemsize, start)
    return len({byte // SECTOR for address in first for byte in (address, address + itemsize - 1)})


def explore_addresses():
    """Sliders for stride, element size and start, over the picture of a warp's request.

    Returns
    -------
    labs.kit.draw.Explorer
    """
    from labs.kit.draw import explore, warp_addresses

    def picture(stride, bytes_each, start):
        asked = addresses(stride, bytes_each, start)
        return warp_addresses(asked, bytes_each, name="A warp's request", array="image")

    return explore(
        picture,
        label="The 32 addresses of a warp",
        stride=(0, 40, 1, 1),
        bytes_each=[1, 4, 8],
        start=(0, 31, 1, 0),
        frames=[
            {},
            {"stride": 2},
            {"stride": 8},
            {"stride": 32},
            {"start": 5},
            {"bytes_each": 4},
            {"bytes_each": 4, "stride": 8},
            {"bytes_each": 8},
            {"stride": 0},
        ],
    )


def explore_banks():
    """A slider for the words between neighbours in shared memory, over the picture of the banks that a warp wants.

    Returns
    -------
    labs.kit.draw.Explorer
    """
    from labs.kit.draw import banks, explore

    def picture(words_apart):
        asked = addresses(words_apart, 4)
        return banks(asked, 4, name=f"32 threads, neighbours {words_apart} words apart")

    return explore(
        picture,
        label="A warp in shared memory",
        words_apart=(0, 40, 1, 1),
        frames=[{"words_apart": words} for words in (1, 0, 2, 4, 16, 32, 33)],
    )


def sweep(stride, count=4096):
    """Run `gather` with a stride and watch it.

    Parameters
    ----------
    stride : int
    count : int
        Pixels that are read, and written.

    Returns
    -------
    labs.kit.virtual.cuda.findings.Launch
    """
    import numpy as np

    from labs.first_kernels.given import gather
    from labs.kit.gpu import cuda, profile

    x, out = cuda.to_device(np.zeros(count * stride, np.uint8)), cuda.device_array(count, np.uint8)
    with profile() as seen:
        gather[count // 256, 256](x, out, stride)
    return seen.launches[0]
