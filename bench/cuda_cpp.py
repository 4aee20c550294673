"""CUDA C++ on the CPU: matrix products by a learner's kernels, checked and fast, against NumPy's."""

from __future__ import annotations

import os
import time

import numpy as np

from bench.measure import Row, Series

NAME = "cuda-cpp"
TITLE = "CUDA C++ on the CPU: products by a kernel, checked and fast, against NumPy's of the same halves"
NOTES = (
    "tiled: 16 x 16 tiles in shared memory, half in, float out; WMMA: a warp for each tile of 16 x 16 x 16.",
    "checked: each access is looked at for bounds, alignment and races; fast: none is.",
    "NumPy: a @ b of the same half-precision arrays, which no BLAS computes: a plain loop in C on one thread.",
    "Every launch counts in full: arrays there and back. Each result is compared with a float32 product.",
    "A kernel runs thread by thread here: the ratio says what threads and watching cost, nothing about a GPU.",
)

TILED = r"""#include <cuda_fp16.h>
#define T 16
__global__ void tiled(const half* A, const half* B, float* C, int N) {
  __shared__ half a[T][T], b[T][T];
  int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * T + tx, y = blockIdx.y * T + ty;
  float sum = 0;
  for (int k = 0; k < N; k += T) {
    a[ty][tx] = A[y * N + k + tx];
    b[ty][tx] = B[(k + ty) * N + x];
    __syncthreads();
    for (int j = 0; j < T; j++) sum += __half2float(a[ty][j]) * __half2float(b[j][tx]);
    __syncthreads();
  }
  C[y * N + x] = sum;
}
"""
WMMA = r"""#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
__global__ void wmma_product(const half* A, const half* B, float* C, int N) {
  int m = blockIdx.x * 16, n = blockIdx.y * 16;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(c, 0.0f);
  for (int k = 0; k < N; k += 16) {
    wmma::load_matrix_sync(a, A + m * N + k, N);
    wmma::load_matrix_sync(b, B + k * N + n, N);
    wmma::mma_sync(c, a, b, c);
  }
  wmma::store_matrix_sync(C + m * N + n, c, N, wmma::mem_row_major);
}
"""


def compare(kernel, block, size: int, runs: int) -> tuple[Series, Series]:
    """Milliseconds of the kernel and of NumPy, by turns, after one unmeasured turn."""
    a, b = np.random.default_rng(0).standard_normal((2, size, size)).astype(np.float16)
    c = np.zeros((size, size), np.float32)
    grid = (size // 16, size // 16)
    ours, theirs = [], []
    for turn in range(-1, runs):
        start = time.perf_counter()
        kernel[grid, block](a, b, c, size)
        middle = time.perf_counter()
        a @ b
        end = time.perf_counter()
        expected = a.astype(np.float32) @ b.astype(np.float32)
        if not np.allclose(c, expected, atol=1e-4 * size**0.5, rtol=1e-4):
            raise AssertionError("the products differ, so the times mean nothing")
        if turn >= 0:
            ours.append(1e3 * (middle - start))
            theirs.append(1e3 * (end - middle))
    return Series(tuple(ours)), Series(tuple(theirs))


def rows(quick: bool) -> list[Row]:
    """Measure tiled 256^3 and WMMA 512^3, checked and fast (64^3 when `quick`)."""
    from labs.kit.gpu.cplusplus import compile_cuda

    before = os.environ.get("LABS_GPU")
    os.environ["LABS_GPU"] = "virtual"
    try:
        lines = []
        for name, text, block, size in (("tiled", TILED, (16, 16), 256), ("WMMA", WMMA, 32, 512)):
            size = 64 if quick else size
            for checked in (True, False):
                kernel = compile_cuda(text, checked=checked)
                ours, theirs = compare(kernel, block, size, 3 if quick else 11)
                what = f"{name} {size}^3, {'checked' if checked else 'fast'}"
                lines.append(Row(what, ours, "ms", "NumPy, float16", theirs))
        return lines
    finally:
        if before is None:
            del os.environ["LABS_GPU"]
        else:
            os.environ["LABS_GPU"] = before
