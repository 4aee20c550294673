"""The kernels that are measured, in the same words for the virtual device and for numba-cuda's simulator.

Where NUMBA_ENABLE_CUDASIM is 1 they run on the simulator, else on what `labs.kit.gpu` gives.
"""

from __future__ import annotations

import os

import numpy as np

if os.environ.get("NUMBA_ENABLE_CUDASIM") == "1":
    from numba import cuda
else:
    from labs.kit.gpu import cuda


@cuda.jit
def product(A, B, C):
    s = cuda.shared.array((16, 16), np.float32)
    u = cuda.shared.array((16, 16), np.float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    x, y = cuda.grid(2)
    acc = np.float32(0)
    for k in range(A.shape[1] // 16):
        s[ty, tx] = A[y, k * 16 + tx]
        u[ty, tx] = B[k * 16 + ty, x]
        cuda.syncthreads()
        for j in range(16):
            acc += s[ty, j] * u[j, tx]
        cuda.syncthreads()
    C[y, x] = acc


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


@cuda.jit
def block_sum(x, out):
    s = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else np.float32(0)
    cuda.syncthreads()
    d = cuda.blockDim.x // 2
    while d > 0:
        if t < d:
            s[t] += s[t + d]
        cuda.syncthreads()
        d //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


def check_product(random, n):
    """A launch of the tiled product of two n x n matrices."""
    A, B = random.random((n, n), np.float32), random.random((n, n), np.float32)

    def go():
        C = np.zeros((n, n), np.float32)
        product[(n // 16, n // 16), (16, 16)](A, B, C)
        _same(np.allclose(C, A @ B, rtol=1e-4))

    return go


def check_add(random, n):
    """A launch of the sum of two vectors."""
    a, b = random.random(n, np.float32), random.random(n, np.float32)

    def go():
        c = np.zeros_like(a)
        add[-(-n // 256), 256](a, b, c)
        _same(np.array_equal(c, a + b))

    return go


def check_sum(random, n):
    """A launch that sums blocks of 256."""
    x = random.random(n, np.float32)

    def go():
        out = np.zeros(-(-n // 256), np.float32)
        block_sum[out.size, 256](x, out)
        _same(np.allclose(out.sum(), x.sum(), rtol=1e-4))

    return go


def _same(right: bool) -> None:
    if not right:
        raise AssertionError("a kernel gave a wrong result, so the times mean nothing")
