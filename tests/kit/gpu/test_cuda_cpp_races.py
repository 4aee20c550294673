"""Races are found and named by both lines and both threads; correct kernels raise no alarm."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from labs.kit.gpu.cplusplus import compile_cuda
from labs.kit.gpu.cplusplus.failures import Race

SOURCE = runpy.run_path(str(Path(__file__).parent / "cuda_cpp_sources.py"))


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch):
    monkeypatch.setenv("LABS_GPU", "virtual")


def race(text, *arguments, grid=1, block=32):
    arguments = arguments or (np.zeros(256, "f"),)
    with pytest.raises(Race) as caught:
        compile_cuda(text)[grid, block](*arguments)
    print(f"\n{caught.value}")
    return caught.value.as_data()


def silent(text, *arguments, grid=1, block=32, names=()):
    kernel = compile_cuda(text, *names)
    kernel[grid, block](*arguments)


NEIGHBOUR = """__global__ void k(float* a) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = t;
  BARRIER
  a[t] = s[63 - t];
}"""


def test_a_missing_barrier_before_a_read():
    data = race(NEIGHBOUR.replace("BARRIER", ""), block=64)
    assert {data["line"], data["other_line"]} == {4, 6}
    thread, other = data["thread"][0], data["other_thread"][0]
    assert thread + other == 63 and data["write"] != data["other_write"]
    assert "__syncthreads()" in data["text"] and "s[t] = t;" in data["text"] and "a[t] = s[63 - t];" in data["text"]


def test_syncwarp_orders_a_warp_but_not_two():
    a = np.zeros(64, "f")
    silent(NEIGHBOUR.replace("BARRIER", "__syncthreads();"), a, block=64)
    silent(NEIGHBOUR.replace("63", "31").replace("BARRIER", "__syncwarp();"), a, block=32)
    race(NEIGHBOUR.replace("BARRIER", "__syncwarp();"), block=64)


def test_a_missing_barrier_before_memory_is_used_again():
    end = SOURCE["TILED"].rindex("    __syncthreads();\n")
    text = SOURCE["TILED"][:end] + "\n" + SOURCE["TILED"][end + len("    __syncthreads();\n") :]
    a, c = np.ones((32, 32), "e"), np.zeros((32, 32), "f")
    with pytest.raises(Race) as caught:
        compile_cuda(text, "tiled")[(2, 2), (16, 16)](a, a, c, 32, 32, 32)
    data = caught.value.as_data()
    assert {data["line"], data["other_line"]} & {8, 9} and 11 in {data["line"], data["other_line"]}


def test_a_barrier_that_the_tail_of_a_loop_lacks():
    text = """__global__ void k(float* a) {
  __shared__ float s[128];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  for (int d = 64; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];
    BARRIER
  }
  if (t == 0) a[0] = s[0];
}"""
    data = race(text.replace("BARRIER", "if (d > 32) __syncthreads();"), np.ones(128, "f"), block=128)
    assert data["line"] == data["other_line"] == 7
    x = np.ones(128, "f")
    silent(text.replace("BARRIER", "__syncthreads();"), x, block=128)
    assert x[0] == 128


def test_plus_equals_in_place_of_an_atomic_operation():
    text = """__global__ void k(float* a) {
  __shared__ float sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  ADD
  __syncthreads();
  if (threadIdx.x == 0) a[0] = sum;
}"""
    data = race(text.replace("ADD", "sum += 1;"))
    assert data["line"] == data["other_line"] == 5
    x = np.zeros(1, "f")
    silent(text.replace("ADD", "atomicAdd(&sum, 1);"), x)
    assert x[0] == 32


WARP_SYNCHRONOUS = """__global__ void k(float* a) {
  __shared__ float memory[32];
  volatile float* s = memory;
  int t = threadIdx.x;
  s[t] = a[t];
  SYNC
  for (int d = 16; d > 0; d /= 2) { float v = t < d ? s[t] + s[t + d] : s[t]; SYNC s[t] = v; SYNC }
  if (t == 0) a[0] = s[0];
}"""


def test_a_warp_that_relies_on_lockstep():
    race(WARP_SYNCHRONOUS.replace("SYNC", ""), np.ones(32, "f"))
    x = np.ones(32, "f")
    silent(WARP_SYNCHRONOUS.replace("SYNC", "__syncwarp();"), x)
    assert x[0] == 32


def test_a_plain_read_of_what_is_added_to_atomically():
    text = """__global__ void k(int* a) {
  __shared__ int bins[4];
  if (threadIdx.x < 4) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[threadIdx.x % 4], 1);
  BARRIER
  if (threadIdx.x < 4) a[threadIdx.x] = bins[threadIdx.x];
}"""
    data = race(text.replace("BARRIER", ""), np.zeros(4, np.int32))
    assert {data["line"], data["other_line"]} == {5, 7} and "atomically" in data["text"]
    a = np.zeros(4, np.int32)
    silent(text.replace("BARRIER", "__syncthreads();"), a)
    assert (a == 8).all()


def test_blocks_that_share_an_element():
    text = "__global__ void k(float* a) {\n  if (threadIdx.x == 0)\n    ADD\n}"
    data = race(text.replace("ADD", "a[0] += 1;"), grid=4)
    assert data["line"] == data["other_line"] == 3
    assert (data["block"], data["other_block"]) == ([1, 0, 0], [0, 0, 0]) and (data["array"], data["index"]) == ("a", 0)
    assert "Nothing orders two blocks" in data["text"]
    a = np.zeros(1, "f")
    silent(text.replace("ADD", "atomicAdd(a, 1);"), a, grid=4)
    assert a[0] == 4


def test_neighbouring_tiles_in_place():
    text = """__global__ void smooth(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = i < n - 1 ? x[i] + x[i + 1] : 0;
  __syncthreads();
  if (i < n - 1) x[i] = v;
}"""
    data = race(text, np.zeros(200, "f"), 200, grid=4, block=64)
    assert (data["line"], data["other_line"]) == (5, 3) and data["index"] == 64
    silent(text, np.zeros(64, "f"), 64, grid=1, block=64)


def test_two_launches_are_ordered():
    add = compile_cuda("__global__ void k(float* a) { if (threadIdx.x == 0) a[0] += 1; }")
    a = np.zeros(1, "f")
    for _ in range(3):
        add[1, 32](a)
    assert a[0] == 3


def test_fences_and_flags_raise_no_alarm():
    """The last block adds up what the others have left (CUDA's threadFenceReduction)."""
    text = """__device__ unsigned done = 0;
__global__ void k(const float* x, float* parts, float* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = x[blockIdx.x];
    __threadfence();
    last = atomicInc(&done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) { float sum = 0; for (int i = 0; i < gridDim.x; i++) sum += parts[i]; out[0] = sum; }
}"""
    x, out = np.arange(8, dtype="f"), np.zeros(1, "f")
    for _ in range(2):
        silent(text, x, np.zeros(8, "f"), out, grid=8)
        assert out[0] == 28


def test_bytes_beside_each_other_are_different_elements():
    text = """__global__ void k(unsigned char* a) {
  __shared__ unsigned char s[64];
  int t = threadIdx.x;
  s[t] = t;
  a[t] = s[t];
}"""
    a = np.zeros(64, np.uint8)
    silent(text, a, block=64)
    np.testing.assert_array_equal(a, np.arange(64))
    data = race(text.replace("= s[t]", "= s[t ^ 1]"), a, block=64)
    assert data["other_line"] in (4, 5)


def test_halves_of_a_wide_word_belong_to_it():
    """A thread writes eight bytes at once, its neighbour reads one of them."""
    text = """__global__ void k(unsigned char* a) {
  int t = threadIdx.x;
  ((uint2*)a)[t] = make_uint2(t, t);
  BARRIER
  a[200 + t] = a[8 * (t ^ 1) + 4];
}"""
    race(text.replace("BARRIER", ""), np.zeros(256, np.uint8), block=16)
    silent(text.replace("BARRIER", "__syncthreads();"), np.zeros(256, np.uint8), block=16)


def test_races_of_fragments():
    """One warp writes the tile that the other one loads."""
    text = """#include <mma.h>
using namespace nvcuda;
__global__ void k(float* C) {
  __shared__ __align__(32) float tile[256];
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  if (threadIdx.x < 32) {
    wmma::fill_fragment(c, 1.0f);
    wmma::store_matrix_sync(tile, c, 16, wmma::mem_row_major);
  }
  BARRIER
  if (threadIdx.x >= 32) {
    wmma::load_matrix_sync(c, tile, 16, wmma::mem_row_major);
    wmma::store_matrix_sync(C, c, 16, wmma::mem_row_major);
  }
}"""
    data = race(text.replace("BARRIER", ""), block=64)
    assert {data["line"], data["other_line"]} == {8, 12}
    c = np.zeros(256, "f")
    silent(text.replace("BARRIER", "__syncthreads();"), c, block=64)
    assert (c == 1).all()


def test_the_search_can_be_left_out():
    compile_cuda(NEIGHBOUR.replace("BARRIER", ""), races=False)[1, 64](np.zeros(64, "f"))
