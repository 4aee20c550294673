"""The roofline of lesson 06: when a matrix unit pays, in numbers of an A100."""

from __future__ import annotations

SMS, CLOCK = 108, 1.41e9
"""Multiprocessors and boost clock (Hz) of an A100: NVIDIA A100 whitepaper (2020), table 4."""
SCALAR = 2 * 64 * SMS * CLOCK
"""FLOP/s in float32: 64 scalar units a multiprocessor, a multiply-add each a clock."""
TENSOR = 2 * 1024 * SMS * CLOCK
"""FLOP/s, halves in, floats out: 1,024 multiply-adds a clock in the four tensor cores of a multiprocessor."""
BANDWIDTH = 1.555e12
"""B/s of the memory of the 40 GB A100 (the same table)."""

SHAPES = ("square", "16 columns", "1 column")


def intensity(M, N, K):
    """FLOP/B of a product: halves in, floats out, each matrix moved once."""
    return 2 * M * N * K / (2 * M * K + 2 * K * N + 4 * M * N)


def product_on_roofs(M, N, K, scalar=SCALAR, tensor=TENSOR, bandwidth=BANDWIDTH):
    """A product under the roofs of the scalar units and of the matrix unit: where it could be at best."""
    from labs.kit.draw import roofline

    at = intensity(M, N, K)
    points = {
        "on the matrix unit": (at, min(at * bandwidth, tensor)),
        "on the scalar units": (at, min(at * bandwidth, scalar)),
    }
    roofs = {"scalar units": scalar, "matrix unit": tensor}
    return roofline(points, flops=roofs, bandwidth=bandwidth, name=f"A product of {M} x {K} and {K} x {N} at best")


def your_kernel():
    """The learner's WMMA product, and blocks with larger tiles, where they could be at best if nothing was cached."""
    from labs.kit.draw import roofline

    points = {}
    for label, tile in (("yours: 16 x 16 tiles", 16), ("64 x 64 tiles", 64), ("128 x 128 tiles", 128)):
        at = 2 * tile * tile / (2 * 2 * tile)
        points[label] = (at, min(at * BANDWIDTH, TENSOR))
    points["each matrix once, 4096^3"] = (intensity(4096, 4096, 4096), TENSOR)
    roofs = {"scalar units": SCALAR, "matrix unit": TENSOR}
    return roofline(points, flops=roofs, bandwidth=BANDWIDTH, name="Products on an A100 at best, without caches")


def shape_of(shape, size):
    """M, N, K of a named shape."""
    return {"square": (size, size, size), "16 columns": (size, 16, size), "1 column": (size, 1, size)}[shape]


def explore_roofline():
    """Choose a shape and a size; see the product under both roofs."""
    from labs.kit.draw import explore

    frames = [{"shape": "square", "size": size} for size in (16, 64, 256, 1024, 4096)]
    frames += [{"shape": shape, "size": 4096} for shape in SHAPES[1:]]
    return explore(
        lambda shape, size: product_on_roofs(*shape_of(shape, int(size))),
        label="When does the matrix unit pay? (A100)",
        frames=frames,
        shape=list(SHAPES),
        size=[16, 32, 64, 128, 256, 512, 1024, 2048, 4096],
    )
