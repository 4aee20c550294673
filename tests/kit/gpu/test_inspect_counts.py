"""What the lessons claim about machine code, by counts. Each compiler runs here, or the skip says what is missing."""

import re

import numpy as np
import pytest

from labs.kit.gpu.inspect import CompileFailed, examples, machine_code
from labs.kit.gpu.inspect.devices import missing, sentence


@pytest.fixture
def need():
    """Skip, with the sentence that a learner would read, where a compiler is not installed."""

    def check(language, format):
        if lacking := missing(language, format):
            pytest.skip(sentence(language, format, lacking))

    return check


def opcodes(listing, kind):
    return {each.opcode for each in listing.instructions if each.kind == kind}


# What "does it use tensor cores?" rests on, read from the text by a search that knows nothing of our classes.
NVIDIA_TENSOR = re.compile(r"\b(?:HMMA|HGMMA|UTCHMMA)\b")


@pytest.mark.parametrize(
    ("target", "shape"), [("sm_75", "1688"), ("sm_80", "16816"), ("sm_90", "16816"), ("sm_100", "16816")]
)
def test_wmma_becomes_hmma_of_the_generations_shape(need, target, shape):
    need("cuda", "sass")
    listing = machine_code(examples.WMMA, target)
    assert opcodes(listing, "tensor") == {f"HMMA.{shape}.F32"}
    assert listing.count("HMMA") == listing.counts["tensor"] == len(re.findall(r"\bHMMA\b", listing.text)) > 0
    assert listing.count("HGMMA") == 0, "WMMA never becomes Hopper's warp-group instruction"
    assert listing.counts["fma"] == 0


def test_the_scalar_tiled_kernel_has_no_tensor_instruction(need):
    need("cuda", "sass")
    for target in ("sm_75", "sm_80", "sm_90"):
        listing = machine_code(examples.TILED, target)
        assert listing.counts["tensor"] == listing.count("HMMA") == 0 and not NVIDIA_TENSOR.search(listing.text)
        assert listing.counts["fma"] == listing.count("FFMA") >= 16, "a step of the inner loop for each of 16 products"
        assert listing.counts["barrier"] == 2 and listing.count("BAR.SYNC") == 2
        assert "no tensor instruction" in listing.summary
    same = machine_code(examples.WMMA, "sm_80").count("HMMA") - machine_code(examples.TILED, "sm_80").count("HMMA")
    assert same == machine_code(examples.WMMA, "sm_80").count("HMMA") > 0


def test_packed_half_arithmetic_is_no_tensor_instruction(need):
    need("cuda", "sass")
    kernel = """
#include <cuda_fp16.h>
extern "C" __global__ void axpy(const half2 *x, half2 *y, half2 a) {
  int i = threadIdx.x;
  y[i] = __hfma2(a, x[i], y[i]);
}"""
    listing = machine_code(kernel, "sm_80")
    assert listing.count("HFMA2.MMA") >= 1, "this compiler writes the packed product so: the trap is real"
    assert listing.count("HMMA") == listing.counts["tensor"] == 0
    assert listing.counts["fma"] == 1


@pytest.mark.parametrize(
    ("target", "pattern"),
    [
        ("sm_75", None),
        ("sm_80", "HMMA"),
        ("sm_90", "HGMMA"),
        ("sm_100", "UTCHMMA"),
        ("gfx90a", "v_mfma"),
        ("gfx942", "v_mfma"),
        ("gfx950", "v_mfma"),
        ("gfx1100", "v_wmma"),
    ],
)
def test_tritons_dot(need, target, pattern):
    need("triton", "gcn" if target.startswith("gfx") else "sass")
    listing = machine_code(examples.TRITON, target, signature=examples.TRITON_TYPES)
    if pattern is None:
        assert listing.counts["tensor"] == 0 and not NVIDIA_TENSOR.search(listing.text) and listing.counts["fma"] > 0
        return
    assert listing.count(pattern) == listing.counts["tensor"] == len(re.findall(rf"\b{pattern}", listing.text)) > 0
    lines = {each.line for each in listing.find(pattern)}
    assert [listing.source.splitlines()[line - 1].strip() for line in lines] == ["total = tl.dot(left, right, total)"]


