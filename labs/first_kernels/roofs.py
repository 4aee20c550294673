"""Bytes and operations of the learner's own kernels, and where these stand under the roof of a device."""

from __future__ import annotations


def watched(program):
    """The first launch of a program as plain data; None when it is not solved, does not run, or cannot be watched."""
    from labs.kit.gpu import outcome

    try:
        output = outcome(program, hazards="report")
    except Exception:  # an answer may fail in any way
        return None
    if not output.get("launches") or not output["launches"][0]["lines"]:
        return None
    return output["launches"][0]


def launches(divide, block_sum, tiled_product):
    """One launch of each of the three kernels of the core.

    Parameters
    ----------
    divide, block_sum, tiled_product : kernels
        The learner's.

    Returns
    -------
    dict of str to (int, int)
        Operations and bytes, of those that run: a division of a pixel counts as one operation, an addition of a block
        sum as one.
    """
    import numpy as np

    from labs.kit.gpu import cuda

    def division():
        image = cuda.to_device(np.full(65_536, 9, np.uint8))
        divide[64, 256](image, cuda.device_array_like(image), 3)

    def summation():
        block_sum[64, 256](cuda.to_device(np.ones(64 * 256, np.float32)), cuda.device_array(64, np.float32))

    def product():
        A, B = (cuda.to_device(np.ones(shape, np.float32)) for shape in ((16, 256), (256, 16)))
        tiled_product[1, (16, 16)](A, B, cuda.device_array((16, 16), np.float32))

    found = {}
    for name, program, counted in (
        ("divide", division, 65_536),
        ("block_sum", summation, None),
        ("tiled_product", product, None),
    ):
        launch = watched(program)
        if launch and launch["bytes"]:
            operations = counted or sum(launch["flops"].values())
            if operations:
                found[name] = operations, launch["bytes"]
    return found


def roof(divide, block_sum, tiled_product):
    """Draw the three kernels under the roof of an RTX A5000.

    Parameters
    ----------
    divide, block_sum, tiled_product : kernels
        The learner's.

    Returns
    -------
    labs.kit.draw.Picture or None
        None, with a sentence printed, when there is nothing to draw.
    """
    from labs.kit.draw import roofline
    from labs.kit.gpu import is_virtual
    from labs.kit.hardware import a5000_pair

    if not is_virtual():
        print("A GPU does not say how many bytes a kernel moves. Set LABS_GPU=virtual and restart to draw this.")
        return None
    found = launches(divide, block_sum, tiled_product)
    if not found:
        print("Solve divide first: then this cell draws your kernels.")
        return None
    device = a5000_pair().devices[0]
    return roofline(
        {name: (operations / nbytes, None) for name, (operations, nbytes) in found.items()},
        flops={"float32": device.flops},
        bandwidth={"memory": device.memory_bandwidth},
        name="Your kernels under the roof of an RTX A5000",
    )


def product_bytes(kernel, inner=256):
    """Bytes that one block moves for a product of 16 x inner and inner x 16, and how many it needs at least.

    Parameters
    ----------
    kernel : kernel
        ``kernel[1, (16, 16)](A, B, C)``.
    inner : int

    Returns
    -------
    (int, int) or None
        Numbers of 4 bytes that threads asked global memory for, and bytes that crossed; None when it cannot be watched.
    """
    import numpy as np

    from labs.kit.gpu import cuda

    def program():
        A, B = (cuda.to_device(np.ones(shape, np.float32)) for shape in ((16, inner), (inner, 16)))
        kernel[1, (16, 16)](A, B, cuda.device_array((16, 16), np.float32))

    launch = watched(program)
    if launch is None:
        return None
    loads = [line for line in launch["lines"] if (line["op"], line["space"]) == ("load", "global")]
    return sum(line["accesses"] for line in loads), launch["bytes"]
