"""Lesson 06 on a real GPU: its kernels, the right answers, and wrong ones whose mistake a GPU shows as well."""

import importlib.util
import runpy
from pathlib import Path

import numpy as np
import pytest

from labs.kit.exercise.testing import assert_accepts, assert_rejects
from labs.kit.gpu import compile_cuda
from labs.kit.gpu.cplusplus import on_gpu
from labs.tensor_cores import exercises, kernels
from labs.tensor_cores.trial import left_by

try:
    MISSING = "" if on_gpu.gpu_wanted() else "no CUDA device here (or LABS_GPU=virtual): CUDA C++ runs on the CPU"
except RuntimeError as error:
    MISSING = str(error)
pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING or "a GPU is here")

ANSWERS = Path(__file__).parents[1] / "tensor_cores"
RIGHT = runpy.run_path(str(ANSWERS / "right_answers.py"))["RIGHT"]
WRONG = runpy.run_path(str(ANSWERS / "wrong_answers.py"))["WRONG"]
CUDA = ("tiled_grid", "wmma_product", "wmma_any", "dot_rows")
# A GPU does not report races and accesses beyond an array; and what it leaves of them differs from time to time.
SEEN = [
    ("tiled_grid", "one_block"),
    ("tiled_grid", "stride_of_a"),
    ("tiled_grid", "stride_of_b"),
    ("tiled_grid", "stride_of_c"),
    ("tiled_grid", "one_tile_deep"),
    ("wmma_product", "not_filled"),
    ("wmma_product", "only_the_last"),
    ("wmma_product", "transposed"),
    ("wmma_product", "not_stored"),
    ("wmma_product", "no_product"),
    ("wmma_any", "one_tile"),
    ("dot_rows", "half_sum"),
    ("dot_rows", "half_product"),
    ("dot_rows", "lost_tail"),
    ("dot_rows", "nothing"),
    ("dot_rows", "value"),
]


@pytest.mark.parametrize(("name", "style"), [(name, style) for name in CUDA for style in RIGHT[name]])
def test_right_answers_pass(name, style):
    assert_accepts(getattr(exercises, name), RIGHT[name][style])


@pytest.mark.parametrize(("name", "hint"), SEEN)
def test_wrong_answers_meet_their_hints(name, hint):
    assert_rejects(getattr(exercises, name), WRONG[name][hint], hint)


def test_the_one_block_strides():
    broken = compile_cuda(kernels.ONE_BLOCK)
    c, want = left_by(broken, 1, 1)
    np.testing.assert_array_equal(c, want)
    c, want = left_by(broken, 2, 2)
    assert np.isnan(c).sum() == 496 and not np.array_equal(c, want)


def test_errors_of_float_and_half_sums():
    rng = np.random.default_rng(0)
    a, b = rng.random((16, 1024)).astype(np.float16), rng.random((1024, 16)).astype(np.float16)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    floats, shorts = np.zeros((16, 16), np.float32), np.zeros((16, 16), np.float16)
    compile_cuda(kernels.WMMA)[(1, 1), 32](a, b, floats, 16, 16, 1024)
    compile_cuda(kernels.HALF_SUMS)[(1, 1), 32](a, b, shorts, 16, 16, 1024)
    assert np.abs(floats / exact - 1).max() < 1e-5 < 5e-4 < np.abs(shorts / exact - 1).max()


@pytest.mark.parametrize("shape", [(128, 128, 32), (256, 128, 96), (128, 256, 224), (512, 384, 1024)])
def test_the_fast_product(shape):
    m, n, k = shape
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((m, k)).astype(np.float16), rng.standard_normal((k, n)).astype(np.float16)
    c = np.full((m, n), np.nan, np.float32)
    compile_cuda(kernels.FAST, "wmma_fast")[(n // 128, m // 128), 256, None, kernels.FAST_SHARED](a, b, c, m, n, k)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-4, atol=1e-2)


def test_divide8():
    image = np.random.default_rng(2).integers(0, 256, 8000).astype(np.uint8)
    out = np.zeros_like(image)
    kernel = compile_cuda(kernels.DIVIDE8)
    for divisor in (1, 2, 3, 7, 100, 255):
        kernel[4, 256](image.view(np.uint32), out.view(np.uint32), 1000, -(-65536 // divisor))
        np.testing.assert_array_equal(out, image // divisor)


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
def test_the_triton_product():
    import torch

    from labs.tensor_cores.triton_product import product

    torch.manual_seed(0)
    a, b = (torch.randn(512, 512, device="cuda", dtype=torch.float16) for _ in "ab")
    c = torch.empty_like(a)
    product(a, b, c)
    torch.testing.assert_close(c, a @ b, rtol=2e-2, atol=5e-2)


def test_the_lessons_own_measurement():
    from labs.tensor_cores.trial import timed

    times = timed(compile_cuda(kernels.TILED), compile_cuda(kernels.WMMA))
    assert set(times) == {"tiled", "WMMA", "cuBLAS"} and all(seconds > 0 for seconds in times.values())
