"""CUDA C++ on a real GPU gives what it gives on the CPU, and what NumPy says. Needs a CUDA device and CuPy."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from labs.kit.gpu.cplusplus import compile_cuda, on_gpu
from labs.kit.native.failures import CompileError

try:
    MISSING = "" if on_gpu.gpu_wanted() else "no CUDA device here (or LABS_GPU=virtual): CUDA C++ runs on the CPU"
except RuntimeError as error:
    MISSING = str(error)
pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING or "a GPU is here")

SOURCE = runpy.run_path(str(Path(__file__).parents[1] / "kit" / "gpu" / "cuda_cpp_sources.py"))
SIZES = (0, 1, 31, 32, 33, 255, 256, 257, 1000)


def blocks(n, block):
    return max(1, -(-n // block))


def test_it_is_the_gpu():
    assert compile_cuda(SOURCE["ADD"]).where == "gpu"


@pytest.mark.parametrize("name", SOURCE["SOURCES"])
def test_every_source_compiles(name):
    text, kernels = SOURCE["SOURCES"][name]
    compile_cuda(text, *kernels)


def test_add_and_divide_every_size():
    add = compile_cuda(SOURCE["ADD"])
    divide8 = compile_cuda(SOURCE["DIVIDE8"])
    random = np.random.default_rng(1)
    for n in SIZES:
        a, b = random.standard_normal((2, n)).astype("f")
        out = np.full(n, 7, "f")
        add[blocks(n, 256), 256](a, b, out, n)
        np.testing.assert_array_equal(out, a + b)
        image = random.integers(0, 256, n).astype(np.uint8)
        out = np.zeros(n, np.uint8)
        divide8[blocks(n, 256), 32](image, out, n, 7)
        np.testing.assert_array_equal(out, image // 7)


def test_two_kernels_of_one_text_and_two_dimensions():
    tiled, scale = compile_cuda(SOURCE["TILED"])
    a, b = np.random.default_rng(2).standard_normal((2, 33, 33)).astype("e")
    c = np.zeros((33, 33), "f")
    tiled[(3, 3), (16, 16)](a, b, c, 33, 33, 33)
    expected = a.astype("d") @ b.astype("d")
    np.testing.assert_allclose(c, expected, atol=1e-3)
    scale[blocks(c.size, 100), 100](c, 2.0, c.size)
    np.testing.assert_allclose(c, 2 * expected, atol=2e-3)


def test_dynamic_shared_constants_and_templates():
    histogram, _ = compile_cuda(SOURCE["HISTOGRAM"])
    x = np.random.default_rng(4).integers(0, 256, 5000).astype(np.uint8)
    out = np.zeros(256, np.uint32)
    histogram[3, 128, None, 1024](x, out, 5000, 256)
    np.testing.assert_array_equal(out, np.bincount(x, minlength=256))

    blur = compile_cuda(SOURCE["CONSTANT"]).with_constants(weights=np.array([5, 6, 7], "f"), offset=np.int32(4))
    x, out = np.ones(33, "f"), np.zeros(33, "f")
    blur[2, 32](x, out, 33)
    np.testing.assert_allclose(out[1:-1], 22)

    rotate = compile_cuda(SOURCE["TEMPLATE"], "rotate<float, 8>")
    x, out = np.arange(8, dtype="f"), np.zeros(8, "f")
    rotate[1, 8](x, out, 3)
    np.testing.assert_array_equal(out, np.roll(x, -3))


@pytest.mark.parametrize("a", ["row", "col"])
@pytest.mark.parametrize("b", ["row", "col"])
@pytest.mark.parametrize("c", ["row", "col"])
def test_wmma_in_every_layout(a, b, c):
    random = np.random.default_rng(7)
    m, n, k = 64, 48, 80
    left, right = random.standard_normal((m, k)).astype("e"), random.standard_normal((k, n)).astype("e")
    stored = [x if layout == "row" else np.ascontiguousarray(x.T) for x, layout in ((left, a), (right, b))]
    out = np.zeros((m, n) if c == "row" else (n, m), "f")
    compile_cuda(SOURCE["wmma"](a, b, c))[(m // 16, n // 16), 32](*stored, out, m, n, k)
    np.testing.assert_allclose(out if c == "row" else out.T, left.astype("d") @ right.astype("d"), atol=1e-3)


@pytest.mark.parametrize("name", ["add", "reduce", "votes", "half", "bfloat16"])
def test_the_gpu_agrees_with_the_cpu(name, monkeypatch):
    text, kernels = SOURCE["SOURCES"][name]

    def arguments():
        x = np.random.default_rng(5).standard_normal((3, 256)).astype("f")
        return {
            "add": (1, 256, (*x[:2], np.zeros(256, "f"), 256)),
            "reduce": (1, 256, (np.round(x[0]), np.zeros(1, "f"), 256)),
            "votes": (1, 64, (np.zeros(20, np.int32), np.array([100], np.uint32), np.zeros(1, "f"))),
            "half": (1, 256, (*x.astype("e"), np.zeros(5 * 256, "e"), 256)),
            "bfloat16": (1, 32, (x[0], np.zeros(256, "f"))),
        }[name]

    results = []
    for where in ("real", "virtual"):
        monkeypatch.setenv("LABS_GPU", where)
        grid, block, values = arguments()
        compile_cuda(text, *kernels)[grid, block](*values)
        results.append(values)
    for ours, theirs in zip(*results):
        if isinstance(ours, np.ndarray):
            np.testing.assert_allclose(ours.astype("d"), theirs.astype("d"), rtol=1e-6, atol=1e-5)


def test_arrays_on_the_device_are_passed_as_they_are():
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    add = compile_cuda(SOURCE["ADD"])
    a, out = cupy.arange(100, dtype="f"), cupy.zeros(100, "f")
    add[4, 32](a, a, out, 100)
    np.testing.assert_array_equal(cupy.asnumpy(out), 2 * np.arange(100))


def test_wrong_arguments_and_wrong_code_are_told_in_the_same_words():
    add = compile_cuda(SOURCE["ADD"])
    with pytest.raises(TypeError, match="points to float32, but the array has dtype float64"):
        add[1, 1](np.zeros(3), np.zeros(3, "f"), np.zeros(3, "f"), 3)
    with pytest.raises(CompileError, match="line 2 of your cell"):
        compile_cuda("__global__ void k(float* a) {\n a[0] = undefined_thing;\n}")
