"""Matrix fragments: products against NumPy in float64, the lanes of mma.m16n8k16 as documented, what is refused."""

import itertools
import os
import runpy
from pathlib import Path

import numpy as np
import pytest

from labs.kit.gpu.cplusplus import compile_cuda
from labs.kit.native.failures import CompileError

SOURCE = runpy.run_path(str(Path(__file__).parent / "cuda_cpp_sources.py"))
wmma = SOURCE["wmma"]


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch):
    monkeypatch.setenv("LABS_GPU", "virtual")


def product(text, a, b, c_type, layouts=("row", "row", "row"), tile=(16, 16), **options):
    """C by the kernel of `text`, with each matrix stored as the layouts say."""
    stored = [m if layout == "row" else np.ascontiguousarray(m.T) for m, layout in zip((a, b), layouts)]
    (m, k), n = a.shape, b.shape[1]
    c = np.zeros((m, n) if layouts[2] == "row" else (n, m), c_type)
    compile_cuda(text, **options)[(m // tile[0], n // tile[1]), 32](*stored, c, m, n, k)
    return c if layouts[2] == "row" else c.T


LAYOUTS = list(itertools.product(["row", "col"], repeat=3))
HALVES = LAYOUTS if os.environ.get("LABS_SOAK") == "1" else [("row", "row", "row"), ("col", "row", "col")]


@pytest.mark.parametrize(
    ("a", "b", "c", "total"), [(*one, "float") for one in LAYOUTS] + [(*one, "half") for one in HALVES]
)
def test_every_layout(a, b, c, total):
    text = wmma(a, b, c, types=("half", total))
    random = np.random.default_rng(7)
    for m, n, k in [(16, 16, 16), (48, 32, 64), (64, 48, 80)]:
        left, right = random.standard_normal((m, k)).astype("e"), random.standard_normal((k, n)).astype("e")
        got = product(text, left, right, "f" if total == "float" else "e", (a, b, c)).astype("d")
        exact = left.astype("d") @ right.astype("d")
        # float: a relative error of 2^-24 an addition; half: one of 2^-11 at each of the k / 16 roundings
        scale = np.abs(left).astype("d") @ np.abs(right).astype("d")
        assert (np.abs(got - exact) <= scale * (k * 2.0**-23 if total == "float" else k / 16 * 2.0**-10)).all()


def test_unchecked_gives_the_same():
    a, b = np.random.default_rng(8).standard_normal((2, 32, 32)).astype("e")
    np.testing.assert_array_equal(product(wmma(), a, b, "f"), product(wmma(), a, b, "f", checked=False))


@pytest.mark.parametrize("shape", [(16, 16, 16), (32, 8, 16), (8, 32, 16)])
@pytest.mark.parametrize(("element", "dtype"), [("signed char", np.int8), ("unsigned char", np.uint8)])
def test_bytes_are_exact(shape, element, dtype):
    random, limits = np.random.default_rng(9), np.iinfo(dtype)
    m, n, k = shape  # one tile, because the next one would not begin on a multiple of 32 bytes
    a, b = (random.integers(limits.min, limits.max + 1, size).astype(dtype) for size in ((m, k), (k, n)))
    got = product(
        wmma("row", "col", types=(element, "int"), shape=shape), a, b, np.int32, ("row", "col", "row"), shape[:2]
    )
    np.testing.assert_array_equal(got, a.astype(int) @ b.astype(int))


@pytest.mark.parametrize("shape", [(32, 8, 16), (8, 32, 16)])
@pytest.mark.parametrize("layout", ["row", "col"])
def test_long_and_wide_tiles(shape, layout):
    random, (m, n, k) = np.random.default_rng(10), shape
    a, b = random.standard_normal((m, k)).astype("e"), random.standard_normal((k, n)).astype("e")
    got = product(wmma(layout, layout, layout, shape=shape), a, b, "f", (layout,) * 3, shape[:2])
    np.testing.assert_allclose(got, a.astype("d") @ b.astype("d"), atol=1e-4)


def test_tf32_keeps_eleven_digits():
    a, b = np.random.default_rng(11).standard_normal((2, 16, 16)).astype("f")
    text = wmma(types=("wmma::precision::tf32", "float"), shape=(16, 16, 8))
    rounded = text.replace(
        "    wmma::mma_sync",
        "    for (int i = 0; i < a.num_elements; i++) a.x[i] = wmma::__float_to_tf32(a.x[i]);\n    wmma::mma_sync",
    )
    error = np.abs(product(text, a, b, "f") - a.astype("d") @ b.astype("d")).max()
    less = np.abs(product(rounded, a, b, "f") - a.astype("d") @ b.astype("d")).max()
    assert error < 1e-5 < 1e-4 < less < 1e-2


def test_bfloat16_in_shared_memory():
    a, c = np.random.default_rng(12).standard_normal((16, 16)).astype("f"), np.zeros((16, 16), "f")
    compile_cuda(SOURCE["BFLOAT_IN_SHARED"])[1, 32](a, c)
    bits = a.view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1) >> 16 << 16).astype(np.uint32).view("f").astype("d")
    np.testing.assert_allclose(c, 1 + rounded @ rounded.T, atol=1e-4)


