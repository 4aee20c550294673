"""The lesson's own answers, for its pictures, its machine code and its tests."""

import numpy as np

from labs.kit.gpu import cuda

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


@cuda.jit
def divide(image, out, divisor):
    """Divide each pixel, whatever the number of threads."""
    for i in range(cuda.grid(1), image.size, cuda.gridsize(1)):
        out[i] = image[i] // divisor


@cuda.jit
def divide8(words, out, divisor):
    """Divide the eight pixels in each word of 64 bits; `divisor` is a uint64."""
    i = cuda.grid(1)
    if i < words.size:
        word = words[i]
        result = np.uint64(0)
        for k in range(8):
            shift = np.uint64(8 * k)
            pixel = (word >> shift) & np.uint64(255)
            result |= (pixel // divisor) << shift
        out[i] = result


@cuda.jit
def block_sum(x, out):
    """``out[b]`` is the sum of ``x[256 * b : 256 * (b + 1)]``; launched with 256 threads a block."""
    s = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else np.float32(0)
    cuda.syncthreads()
    d = 128
    while d > 0:
        if t < d:
            s[t] += s[t + d]
        cuda.syncthreads()
        d //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


@cuda.jit
def tiled_product(A, B, C):
    """``C = A @ B`` for a C of 16 x 16, by one block of 16 x 16 threads."""
    a = cuda.shared.array((16, 16), np.float32)
    b = cuda.shared.array((16, 16), np.float32)
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    inner = A.shape[1]
    total = np.float32(0)
    for start in range(0, inner, 16):
        a[row, column] = A[row, start + column] if start + column < inner else np.float32(0)
        b[row, column] = B[start + row, column] if start + row < inner else np.float32(0)
        cuda.syncthreads()
        for k in range(16):
            total += a[row, k] * b[k, column]
        cuda.syncthreads()
    C[row, column] = total


SIGNATURES = {
    "divide": "uint8[::1], uint8[::1], int64",
    "divide8": "uint64[::1], uint64[::1], uint64",
    "block_sum": "float32[::1], float32[::1]",
    "tiled_product": "float32[:, ::1], float32[:, ::1], float32[:, ::1]",
}
"""The types with which each kernel is compiled where no arguments are at hand."""
