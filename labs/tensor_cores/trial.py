"""Kernels run and timed for the lesson's cells."""

from __future__ import annotations

import numpy as np

SIZE, RUNS = 4096, 7


def broken(blocks):
    """Run the kernel with the one-block strides on `blocks` x `blocks` blocks; a picture of what it leaves."""
    from labs.kit.gpu import compile_cuda
    from labs.kit.native.failures import NoCompiler
    from labs.tensor_cores import kernels
    from labs.tensor_cores.pictures import result

    try:
        kernel = compile_cuda(kernels.ONE_BLOCK, races=False)
    except NoCompiler as missing:
        print(missing)
        return None
    c, want = left_by(kernel, blocks, blocks)
    right, missing = (c == want).sum(), np.isnan(c).sum()
    print(f"{blocks * blocks} block{'s' * (blocks > 1)}: {right} of {c.size} right, {missing} never written")
    return result(c, want, name=f"C after a launch of {blocks} x {blocks} blocks")


def left_by(kernel, down, across):
    """C as `kernel` leaves it on down x across blocks (NaN where it writes nothing), and the product."""
    rng = np.random.default_rng(6)
    shapes = (16 * down, 16 * across), (16 * across, 16 * across)
    a, b = (rng.integers(-60, 61, shape).astype(np.float16) for shape in shapes)
    c = np.full(a.shape, np.nan, np.float32)
    kernel[(across, down), (16, 16)](a, b, c)
    return c, a.astype(np.float32) @ b.astype(np.float32)


def measure(tiled, wmma):
    """Time both kernels and cuBLAS on the GPU, and put them under its roofs; without a GPU, say what is missed.

    Returns
    -------
    labs.kit.draw.Picture or None
    """
    if getattr(wmma, "unsolved", False) or getattr(tiled, "unsolved", False):
        print("Solve tiled_grid and wmma_product first: then this cell times them.")
        return None
    if getattr(wmma, "where", "") != "gpu" or getattr(tiled, "where", "") != "gpu":
        print(
            "No GPU here, so nothing is timed: on the CPU your kernels run thread by thread, which says nothing about\n"
            "a tensor core. On a machine with an NVIDIA GPU and CuPy this cell times both beside cuBLAS."
        )
        return None
    from labs.kit.draw import roofline
    from labs.tensor_cores.roofs import BANDWIDTH, SCALAR, TENSOR, intensity

    times = timed(tiled, wmma)
    flops, at = 2 * SIZE**3, intensity(SIZE, SIZE, SIZE)
    for name, seconds in times.items():
        print(f"{name:12} {1e3 * seconds:8.2f} ms, {flops / seconds / 1e12:6.1f} TFLOP/s")
    points = {name: (at, flops / seconds) for name, seconds in times.items()}
    roofs = {"scalar (A100)": SCALAR, "tensor (A100)": TENSOR}
    return roofline(
        points, flops=roofs, bandwidth=BANDWIDTH, name=f"Products of {SIZE}^3 on this GPU, roofs of an A100"
    )


def timed(tiled, wmma):
    """Median seconds of a product of 4096^3 by the kernels and by cuBLAS, on the GPU."""
    import cupy

    a, b = (cupy.random.random((SIZE, SIZE), dtype=cupy.float32).astype(cupy.float16) for _ in "ab")
    c = cupy.zeros((SIZE, SIZE), cupy.float32)
    tiles = SIZE // 16
    works = {
        "tiled": lambda: tiled[(tiles, tiles), (16, 16)](a, b, c),
        "WMMA": lambda: wmma[(tiles, tiles), 32](a, b, c, SIZE, SIZE, SIZE),
        "cuBLAS": lambda: a @ b,
    }
    found = {}
    for name, work in works.items():
        seconds = []
        for _ in range(RUNS + 1):  # the first one warms up
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record()
            work()
            end.record()
            end.synchronize()
            seconds.append(1e-3 * cupy.cuda.get_elapsed_time(begin, end))
        found[name] = sorted(seconds[1:])[RUNS // 2]
    return found
