"""Kernels in CUDA C++ that several tests use; each also has to pass NVIDIA's own compiler."""

ADD = r"""
__global__ void add(const float* a, const float* b, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}
"""

GRID_STRIDE = r"""
__global__ void divide(const unsigned char* image, unsigned char* out, int n, unsigned char by) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = image[i] / by;
}
"""

# Eight pixels a thread through one load of 64 bits, and the tail one by one.
DIVIDE8 = r"""
__global__ void divide8(const unsigned char* image, unsigned char* out, int n, unsigned char by) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
  if (i + 8 <= n) {
    uint2 word = *(const uint2*)(image + i);
    unsigned char* pixel = (unsigned char*)&word;
    for (int k = 0; k < 8; k++) pixel[k] /= by;
    *(uint2*)(out + i) = word;
  } else {
    for (; i < n; i++) out[i] = image[i] / by;
  }
}
"""

TILED = r"""#include <cuda_fp16.h>
#define T 16
__global__ void tiled(const half* A, const half* B, float* C, int M, int N, int K) {
  __shared__ half a[T][T], b[T][T];
  int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * T + tx, y = blockIdx.y * T + ty;
  float sum = 0;
  for (int k = 0; k < K; k += T) {
    a[ty][tx] = y < M && k + tx < K ? A[y * K + k + tx] : __float2half(0.0f);
    b[ty][tx] = k + ty < K && x < N ? B[(k + ty) * N + x] : __float2half(0.0f);
    __syncthreads();
    for (int j = 0; j < T; j++) sum += __half2float(a[ty][j]) * __half2float(b[j][tx]);
    __syncthreads();
  }
  if (y < M && x < N) C[y * N + x] = sum;
}
__global__ void scale(float* C, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) C[i] *= by;
}
"""

REDUCE = r"""
__global__ void reduce(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = i < n ? x[i] : 0.0f;
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
  __shared__ float sums[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane == 0) sums[warp] = v;
  __syncthreads();
  if (warp == 0) {
    v = lane < blockDim.x / 32 ? sums[lane] : 0.0f;
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
    if (lane == 0) atomicAdd(out, v);
  }
}
"""

HISTOGRAM = r"""
extern __shared__ unsigned bins[];
__global__ void histogram(const unsigned char* x, unsigned* out, int n, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[x[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockDim.x) atomicAdd(&out[i], bins[i]);
}
__global__ void reverse(float* x) {
  extern __shared__ float turned[];
  int i = threadIdx.x;
  turned[i] = x[i];
  __syncthreads();
  x[i] = turned[blockDim.x - 1 - i];
}
"""

VOTES = r"""
__global__ void votes(int* o, unsigned* u, float* f) {
  int t = threadIdx.x;
  unsigned ballot = __ballot_sync(0xffffffff, t % 3 == 0);
  if (t == 0) { o[0] = __popc(ballot); o[1] = __ffs(ballot); }
  int any = __any_sync(0xffffffff, t == 40), all = __all_sync(0xffffffff, t < 32);
  if (t % 32 == 0) { o[2 + t / 32] = any; o[4 + t / 32] = all; }
  int count = __syncthreads_count(t < 10), every = __syncthreads_and(t < 64), some = __syncthreads_or(t == 63);
  if (t == 1) { o[6] = count; o[7] = every; o[8] = some; }
  atomicMax(&o[9], t); atomicMin(&o[10], -t); atomicSub(&u[0], 1u); atomicExch(&o[11], 7);
  atomicCAS(&o[12], 0, t + 5); atomicAdd(f, 0.5f);
  int up = __shfl_up_sync(0xffffffff, t, 1), group = __shfl_sync(0xffffffff, t, 3, 8);
  if (t == 37) { o[13] = up; o[14] = group; }
  if (t < 8) { int other = __shfl_xor_sync(0xff, t, 1); if (t == 4) o[15] = other; }
  int4 a = make_int4(1, 2, 3, 4); float4 b = make_float4(1, 2, 3, 4); uchar4 c = make_uchar4(1, 2, 3, 250);
  int2 d = {3, 4};
  if (t == 2) o[16] = a.x + a.w + (int)b.z + c.w + d.y;
  unsigned same = __match_any_sync(0xffffffff, t % 4);
  if (t == 33) o[17] = __popc(same);
}
"""

