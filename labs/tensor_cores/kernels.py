"""The lesson's kernels in CUDA C++: the tiled product with its fault and without, and products by a warp a tile.

Triton's and AMD's products are in `labs.kit.gpu.inspect.examples`, whose listings come with the course.
"""

from __future__ import annotations

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module

_TILED = """\
#include <cuda_fp16.h>
#define TILE 16
__global__ void tiled_grid(const half* A, const half* B, float* C) {
  __shared__ half a[TILE][TILE], b[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = TILE * blockIdx.y + ty, column = TILE * blockIdx.x + tx;
  float sum = 0;
  int width = WIDTH;
  for (int k = 0; k < TILE * gridDim.x; k += TILE) {
    a[ty][tx] = A[row * width + k + tx];
    b[ty][tx] = B[(k + ty) * width + column];
    __syncthreads();
    for (int i = 0; i < TILE; i++)
      sum += __half2float(a[ty][i]) * __half2float(b[i][tx]);
    __syncthreads();
  }
  C[row * width + column] = sum;
}
"""

ONE_BLOCK = _TILED.replace("WIDTH", "TILE")
"""The published fault: rows are taken to be as long as a tile, which holds for a grid that is one block wide."""

TILED = _TILED.replace("WIDTH", "TILE * gridDim.x")
"""C = A B for A of 16 gridDim.y rows and 16 gridDim.x columns, and a square B; halves in, floats out."""

WMMA = """\
#include <mma.h>
using namespace nvcuda;
__global__ void wmma_product(const half* A, const half* B, float* C, int M, int N, int K) {
  int row = 16 * blockIdx.y, column = 16 * blockIdx.x;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(c, 0.0f);
  for (int k = 0; k < K; k += 16) {
    wmma::load_matrix_sync(a, A + row * K + k, K);
    wmma::load_matrix_sync(b, B + k * N + column, N);
    wmma::mma_sync(c, a, b, c);
  }
  wmma::store_matrix_sync(C + row * N + column, c, N, wmma::mem_row_major);
}
"""
"""C = A B, a warp for each tile of C; grid (N / 16, M / 16), 32 threads a block."""

HALF_SUMS = WMMA.replace("accumulator, 16, 16, 16, float", "accumulator, 16, 16, 16, half").replace(
    "float* C", "half* C"
).replace("fill_fragment(c, 0.0f)", "fill_fragment(c, __float2half(0.0f))")  # fmt: skip
"""The same with sums in half precision."""
