"""Small kernels that show what the microscope is for. Their listings come with the course, for machines that lack the
compilers; `python -m labs.kit.gpu.inspect.examples` makes them anew.
"""

from __future__ import annotations

from .devices import target
from .microscope import compiled, listing
from .request import request
from .stored import keep

DIVIDE8 = """\
// Eight pixels a thread: one 64-bit load, eight divisions, one 64-bit store.
extern "C" __global__ void divide8(const uint2 *image, uint2 *out, int words, unsigned char divisor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < words) {
    uint2 word = image[i];
    unsigned char *pixels = (unsigned char *)&word;
    for (int k = 0; k < 8; k++) pixels[k] /= divisor;
    out[i] = word;
  }
}
"""

TILED = """\
// A product of halves in 16 x 16 tiles, one element a thread, on the scalar units.
#include <cuda_fp16.h>
#define TILE 16
extern "C" __global__ void tiled(const half *A, const half *B, float *C, int M, int N, int K) {
  __shared__ half As[TILE][TILE], Bs[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.0f;
  for (int k = 0; k < K; k += TILE) {
    As[threadIdx.y][threadIdx.x] = A[row * K + k + threadIdx.x];
    Bs[threadIdx.y][threadIdx.x] = B[(k + threadIdx.y) * N + column];
    __syncthreads();
    for (int i = 0; i < TILE; i++)
      sum += __half2float(As[threadIdx.y][i]) * __half2float(Bs[i][threadIdx.x]);
    __syncthreads();
  }
  C[row * N + column] = sum;
}
"""

WMMA = """\
// The same product on the tensor cores, one 16 x 16 tile a warp.
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void wmma_product(const half *A, const half *B, float *C, int M, int N, int K) {
  int row = blockIdx.x * 16, column = blockIdx.y * 16;
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

MFMA = """\
// The same product on AMD's matrix cores, one 16 x 16 tile a wavefront of 64 lanes.
__global__ void mfma_product(const half *A, const half *B, float *C, int K, int N) {
  int lane = threadIdx.x, column = lane % 16, group = lane / 16;
  float4 c = {0, 0, 0, 0};
  for (int k = 0; k < K; k += 16) {
    half4 a, b;
    for (int i = 0; i < 4; i++) {
      a[i] = A[column * K + k + group * 4 + i];
      b[i] = B[(k + group * 4 + i) * N + column];
    }
    c = __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, 0, 0, 0);
  }
  for (int i = 0; i < 4; i++)
    C[(group * 4 + i) * N + column] = c[i];
}
"""

TRITON = """\
@triton.jit
def triton_product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        left = tl.load(a + rows[:, None] * K + (k + depth)[None, :])
        right = tl.load(b + (k + depth)[:, None] * N + columns[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total)
"""
TRITON_TYPES = "*fp16:16, *fp16:16, *fp32:16, i32, i32:16, i32:16, 64, 64, 32"

_TRITON_TARGETS = ("sm_75", "sm_80", "sm_90", "sm_100", "gfx90a", "gfx942", "gfx950", "gfx1100")
SHIPPED = (
    *((WMMA, name, None, None) for name in ("sm_75", "sm_80", "sm_90", "sm_100")),
    *((kernel, "sm_80", None, None) for kernel in (TILED, DIVIDE8)),
    (WMMA, "sm_80", "ptx", None),
    (DIVIDE8, "sm_80", "ptx", None),
    *((MFMA, name, None, None) for name in ("gfx90a", "gfx942", "gfx950")),
    *((TRITON, name, None, TRITON_TYPES) for name in _TRITON_TARGETS),
)
"""(kernel, target, format, signature) of each listing that comes with the course."""


def main() -> None:
    for kernel, name, format, signature in SHIPPED:
        wanted = request(kernel, target(name, format), signature)
        result = compiled(wanted)
        path = keep(wanted, result)
        print(f"{path.stat().st_size:7,} B  {path.name}: {listing(wanted, result).summary}")


if __name__ == "__main__":
    main()
