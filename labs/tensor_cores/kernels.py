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

FAST = """\
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
#define STAGES 4
#define ON_AMPERE ((defined(__CUDACC_RTC__) || defined(__NVCC__)) && __CUDA_ARCH__ >= 800)  // and not on a CPU
#define LDA 40   // 32 + 8 halves, so that rows of a tile begin in different banks
#define LDB 136  // 128 + 8
#define TILE_A (128 * LDA)
#define TILE_B (32 * LDB)

// 16 bytes from global to shared memory, on Ampere and later without waiting for them.
__device__ __forceinline__ void copy16(half* to, const half* from) {
#if ON_AMPERE
  unsigned at = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from));
#else
  *(uint4*)to = *(const uint4*)from;
#endif
}

__device__ __forceinline__ void end_of_group() {
#if ON_AMPERE
  asm volatile("cp.async.commit_group;");
#endif
}

// All groups of copies have arrived but the newest two.
__device__ __forceinline__ void wait_for_oldest() {
#if ON_AMPERE
  asm volatile("cp.async.wait_group 2;");
#endif
}

__device__ __forceinline__ void load(half* a, half* b, const half* A, const half* B, int N, int K) {
  for (int i = threadIdx.x; i < 512; i += 256) {
    copy16(a + i / 4 * LDA + i % 4 * 8, A + (size_t)(i / 4) * K + i % 4 * 8);
    copy16(b + i / 16 * LDB + i % 16 * 8, B + (size_t)(i / 16) * N + i % 16 * 8);
  }
}

// A block of 8 warps makes 128 x 128 elements of C, a warp 64 x 32 of them; M, N are multiples of 128, K of 32.
__global__ void __launch_bounds__(256) wmma_fast(const half* A, const half* B, float* C, int M, int N, int K) {
  extern __shared__ __align__(128) half memory[];
  half *a = memory, *b = memory + STAGES * TILE_A;
  int warp = threadIdx.x / 32, down = warp / 4 * 64, across = warp % 4 * 32, steps = K / 32;
  A += (size_t)blockIdx.y * 128 * K;
  B += blockIdx.x * 128;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[4][2];
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 2; j++) wmma::fill_fragment(c[i][j], 0.0f);
  for (int step = 0; step < STAGES - 1; step++) {
    if (step < steps) load(a + step * TILE_A, b + step * TILE_B, A + step * 32, B + (size_t)step * 32 * N, N, K);
    end_of_group();
  }
  for (int step = 0; step < steps; step++) {
    wait_for_oldest();
    __syncthreads();
    int next = step + STAGES - 1, slot = next % STAGES;
    if (next < steps) load(a + slot * TILE_A, b + slot * TILE_B, A + next * 32, B + (size_t)next * 32 * N, N, K);
    end_of_group();
    slot = step % STAGES;
    for (int k = 0; k < 32; k += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left[4];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right[2];
      for (int i = 0; i < 4; i++)
        wmma::load_matrix_sync(left[i], a + slot * TILE_A + (down + 16 * i) * LDA + k, LDA);
      for (int j = 0; j < 2; j++)
        wmma::load_matrix_sync(right[j], b + slot * TILE_B + k * LDB + across + 16 * j, LDB);
      for (int i = 0; i < 4; i++)
        for (int j = 0; j < 2; j++) wmma::mma_sync(c[i][j], left[i], right[j], c[i][j]);
    }
  }
  C += ((size_t)blockIdx.y * 128 + down) * N + blockIdx.x * 128 + across;
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 2; j++)
      wmma::store_matrix_sync(C + (size_t)i * 16 * N + 16 * j, c[i][j], N, wmma::mem_row_major);
}
"""
"""The same product with what it takes to feed the unit: tiles in shared memory, used by eight warps, loaded ahead.

Grid (N / 128, M / 128), 256 threads a block, `FAST_SHARED` bytes of dynamic shared memory.
"""
FAST_SHARED = 4 * (128 * 40 + 32 * 136) * 2

DIVIDE8 = """\
// Eight pixels a thread: one 64-bit load, eight divisions by multiplication, one 64-bit store.
// For pixels and divisors below 256, x / d is x * ceil(65536 / d) >> 16.
__global__ void divide8(const uint2* image, uint2* out, int words, unsigned factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= words) return;
  uint2 word = image[i];
  unsigned in[2] = {word.x, word.y}, made[2];
  for (int half = 0; half < 2; half++) {
    unsigned result = 0;
    for (int k = 0; k < 32; k += 8) result |= ((in[half] >> k & 255) * factor >> 16) << k;
    made[half] = result;
  }
  out[i] = make_uint2(made[0], made[1]);
}
"""
"""An image divided by a number; `factor` is -(-65536 // divisor), `words` the pixels divided by eight."""
