"""CUDA C++ on the CPU computes what NumPy computes, checked and fast, for sizes around those of warps and blocks."""

import os
import runpy
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from labs.kit.gpu.cplusplus import compile_cuda

SOURCE = runpy.run_path(str(Path(__file__).parent / "cuda_cpp_sources.py"))
SIZES = (0, 1, 31, 32, 33, 255, 256, 257, 1000)


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch):
    monkeypatch.setenv("LABS_GPU", "virtual")


@pytest.fixture(params=[True, False], ids=["checked", "fast"])
def checked(request):
    return request.param


def blocks(n, block):
    return max(1, -(-n // block))


@pytest.mark.parametrize("block", [32, 100, 256])
def test_add_every_size(checked, block):
    add = compile_cuda(SOURCE["ADD"], checked=checked)
    random = np.random.default_rng(1)
    for n in SIZES:
        a, b = random.standard_normal((2, n)).astype("f")
        out = np.full(n, 7, "f")
        assert add[blocks(n, block), block](a, b, out, n) is None
        np.testing.assert_array_equal(out, a + b)


@pytest.mark.parametrize("name", ["divide", "divide8"])
def test_divide_images_of_every_size(checked, name):
    kernel = compile_cuda(SOURCE["GRID_STRIDE"] + SOURCE["DIVIDE8"], name, checked=checked)
    random = np.random.default_rng(2)
    for n in SIZES:
        image = random.integers(0, 256, n).astype(np.uint8)
        out = np.zeros(n, np.uint8)
        grid = 3 if name == "divide" else blocks(n, 32 * 8)
        kernel[grid, 32](image, out, n, 7)
        np.testing.assert_array_equal(out, image // 7)


@pytest.mark.parametrize("shape", [(16, 16, 16), (33, 17, 31), (48, 64, 1), (1, 1, 1)])
def test_tiled_product_then_a_second_kernel_of_the_same_text(checked, shape):
    tiled, scale = compile_cuda(SOURCE["TILED"], checked=checked)
    random = np.random.default_rng(3)
    m, n, k = shape
    a, b = random.standard_normal((m, k)).astype("e"), random.standard_normal((k, n)).astype("e")
    c = np.zeros((m, n), "f")
    tiled[(blocks(n, 16), blocks(m, 16)), (16, 16)](a, b, c, m, n, k)
    expected = a.astype("d") @ b.astype("d")
    np.testing.assert_allclose(c, expected, atol=1e-5 * k)
    scale[blocks(c.size, 100), 100](c, 2.0, c.size)
    np.testing.assert_allclose(c, 2 * expected, atol=2e-5 * k)


def test_reduction_by_shuffles(checked):
    reduce = compile_cuda(SOURCE["REDUCE"], checked=checked)
    for n in SIZES:
        x, out = np.random.default_rng(n).integers(-9, 9, n).astype("f"), np.zeros(1, "f")
        reduce[blocks(n, 256), 256](x, out, n)
        assert out[0] == x.sum()


def test_dynamic_shared_memory(checked):
    histogram, reverse = compile_cuda(SOURCE["HISTOGRAM"], checked=checked)
    x = np.random.default_rng(4).integers(0, 256, 5000).astype(np.uint8)
    out = np.zeros(256, np.uint32)
    histogram[3, 128, None, 1024](x, out, 5000, 256)
    np.testing.assert_array_equal(out, np.bincount(x, minlength=256))
    row = np.arange(64, dtype="f")
    reverse[1, 64, 0, 256](row)
    np.testing.assert_array_equal(row, np.arange(64)[::-1])


def test_votes_barriers_that_count_and_atomics(checked):
    o, u, f = np.zeros(20, np.int32), np.array([100], np.uint32), np.zeros(1, "f")
    compile_cuda(SOURCE["VOTES"], checked=checked)[1, 64](o, u, f)
    ballot = [11, 1, 0, 1, 1, 0, 10, 1, 1]
    atomic = [63, -63, 7, 5]
    assert o[:18].tolist() == [*ballot, *atomic, 36, 35, 5, 1 + 4 + 3 + 250 + 4, 8]
    assert u[0] == 36 and f[0] == 32


def test_constant_memory_given_in_the_text_and_from_python(checked):
    blur = compile_cuda(SOURCE["CONSTANT"], checked=checked)
    x, out = np.random.default_rng(5).standard_normal(33).astype("f"), np.zeros(33, "f")

    def expected(weights, offset):
        around = np.concatenate([[0], x, [0]])
        return weights[0] * around[:-2] + weights[1] * around[1:-1] + weights[2] * around[2:] + offset

    blur.with_constants(offset=np.int32(0))[2, 32](x, out, 33)
    np.testing.assert_allclose(out, expected((1, 2, 3), 0), rtol=1e-5, atol=1e-5)
    other = blur.with_constants(weights=np.array([5, 6, 7], "f"), offset=np.int32(4))
    other[2, 32](x, out, 33)
    np.testing.assert_allclose(out, expected((5, 6, 7), 4), rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match=r"no __constant__ weight here .there is: weights, offset"):
        blur.with_constants(weight=[1.0])


def test_constant_memory_needs_the_right_type_and_size():
    blur = compile_cuda(SOURCE["CONSTANT"])
    x = np.zeros(3, "f")
    with pytest.raises(TypeError, match=r"weights.*float32"):
        blur.with_constants(weights=np.array([1.0, 2.0, 3.0]))[1, 32](x, x.copy(), 3)
    with pytest.raises(TypeError, match=r"weights.*12 bytes"):
        blur.with_constants(weights=np.zeros(4, "f"))[1, 32](x, x.copy(), 3)


def test_templates(checked):
    small, large = compile_cuda(SOURCE["TEMPLATE"], "rotate<float, 8>", "rotate<int, 32>", checked=checked)
    x, out = np.arange(8, dtype="f"), np.zeros(8, "f")
    small[1, 8](x, out, 3)
    np.testing.assert_array_equal(out, np.roll(x, -3))
    y, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    large[1, 32](y, out, 5)
    np.testing.assert_array_equal(out, np.roll(y, -5))


def test_three_dimensional_grids_and_blocks():
    where = compile_cuda("""__global__ void where(int* out, int nx, int ny) {
      int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
      int z = blockIdx.z * blockDim.z + threadIdx.z;
      out[(z * ny + y) * nx + x] = x + 100 * y + 10000 * z;
    }""")
    out = np.zeros((4, 6, 8), np.int32)
    where[(2, 3, 2), (4, 2, 2)](out, 8, 6)
    z, y, x = np.indices(out.shape)
    np.testing.assert_array_equal(out, x + 100 * y + 10000 * z)


def test_the_same_array_twice_is_one_array(checked):
    add = compile_cuda(SOURCE["ADD"], checked=checked)
    x = np.arange(100, dtype="f")
    add[4, 32](x, x, x, 100)
    np.testing.assert_array_equal(x, 2 * np.arange(100))


def test_half_arithmetic_is_rounded_once():
    """All results but the fused multiply-add have NumPy's as oracle; that one exact fractions."""
    random = np.random.default_rng(6)
    n = 4000
    bits = random.integers(0, 0x7800, (3, n)) | random.integers(0, 2, (3, n)) << 15
    a, b, c = bits.astype(np.uint16).view("e")
    out = np.zeros((5, n), "e")
    compile_cuda(SOURCE["HALF_ARITHMETIC"])[blocks(n, 256), 256](a, b, c, out, n)
    with np.errstate(all="ignore"):
        for got, wanted in zip(out[[0, 1, 3, 4]], [a + b, a * b, a / b, (a + b) - c]):
            np.testing.assert_array_equal(np.nan_to_num(got, nan=7), np.nan_to_num(wanted, nan=7))
        for i in np.flatnonzero(np.isfinite(out[2])):
            exact = Fraction(float(a[i])) * Fraction(float(b[i])) + Fraction(float(c[i]))
            near = [np.nextafter(out[2, i], np.float16(end)) for end in (-np.inf, np.inf)]
            errors = [abs(Fraction(float(value)) - exact) for value in near if np.isfinite(value)]
            assert abs(Fraction(float(out[2, i])) - exact) <= min(errors)


def test_shared_memory_is_undefined_at_the_start_of_each_block(checked):
    read = compile_cuda(
        "__global__ void k(float* o) { __shared__ float s[32]; int t = threadIdx.x; o[blockIdx.x * 32 + t] = s[t];"
        " s[t] = 1; __syncthreads(); }",
        checked=checked,
    )
    out = np.zeros(64, "f")
    read[2, 32](out)
    assert np.isnan(out).all()


def test_printf_reaches_python(capsys):
    compile_cuda('__global__ void k(int* a) { printf("t%d ", threadIdx.x); }')[1, 3](np.zeros(1, np.int32))
    assert capsys.readouterr().out == "t0 t1 t2 "


def test_scalars_take_the_type_of_their_parameter():
    echo = compile_cuda("""#include <cuda_fp16.h>
    #include <cuda_bf16.h>
    typedef unsigned long long word;
    __global__ void echo(double* o, char a, unsigned char b, short c, long long d, word e, bool f, float g, double h,
                         half i, __nv_bfloat16 j, float4 k) {
      double all[] = {(double)a, (double)b, (double)c, (double)d, (double)e, (double)f, g, h, (double)(float)i,
                      (double)(float)j, k.x, k.w};
      for (int n = 0; n < 12; n++) o[n] = all[n];
    }""")
    out = np.zeros(12)
    echo[1, 1](out, -3, 200, -300, -(2**40), np.int64(7), True, 0.1, 0.1, 0.1, 0.1, (1.0, 2.0, 3.0, 4.0))
    expected = [-3, 200, -300, -(2**40), 7, 1, np.float32(0.1), 0.1, np.float16(0.1), 0.10009765625, 1, 4]
    np.testing.assert_array_equal(out, np.array(expected, float))


def test_torch_tensors_on_the_cpu_are_changed_in_place():
    torch = pytest.importorskip("torch")
    add = compile_cuda(SOURCE["ADD"])
    a, out = torch.arange(40.0), torch.zeros(40)
    add[2, 32](a, a, out, 40)
    assert torch.equal(out, 2 * a)


def test_threads_that_have_left_may_be_let_pass():
    text = "__global__ void k(float* a) { int i = threadIdx.x; if (i >= 20) return; __syncthreads(); a[i] = 1; }"
    out = np.zeros(32, "f")
    compile_cuda(text, strict=False)[1, 32](out)
    assert out.sum() == 20


def test_the_same_answer_with_ucontext(tmp_path):
    """The fibers of other processors, on this one."""
    from labs.kit.gpu.cplusplus.building import worker_text
    from labs.kit.native.toolchain import build

    text, flags = "#define FIBERS_BY_UCONTEXT 1\n" + worker_text(), ("-march=native", "-rdynamic", "-ldl")
    program = build(text, name="cuda-worker-portable", flags=flags, kind="program")
    from unittest import mock

    from labs.kit.gpu.cplusplus import child, on_cpu

    nursery = child.Nursery()
    with mock.patch.object(child, "worker_program", lambda: program), mock.patch.object(on_cpu, "NURSERY", nursery):
        try:
            x, out = np.arange(1000, dtype="f"), np.zeros(1, "f")
            compile_cuda(SOURCE["REDUCE"])[4, 256](x, out, 1000)
            assert out[0] == x.sum()
            with pytest.raises(Exception, match="wait in __syncthreads at line 1 of your cell"):
                compile_cuda("__global__ void k() { if (threadIdx.x) __syncthreads(); }")[1, 8]()
        finally:
            nursery.close()
    assert os.path.exists(program)
