"""The lesson's kernels: right on every shape, wrong where the lesson says so, and what compilers make of them."""

import re
from pathlib import Path

import numpy as np
import pytest

from labs.kit.gpu import compile_cuda
from labs.kit.gpu.inspect import CompileFailed, available, examples, machine_code
from labs.tensor_cores import kernels
from labs.tensor_cores.trial import left_by

WITH_NVRTC = pytest.mark.skipif(
    not available()["cuda", "sass"], reason="NVRTC or nvdisasm is not installed: kernels cannot be compiled for a GPU"
)
WITH_TRITON = pytest.mark.skipif(not available()["triton", "ptx"], reason="Triton is not installed")
SHAPES = [(m, n, k) for m in range(16, 65, 16) for n in range(16, 49, 16) for k in range(16, 81, 16)]


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch):
    monkeypatch.setenv("LABS_GPU", "virtual")


def halves(*shape, seed=3):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float16)


def exact(a, b):
    return a.astype(np.float64) @ b.astype(np.float64)


def test_the_one_block_strides_are_right_for_one_block_only():
    """The figures of the lesson: 2 x 2 blocks leave 0 of 1,024 right and 496 unwritten."""
    broken = compile_cuda(kernels.ONE_BLOCK, races=False)
    c, want = left_by(broken, 1, 1)
    np.testing.assert_array_equal(c, want)
    c, want = left_by(broken, 2, 2)
    assert (c == want).sum() == 0 and np.isnan(c).sum() == 496
    for grid in ((1, 2), (3, 2), (4, 4)):
        c, want = left_by(broken, *grid)
        assert not np.array_equal(c, want), grid
    c, want = left_by(broken, 2, 1)  # a grid one block wide has rows as long as a tile
    np.testing.assert_array_equal(c, want)


@pytest.mark.parametrize("grid", [(1, 1), (2, 2), (3, 1), (1, 4), (5, 2)])
def test_the_tiled_kernel_is_right_for_any_grid(grid):
    c, want = left_by(compile_cuda(kernels.TILED), *grid)
    np.testing.assert_array_equal(c, want)


