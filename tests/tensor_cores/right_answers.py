"""Right answers to the exercises of lesson 06, in different styles."""

import textwrap


def cuda(name, text, template=""):
    """Python source that defines a kernel as a %%cuda cell does."""
    wanted = template or name
    return f"from labs.kit.gpu import compile_cuda\n{name} = compile_cuda({textwrap.dedent(text)!r}, {wanted!r})\n"


TILE_AT = """
def tile_at(rows, columns, order, i, j):
    ld = columns if order == "row" else rows
    if order == "row":
        return 16 * i * ld + 16 * j, ld
    return 16 * j * ld + 16 * i, ld
"""

TILED = """\
#include <cuda_fp16.h>
#define TILE 16
__global__ void tiled_grid(const half* A, const half* B, float* C) {
  __shared__ half a[TILE][TILE], b[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = TILE * blockIdx.y + ty, column = TILE * blockIdx.x + tx;
  float sum = 0;
  for (int k = 0; k < TILE * gridDim.x; k += TILE) {
    a[ty][tx] = A[row * SA + k + tx];
    b[ty][tx] = B[(k + ty) * SB + column];
    __syncthreads();
    for (int i = 0; i < TILE; i++)
      sum += __half2float(a[ty][i]) * __half2float(b[i][tx]);
    __syncthreads();
  }
  C[row * SC + column] = sum;
}
"""


def tiled(a="TILE * gridDim.x", b="TILE * gridDim.x", c="TILE * gridDim.x"):
    """The tiled kernel with these row strides."""
    return TILED.replace("SA", f"({a})").replace("SB", f"({b})").replace("SC", f"({c})")


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

ANY = """\
#include <mma.h>
using namespace nvcuda;
template <int COLUMNS> struct Layout { using type = wmma::row_major; };
template <> struct Layout<1> { using type = wmma::col_major; };
template <int A_COLUMNS, int B_COLUMNS>
__global__ void wmma_any(const half* A, const half* B, float* C, int M, int N, int K) {
  int row = 16 * blockIdx.y, column = 16 * blockIdx.x;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, typename Layout<A_COLUMNS>::type> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, typename Layout<B_COLUMNS>::type> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(c, 0.0f);
  for (int k = 0; k < K; k += 16) {
    wmma::load_matrix_sync(a, A_COLUMNS ? A + k * M + row : A + row * K + k, A_COLUMNS ? M : K);
    wmma::load_matrix_sync(b, B_COLUMNS ? B + column * K + k : B + k * N + column, B_COLUMNS ? K : N);
    wmma::mma_sync(c, a, b, c);
  }
  wmma::store_matrix_sync(C + row * N + column, c, N, wmma::mem_row_major);
}
"""

COUNT = """
def tensor_instructions(listing):
    units = ("HMMA", "HGMMA", "UTCHMMA")
    count = 0
    for line in listing.splitlines():
        words = line.split()
        if words and words[0].startswith("@"):
            words = words[1:]
        if not words:
            continue
        opcode = words[0]
        if opcode.split(".")[0] in units or opcode.startswith(("v_mfma", "v_wmma")):
            count += 1
    return count
"""

DOTS = """\
#include <cuda_fp16.h>
#define CHUNK 1024
__global__ void dot_rows(const half* A, const half* x, float* y, int K) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; k += CHUNK) {
    float part = 0;
    for (int i = k; i < min(k + CHUNK, K); i++)
      part += __half2float(A[row * K + i]) * __half2float(x[i]);
    sum += part;
  }
  y[row] = sum;
}
"""

KAHAN = """\
#include <cuda_fp16.h>
__global__ void dot_rows(const half* A, const half* x, float* y, int K) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0, lost = 0;
  for (int k = 0; k < K; k++) {
    float part = __half2float(A[row * K + k]) * __half2float(x[k]) - lost;
    float next = sum + part;
    lost = (next - sum) - part;
    sum = next;
  }
  y[row] = sum;
}
"""

GAIN = """
def gain(M, N, K, scalar, tensor, bandwidth):
    flops = 2 * M * N * K
    nbytes = 2 * M * K + 2 * K * N + 4 * M * N
    move = nbytes / bandwidth
    return flops / nbytes, max(move, flops / scalar) / max(move, flops / tensor)
"""

RIGHT = {
    "tile_at": {
        "by_cases": TILE_AT,
        "by_strides": """
def tile_at(rows, columns, order, i, j):
    down, across = (columns, 1) if order == "row" else (1, rows)
    return 16 * (i * down + j * across), max(down, across)
""",
    },
    "tiled_grid": {
        "width": cuda("tiled_grid", tiled()),
        "by_threads": cuda("tiled_grid", tiled(*["blockDim.x * gridDim.x"] * 3)),
        "all_from_memory": cuda(
            "tiled_grid",
            """\
            #include <cuda_fp16.h>
            __global__ void tiled_grid(const half* A, const half* B, float* C) {
              int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
              int n = gridDim.x * blockDim.x;
              float sum = 0;
              for (int k = 0; k < n; k++) sum += __half2float(A[row * n + k]) * __half2float(B[k * n + column]);
              C[row * n + column] = sum;
            }
            """,
        ),
    },
    "wmma_product": {
        "loop": cuda("wmma_product", WMMA),
        "two_fragments": cuda(
            "wmma_product",
            WMMA.replace("float> c;", "float> c, d;").replace("mma_sync(c, a, b, c);", "mma_sync(d, a, b, c); c = d;"),
        ),
    },
    "tensor_instructions": {
        "words": COUNT,
        "regex": """
import re

def tensor_instructions(listing):
    opcode = r"(?m)^\\s*(?:@!?\\w+\\s+)?(?:HMMA|HGMMA|UTCHMMA|v_mfma\\w*|v_wmma\\w*)[. ]"
    return len(re.findall(opcode, listing))
""",
    },
    "wmma_any": {
        "ternaries": cuda("wmma_any", ANY, "wmma_any<0, 0>"),
        "constants": cuda(
            "wmma_any",
            ANY.replace("A_COLUMNS ? M : K)", "lda)")
            .replace("B_COLUMNS ? K : N)", "ldb)")
            .replace("  wmma::fill", "  int lda = A_COLUMNS ? M : K, ldb = B_COLUMNS ? K : N;\n  wmma::fill"),
            "wmma_any<1, 1>",
        ),
    },
    "dot_rows": {
        "chunks": cuda("dot_rows", DOTS),
        "kahan": cuda("dot_rows", KAHAN),
        "double": cuda(
            "dot_rows",
            DOTS.replace("#define CHUNK 1024", "#define CHUNK 99").replace("float sum", "double sum"),
        ),
    },
    "gain": {
        "times": GAIN,
        "roofs": """
def gain(M, N, K, scalar, tensor, bandwidth):
    intensity = 2 * M * N * K / (2 * (M * K + K * N) + 4 * M * N)
    roof = intensity * bandwidth
    return intensity, min(tensor, roof) / min(scalar, roof)
""",
    },
}
