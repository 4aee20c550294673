"""Kernels that the lesson gives away: to look at, to measure, and to build on. None of them answers an exercise."""

import numpy as np

from labs.kit.gpu import cuda


@cuda.jit
def gather(x, out, stride):
    """Thread i reads element ``i * stride`` of `x` and writes element i of `out`."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i * stride]


@cuda.jit
def divide_rows(image, out, divisor):
    """Divide the pixels of a picture with two dimensions; launched with a grid of two dimensions."""
    column, row = cuda.grid(2)
    if row < image.shape[0] and column < image.shape[1]:
        out[row, column] = image[row, column] // divisor


@cuda.jit
def plain_product(A, B, C):
    """``C = A @ B`` without shared memory: each thread reads a row of A and a column of B from global memory."""
    column, row = cuda.grid(2)
    if row < C.shape[0] and column < C.shape[1]:
        total = np.float32(0)
        for k in range(A.shape[1]):
            total += A[row, k] * B[k, column]
        C[row, column] = total


@cuda.jit
def sum_without_barriers(x, out):
    """A block sum as people write it first: its threads do not wait for each other."""
    s = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    d = 128
    while d > 0:
        if t < d:
            s[t] += s[t + d]
        d //= 2
    if t == 0:
        out[0] = s[0]


SIGNATURES = {
    "gather": "uint8[::1], uint8[::1], int64",
    "divide_rows": "uint8[:, ::1], uint8[:, ::1], int64",
    "plain_product": "float32[:, ::1], float32[:, ::1], float32[:, ::1]",
    "sum_without_barriers": "float32[::1], float32[::1]",
}
"""The types with which each kernel is compiled where no arguments are at hand."""
