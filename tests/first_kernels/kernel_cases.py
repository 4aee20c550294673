"""Every kernel of lessons 00 and 03, each with data and what NumPy says, for whichever ``cuda`` KERNELS_ON names:
"virtual" (or nothing: the course chooses), "simulator" (numba-cuda's own), "numba" (to compile, or on a GPU).

KERNELS_SIZES says which sizes. As a program: ``python kernel_cases.py results.npz`` writes what the kernels computed,
``... ptx`` compiles them.
"""

import os
import sys

import numpy as np

ON = os.environ.get("KERNELS_ON", "")
if ON in ("simulator", "numba"):
    if ON == "simulator":
        os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
    from numba import cuda

    import labs.kit.gpu

    labs.kit.gpu.cuda = cuda  # the lesson's modules take it from there
else:
    from labs.kit.gpu import cuda

from labs.first_kernels import given, kernels  # noqa: E402

SIZES = [int(size) for size in os.environ.get("KERNELS_SIZES", "0 1 31 32 33 255 256 257 1000").split()]


@cuda.jit
def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


SIGNATURES = {**kernels.SIGNATURES, **given.SIGNATURES, "add_one": "int32[::1]"}


def kernel(name):
    """The kernel of a name."""
    return globals().get(name) or getattr(kernels, name, None) or getattr(given, name)


def results():
    """Kernels on data: yields (name, what the kernel computed, what NumPy says)."""
    for size in SIZES:
        random = np.random.default_rng(size)
        for start in (0, 3):
            yield from divided(random, size, start)
        yield from summed(random, size)
        blocks = max(1, -(-size // 256))
        x = random.integers(-9, 9, size + 1).astype(np.int32)
        mine = cuda.to_device(x)
        add_one[blocks, 256](mine[:size])
        yield f"add_one {size}", mine.copy_to_host()[:size], x[:size] + 1
        x = random.integers(0, 256, 3 * size + 1).astype(np.uint8)
        out = cuda.to_device(np.zeros(size + 1, np.uint8))
        given.gather[blocks, 256](cuda.to_device(x), out[:size], 3)
        yield f"gather {size}", out.copy_to_host()[:size], x[::3][:size]
    random = np.random.default_rng(3)
    for inner in (0, 1, 15, 16, 17, 33, 64):
        yield from products(random, inner)
    for shape in ((1, 1), (3, 33), (17, 31), (9, 111)):
        image = random.integers(0, 256, shape).astype(np.uint8)
        out = cuda.to_device(np.zeros(shape, np.uint8))
        grid = (-(-shape[1] // 32), -(-shape[0] // 8))
        given.divide_rows[grid, (32, 8)](cuda.to_device(image), out, 7)
        yield f"divide_rows {shape}", out.copy_to_host(), image // 7


def divided(random, size, start):
    """divide on pixels that begin anywhere, and divide8 on the whole words among them."""
    around = random.integers(0, 256, start + size + 8).astype(np.uint8)
    right = around[start : start + size] // 3
    for blocks, threads in ((1, 32), (2, 96)):
        out = cuda.to_device(np.zeros(len(around), np.uint8))
        kernels.divide[blocks, threads](cuda.to_device(around)[start : start + size], out[start : start + size], 3)
        yield f"divide {size} from {start}, {blocks} x {threads}", out.copy_to_host()[start : start + size], right
    head = -start % 8
    words = max(0, size - head) // 8
    body = slice(start + head, start + head + 8 * words)
    aligned = np.append(around[body].view(np.uint64), np.uint64(0))  # one more, so that there is something to copy
    mine, out = cuda.to_device(aligned), cuda.to_device(np.zeros(words + 1, np.uint64))
    kernels.divide8[max(1, -(-words // 64)), 64](mine[:words], out[:words], np.uint64(3))
    yield f"divide8 {size} from {start}", out.copy_to_host()[:words].view(np.uint8), around[body] // 3


def summed(random, size):
    """block_sum, with whole numbers, which float32 adds without rounding."""
    x = random.integers(-50, 50, size + 1).astype(np.float32)
    blocks = max(1, -(-size // 256))
    out = cuda.to_device(np.full(blocks, 7, np.float32))
    kernels.block_sum[blocks, 256](cuda.to_device(x)[:size], out)
    padded = np.zeros(blocks * 256)
    padded[:size] = x[:size]
    yield f"block_sum {size}", out.copy_to_host(), padded.reshape(-1, 256).sum(1).astype(np.float32)


def products(random, inner):
    """tiled_product and plain_product."""
    A, B = (
        random.integers(-4, 5, (16, inner)).astype(np.float32),
        random.integers(-4, 5, (inner, 16)).astype(np.float32),
    )
    for name in ("tiled_product", "plain_product"):
        out = cuda.to_device(np.full((16, 16), 7, np.float32))
        kernel(name)[1, (16, 16)](cuda.to_device(A), cuda.to_device(B), out)
        yield f"{name} {inner}", out.copy_to_host(), A @ B


def compile_all():
    """Compile every kernel to PTX for compute capability 8.0; no GPU is needed."""
    from numba import types
    from numba.cuda import compile_ptx

    for name, signature in SIGNATURES.items():
        ptx, _ = compile_ptx(kernel(name).py_func, eval(f"({signature},)", vars(types)), cc=(8, 0))
        assert ".entry" in ptx
        print(name)


if __name__ == "__main__":
    import warnings

    warnings.filterwarnings("ignore")
    if sys.argv[1] == "ptx":
        compile_all()
    else:
        np.savez(sys.argv[1], **{name: got for name, got, _ in results()})