CONSTANT = r"""
__constant__ float weights[3] = {1.0f, 2.0f, 3.0f};
__constant__ int offset;
__device__ float at(const float* x, int i, int n) { return i < 0 || i >= n ? 0.0f : x[i]; }
__global__ void blur(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = weights[0] * at(x, i - 1, n) + weights[1] * at(x, i, n) + weights[2] * at(x, i + 1, n) + offset;
}
"""

TEMPLATE = r"""
template <typename Number, int N>
__global__ void rotate(const Number* x, Number* out, int by) {
  __shared__ Number s[N];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[(threadIdx.x + by) % N];
}
"""

HALF_ARITHMETIC = r"""#include <cuda_fp16.h>
__global__ void arithmetic(const half* a, const half* b, const half* c, half* o, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) {
    o[i] = a[i] + b[i]; o[n + i] = a[i] * b[i]; o[2 * n + i] = __hfma(a[i], b[i], c[i]); o[3 * n + i] = a[i] / b[i];
    half t = a[i];
    t += b[i];
    t -= c[i];
    o[4 * n + i] = t;
  }
}
"""

BFLOAT_IN_SHARED = r"""#include <mma.h>
#include <cuda_bf16.h>
using namespace nvcuda;
__global__ void square(const float* A, float* C) {
  __shared__ __align__(32) __nv_bfloat16 s[256];
  for (int i = threadIdx.x; i < 256; i += 32) s[i] = __float2bfloat16(A[i]);
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(c, 1.0f);
  wmma::load_matrix_sync(a, s, 16);
  wmma::load_matrix_sync(b, s, 16);
  wmma::mma_sync(c, a, b, c);
  wmma::store_matrix_sync(C, c, 16, wmma::mem_row_major);
}
"""


def wmma(a="row", b="row", c="row", *, types=("half", "float"), shape=(16, 16, 16), after=""):
    """A product of A (M x K), B (K x N) by one warp a tile, each matrix row by row or column by column."""
    m, n, k = shape
    element, total = types
    stored = "float" if element.endswith("tf32") else element
    return f"""#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
__global__ void product(const {stored}* A, const {stored}* B, {total}* C, int M, int N, int K) {{
  int m = blockIdx.x * {m}, n = blockIdx.y * {n};
  wmma::fragment<wmma::matrix_a, {m}, {n}, {k}, {element}, wmma::{a}_major> a;
  wmma::fragment<wmma::matrix_b, {m}, {n}, {k}, {element}, wmma::{b}_major> b;
  wmma::fragment<wmma::accumulator, {m}, {n}, {k}, {total}> c;
  wmma::fill_fragment(c, ({total})0.0f);
  for (int k = 0; k < K; k += {k}) {{
    wmma::load_matrix_sync(a, A + {"m * K + k, K" if a == "row" else "k * M + m, M"});
    wmma::load_matrix_sync(b, B + {"k * N + n, N" if b == "row" else "n * K + k, K"});
    wmma::mma_sync(c, a, b, c);
  }}
  {after}
  wmma::store_matrix_sync(C + {"m * N + n, c, N" if c == "row" else "n * M + m, c, M"}, wmma::mem_{c}_major);
}}
"""


SOURCES = {
    "add": (ADD, ("add",)),
    "grid_stride": (GRID_STRIDE, ("divide",)),
    "divide8": (DIVIDE8, ("divide8",)),
    "tiled": (TILED, ("tiled", "scale")),
    "reduce": (REDUCE, ("reduce",)),
    "histogram": (HISTOGRAM, ("histogram", "reverse")),
    "votes": (VOTES, ("votes",)),
    "constant": (CONSTANT, ("blur",)),
    "template": (TEMPLATE, ("rotate<float, 8>",)),
    "half": (HALF_ARITHMETIC, ("arithmetic",)),
    "bfloat16": (BFLOAT_IN_SHARED, ("square",)),
    "wmma": (wmma(), ("product",)),
    "wmma_columns": (wmma("col", "col", "col"), ("product",)),
    "wmma_half": (wmma(types=("half", "half")), ("product",)),
    "wmma_32": (wmma(shape=(32, 8, 16)), ("product",)),
    "wmma_8": (wmma(shape=(8, 32, 16)), ("product",)),
    "wmma_bytes": (wmma(types=("signed char", "int")), ("product",)),
    "wmma_tf32": (wmma(types=("wmma::precision::tf32", "float"), shape=(16, 16, 8)), ("product",)),
}
"""Name -> (text, its kernels)."""