def test_wmma_on_every_shape():
    kernel = compile_cuda(kernels.WMMA)
    for m, n, k in SHAPES:
        a, b, c = halves(m, k), halves(k, n, seed=4), np.full((m, n), np.nan, np.float32)
        kernel[(n // 16, m // 16), 32](a, b, c, m, n, k)
        np.testing.assert_allclose(c, exact(a, b), rtol=1e-4, atol=1e-4)


def test_sums_in_half_are_worse():
    """Uniform inputs, K = 1,024, largest element: float below 1e-5, half above 1e-2."""
    rng = np.random.default_rng(0)
    a, b = rng.random((16, 1024)).astype(np.float16), rng.random((1024, 16)).astype(np.float16)
    floats, shorts = np.zeros((16, 16), np.float32), np.zeros((16, 16), np.float16)
    compile_cuda(kernels.WMMA)[(1, 1), 32](a, b, floats, 16, 16, 1024)
    compile_cuda(kernels.HALF_SUMS)[(1, 1), 32](a, b, shorts, 16, 16, 1024)
    error = lambda c: np.abs(c / exact(a, b) - 1).max()
    assert error(floats) < 1e-5
    assert 5e-4 < error(shorts)  # rounded once a step of 16, so it is better than a sum that is rounded each time


@pytest.mark.parametrize("shape", [(128, 128, 32), (256, 128, 96), (128, 256, 224)])
def test_the_fast_product(shape):
    m, n, k = shape
    a, b, c = halves(m, k), halves(k, n, seed=5), np.full((m, n), np.nan, np.float32)
    compile_cuda(kernels.FAST, "wmma_fast")[(n // 128, m // 128), 256, None, kernels.FAST_SHARED](a, b, c, m, n, k)
    np.testing.assert_allclose(c, exact(a, b), rtol=1e-4, atol=1e-3)


def test_divide8_is_exact_for_every_pixel_and_divisor():
    kernel = compile_cuda(kernels.DIVIDE8)
    image = np.arange(256, dtype=np.uint8)
    for divisor in range(1, 256):
        out = np.zeros_like(image)
        kernel[1, 32](image.view(np.uint32), out.view(np.uint32), 32, -(-65536 // divisor))
        np.testing.assert_array_equal(out, image // divisor)


@WITH_NVRTC
@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_what_nvidias_compiler_makes_of_them(target):
    wmma, tiled = machine_code(kernels.WMMA, target), machine_code(kernels.TILED, target)
    assert wmma.count("HMMA") >= 2 and wmma.count("HGMMA") == 0
    assert tiled.counts["tensor"] == tiled.count("HMMA") == 0 and tiled.counts["fma"] >= 16
    fast = machine_code(kernels.FAST, target, name="wmma_fast")
    assert fast.count("HMMA") >= 32 and fast.counts["async copy"] >= 4
    assert machine_code(kernels.DIVIDE8, target).widths("global load")[64] == 1


@WITH_NVRTC
def test_the_sums_are_in_the_name_of_the_instruction():
    floats, shorts = machine_code(kernels.WMMA, "sm_80"), machine_code(kernels.HALF_SUMS, "sm_80")
    assert floats.count(r"HMMA\.16816\.F32") == floats.count("HMMA") > 0
    assert shorts.count(r"HMMA\.16816\.F16") == shorts.count("HMMA") > 0


def test_the_listings_that_the_lesson_speaks_of():
    """Made here or stored with the course: the same claims hold."""
    tiled = machine_code(examples.TILED, "sm_80")
    assert tiled.counts["tensor"] == 0
    assert re.search(r"\bHFMA2\.MMA\b", tiled.text) and not re.search(r"\bHMMA\b", tiled.text)
    assert machine_code(examples.WMMA, "sm_75").count(r"HMMA\.1688") > 0
    for target in ("sm_80", "sm_90", "sm_100"):
        found = machine_code(examples.WMMA, target)
        assert found.count(r"HMMA\.16816") > 0 and found.count("HGMMA") == 0
    wanted = {"sm_75": None, "sm_80": "HMMA", "sm_90": "HGMMA", "sm_100": "UTCHMMA", "gfx90a": "v_mfma",
              "gfx942": "v_mfma", "gfx950": "v_mfma", "gfx1100": "v_wmma"}  # fmt: skip
    for target, opcode in wanted.items():
        found = machine_code(examples.TRITON, target, signature=examples.TRITON_TYPES)
        assert (found.count(opcode) > 0) if opcode else (found.counts["tensor"] == 0), target
    assert machine_code(examples.MFMA, "gfx942").count("v_mfma") == 1


@WITH_TRITON
def test_the_fast_triton_product_compiles_to_hgmma():
    from labs.tensor_cores.triton_product import product_kernel

    signature = "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, 128, 128, 64, 8"
    found = machine_code(product_kernel, "sm_90", signature=signature, options={"num_warps": 8})
    assert found.count("HGMMA") > 0


@WITH_NVRTC
def test_sm_70_is_refused():
    with pytest.raises(CompileFailed):
        machine_code(kernels.WMMA, "sm_70")


def test_the_notebook_holds_these_kernels():
    """The answers of the lesson are the kernels that are tested here."""
    import json

    path = Path(__file__).parents[2] / "solutions" / "06_tensor_cores.ipynb"
    cells = {cell["id"]: "".join(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]}
    strip = lambda text: re.sub(r"\s*//[^\n]*", "", text).split()
    assert strip(cells["wmma-product"].partition("\n")[2]) == strip(kernels.WMMA)


def test_a_leading_dimension_of_k_is_right_only_while_m_is_k():
    """A stored column by column and loaded with ld = K: what square tests let pass."""
    text = kernels.WMMA.replace(
        "matrix_a, 16, 16, 16, half, wmma::row_major", "matrix_a, 16, 16, 16, half, wmma::col_major"
    ).replace("A + row * K + k, K", "A + k * LD + row, LD")
    for ld, right in (("M", [True, True]), ("K", [True, False])):
        kernel = compile_cuda(text.replace("LD", ld))
        found = []
        for m, n, k in ((32, 48, 32), (48, 32, 16)):
            a, b, c = halves(m, k), halves(k, n, seed=4), np.full((m, n), np.nan, np.float32)
            kernel[(n // 16, m // 16), 32](np.ascontiguousarray(a.T), b, c, m, n, k)
            found.append(np.allclose(c, exact(a, b), rtol=1e-4, atol=1e-4))
        assert found == right, ld