def test_elementwise_on_an_accumulator():
    a, b = np.random.default_rng(13).standard_normal((2, 16, 16)).astype("e")
    text = wmma(after="for (int i = 0; i < c.num_elements; i++) c.x[i] = c.x[i] > 0 ? 2 * c.x[i] : 0;")
    expected = 2 * np.maximum(a.astype("d") @ b.astype("d"), 0)
    np.testing.assert_allclose(product(text, a, b, "f"), expected, atol=1e-4)


def test_uninitialised_shared_memory_shows_as_nan():
    text = wmma().replace("int m =", "__shared__ __align__(32) half tile[256];\n  int m =")
    text = text.replace("load_matrix_sync(a, A + m * K + k, K)", "load_matrix_sync(a, tile, 16)")
    a = np.ones((16, 16), "e")
    assert np.isnan(product(text, a, a, "f")).all()


LANES = """#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
__global__ void lanes(const half* A, const half* B, const float* C, float* a_out, float* b_out, float* c_out) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::load_matrix_sync(a, A, 16);
  wmma::load_matrix_sync(b, B, 16);
  wmma::load_matrix_sync(c, C, 16, wmma::mem_row_major);
  for (int i = 0; i < 8; i++) {
    a_out[threadIdx.x * 8 + i] = a.x[i];
    b_out[threadIdx.x * 8 + i] = b.x[i];
    c_out[threadIdx.x * 8 + i] = c.x[i];
  }
}
"""


def test_lanes_hold_what_ptx_documents_for_mma_m16n8k16():
    """PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type"; two of them make 16 columns of B and C."""
    tile = np.arange(256, dtype="f").reshape(16, 16)
    held = [np.zeros((32, 8), "f") for _ in range(3)]
    compile_cuda(LANES)[1, 32](tile.astype("e"), tile.astype("e"), tile, *held)
    for lane in range(32):
        group, in_group = lane >> 2, lane % 4
        for i in range(8):
            row_a = group if i in (0, 1, 4, 5) else group + 8
            column_a = in_group * 2 + (i & 1) + (8 if i >= 4 else 0)
            assert held[0][lane, i] == tile[row_a, column_a]
            half, j = divmod(i, 4)  # which of the two products, and the index within its fragment
            row_b = in_group * 2 + (j & 1) + (8 if j >= 2 else 0)
            assert held[1][lane, i] == tile[row_b, group + 8 * half]
            row_c = group if j < 2 else group + 8
            assert held[2][lane, i] == tile[row_c, in_group * 2 + (j & 1) + 8 * half]


def test_a_wrong_leading_dimension_is_wrong_only_where_it_differs():
    """ld = K for a column-major A works while M = K, and reads other elements when it does not."""
    text = wmma("col").replace("k * M + m, M", "k * K + m, K")
    random = np.random.default_rng(14)
    a, b = random.standard_normal((2, 32, 32)).astype("e")
    got = product(text, a, b, "f", ("col", "row", "row"))
    np.testing.assert_allclose(got, a.astype("d") @ b.astype("d"), atol=1e-4)
    a, b = random.standard_normal((64, 32)).astype("e"), random.standard_normal((32, 16)).astype("e")
    got = product(text, a, b, "f", ("col", "row", "row"))
    assert np.abs(got - a.astype("d") @ b.astype("d")).max() > 1


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (wmma(shape=(16, 16, 8)), "no such fragment: 16x16x16, 32x8x16"),
        (wmma(types=("__nv_bfloat16", "half")), "this accumulator does not go with A and B"),
        (wmma().replace("half, wmma::row_major> a", "half> a"), "needs row_major or col_major"),
        (wmma(types=("half", "float")).replace("c, N, wmma::mem_row_major", "c, N"), "store_matrix_sync"),
    ],
)
def test_what_the_hardware_does_not_have_does_not_compile(text, match):
    with pytest.raises(CompileError, match=match) as caught:
        compile_cuda(text)
    assert caught.value.lines and "of your cell" in str(caught.value)
    print(caught.value)