@pytest.mark.parametrize(
    ("target", "pattern"),
    [("sm_80", r"mma\.sync"), ("sm_90", r"wgmma\.mma_async"), ("sm_100", r"tcgen05\.mma"), ("sm_75", None)],
)
def test_tritons_dot_in_ptx(need, target, pattern):
    need("triton", "ptx")
    listing = machine_code(examples.TRITON, target, format="ptx", signature=examples.TRITON_TYPES)
    assert listing.counts["tensor"] == (listing.count(pattern) if pattern else 0)
    assert (listing.counts["tensor"] > 0) == bool(pattern)
    assert listing.counts["global store"] == 8 and listing.widths("global store")[128] == 8


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950"])
def test_amds_built_in_function_becomes_mfma(need, target):
    need("hip", "gcn")
    listing = machine_code(examples.MFMA, target)
    name = "v_mfma_f32_16x16x16f16" if target == "gfx90a" else "v_mfma_f32_16x16x16_f16"
    assert opcodes(listing, "tensor") == {name} and listing.count("v_mfma") == listing.text.count("v_mfma") == 1
    (step,) = listing.find("v_mfma")
    assert "__builtin_amdgcn_mfma" in listing.source.splitlines()[step.line - 1]
    assert listing.widths("global store") == {32: 4}


def test_shared_memory_and_barriers_of_a_hip_kernel(need):
    need("hip", "gcn")
    kernel = """
__device__ float twice(float x) { return 2 * x; }
__global__ void reverse(const float *from, float *to) {
  __shared__ float tile[256];
  tile[threadIdx.x] = from[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  to[blockIdx.x * 256 + threadIdx.x] = twice(tile[255 - threadIdx.x]);
}"""
    for target in ("gfx942", "gfx1100"):
        found = machine_code(kernel, target)
        kinds = ("global load", "shared store", "barrier", "shared load", "global store", "tensor")
        assert [found.counts[kind] for kind in kinds] == [1, 1, 1, 1, 1, 0]
        assert found.widths("shared load") == found.widths("global load") == {32: 1}


def test_rdna_has_no_mfma_and_says_so(need):
    need("hip", "gcn")
    with pytest.raises(CompileFailed, match=r"gfx1100: that GPU has no instruction for amdgcn\.mfma"):
        machine_code(examples.MFMA, "gfx1100")


def test_eight_pixels_by_one_load_in_cuda(need):
    need("cuda", "sass")
    ptx = machine_code(examples.DIVIDE8, "sm_80", format="ptx")
    assert ptx.widths("global load") == {64: 1} and ptx.widths("global store") == {64: 1}
    sass = machine_code(examples.DIVIDE8, "sm_80")
    assert sass.count("LDG.E.64") == sass.widths("global load")[64] == 1
    assert sass.count("STG.E.64") == sass.widths("global store")[64] == 1


def divide(image, out, divisor):
    i = cuda.grid(1)  # noqa: F821
    if i < image.size:
        out[i] = image[i] // divisor


def divide8(words, out, divisor):
    i = cuda.grid(1)  # noqa: F821
    if i < words.size:
        word, result = words[i], np.uint64(0)
        for k in range(8):
            shift = np.uint64(8 * k)
            result |= (((word >> shift) & np.uint64(255)) // divisor) << shift
        out[i] = result


def test_eight_pixels_by_one_load_in_numba(need):
    need("numba", "sass")
    words, number = np.zeros(4, np.uint64), np.uint64(3)
    ptx = machine_code(divide8, "sm_80", format="ptx", args=(words, words, number))
    assert ptx.count(r"ld\.global\.[ub]64") == ptx.widths("global load")[64] == 1
    sass = machine_code(divide8, "sm_80", args=(words, words, number))
    assert sass.count("LDG.E.64") == 1 and sass.widths("global load") == {64: 1}
    pixels = np.zeros(4, np.uint8)
    one = machine_code(divide, "sm_80", args=(pixels, pixels, 3))
    assert one.widths("global load") == {8: 1} and one.count("LDG.E.64") == 0


def test_an_instruction_knows_its_line(need):
    need("numba", "sass")
    pixels = np.zeros(4, np.uint8)
    listing = machine_code(divide, "sm_80", args=(pixels, pixels, 3))
    lines = listing.source.splitlines()
    assert lines[0] == "@cuda.jit" and lines[1].startswith("def divide")
    for kind in ("global load", "global store"):
        assert {lines[each.line - 1].strip() for each in listing.instructions if each.kind == kind} == {
            "out[i] = image[i] // divisor"
        }


def test_lines_of_inlined_headers_are_those_that_use_them(need):
    need("cuda", "sass")
    for format in ("sass", "ptx"):
        listing = machine_code(examples.WMMA, "sm_80", format=format)
        used = {each.line for each in listing.instructions if each.kind == "tensor"}
        assert [listing.source.splitlines()[line - 1].strip() for line in used] == ["wmma::mma_sync(c, a, b, c);"]
