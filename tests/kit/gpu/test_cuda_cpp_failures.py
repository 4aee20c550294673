"""Each way in which a kernel can fail is named with its line and thread, and leaves arrays and later launches alone."""

import runpy
import time
from pathlib import Path

import numpy as np
import pytest

from labs.kit.gpu.cplusplus import compile_cuda
from labs.kit.gpu.cplusplus.failures import (
    AssertionFailed,
    Crashed,
    DivergentBarrier,
    DividedByZero,
    EndlessLoop,
    KernelFailure,
    LaunchFailed,
    Misaligned,
    OutOfBounds,
    StackOverflow,
    Unfit,
    WrongType,
)

SOURCE = runpy.run_path(str(Path(__file__).parent / "cuda_cpp_sources.py"))
wmma = SOURCE["wmma"]
both = pytest.mark.parametrize("checked", [True, False], ids=["checked", "fast"])


@pytest.fixture(autouse=True)
def unharmed(monkeypatch):
    monkeypatch.setenv("LABS_GPU", "virtual")
    yield
    out = np.zeros(4, "f")
    compile_cuda("__global__ void one(float* o) { o[threadIdx.x] = 1; }")[1, 4](out)
    assert (out == 1).all()


def fails(kind, text, match, *arguments, grid=1, block=32, **options):
    """Launch the one kernel of `text`; its failure, after what must hold for every failure has been checked."""
    arguments = arguments or (np.zeros(100, "f"),)
    before = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    kernel = compile_cuda(text, **options)
    with pytest.raises(kind, match=match) as caught:
        kernel[grid, block](*arguments)
    for now, then in zip(arguments, before):
        assert np.array_equal(now, then)
    failure = caught.value
    print(f"\n{failure}")
    assert isinstance(failure, KernelFailure)
    data = failure.as_data()
    assert data["kind"] == kind.kind and data["text"] == str(failure) and "emulated" not in str(failure)
    return data


def place(data):
    return (data["line"], *map(tuple, (data["thread"], data["block"])))


# ---- bounds --------------------------------------------------------------------------------------------------------
def test_a_write_beyond_the_end():
    text = "__global__ void k(float* o)\n{\n  int i = blockIdx.x * 32 + threadIdx.x;\n  o[i] = i;\n}"
    data = fails(OutOfBounds, text, "k writes to element 100 of 'o', which has elements 0 to 99", grid=4)
    assert place(data) == (4, (4, 0, 0), (3, 0, 0)) and (data["array"], data["index"], data["size"]) == ("o", 100, 100)
    assert "at line 4 of your cell, in k: o[i] = i;" in data["text"]
    assert "by thread (4, 0, 0) of block (3, 0, 0)" in data["text"]


def test_a_read_before_the_beginning():
    text = "__global__ void k(const float* a, float* o) {\n o[threadIdx.x] = a[(int)threadIdx.x - 1];\n}"
    data = fails(OutOfBounds, text, "k reads element -1 of 'a'", np.zeros(32, "f"), np.zeros(32, "f"))
    assert place(data) == (2, (0, 0, 0), (0, 0, 0))


def test_the_line_is_that_of_the_device_function():
    text = """__device__ float get(const float* a, int i) {
 return a[i];
}
__global__ void k(const float* a, float* o) {
 o[threadIdx.x] = get(a, threadIdx.x + 1);
}"""
    assert fails(OutOfBounds, text, "element 32 of 'a'", np.zeros(32, "f"), np.zeros(32, "f"))["line"] == 2


def test_an_atomic_operation_beyond_the_end():
    assert (
        fails(OutOfBounds, "__global__ void k(float* a) {\n\n atomicAdd(a + 100, 1.f);\n}", "element 100")["line"] == 3
    )


def test_a_wide_load_that_crosses_the_end():
    text = SOURCE["DIVIDE8"].replace("if (i + 8 <= n)", "if (i < n)")
    image = np.zeros(33, np.uint8)
    data = fails(OutOfBounds, text, "of 'image', beyond its end", image, image.copy(), 33, 3)
    assert data["line"] == 5 and tuple(data["thread"]) == (4, 0, 0)


def test_an_empty_array():
    fails(OutOfBounds, "__global__ void k(float* a) { a[0] = 1; }", "which has 0 elements", np.zeros(0, "f"))


def test_writing_to_what_is_const():
    assert (
        fails(OutOfBounds, "__global__ void k(const float* a) {\n ((float*)a)[0] = 1;\n}", "declares const")["line"]
        == 2
    )


def test_an_index_of_a_shared_array():
    text = """__global__ void k(float* a) { __shared__ float s[4][4]; int t = threadIdx.x;
 s[t / 4][t % 4 + 1] = 1;
 __syncthreads(); a[t] = s[t / 4][t % 4]; }"""
    data = fails(OutOfBounds, text, "index 4 on an array of type 'float \\[4\\]'", block=16)
    assert place(data) == (2, (3, 0, 0), (0, 0, 0))


def test_beyond_shared_memory_through_a_pointer():
    text = "__global__ void k(float* a) { __shared__ float s[32]; float* p = s;\n p[threadIdx.x * 100] = 1;\n}"
    assert fails(OutOfBounds, text, "of the shared memory of the block")["line"] == 2


def test_beyond_dynamic_shared_memory():
    histogram, _ = compile_cuda(SOURCE["HISTOGRAM"])
    with pytest.raises(OutOfBounds, match="dynamic shared memory, which has 512 bytes"):
        histogram[3, 128, 0, 512](np.zeros(9, np.uint8), np.zeros(256, np.uint32), 9, 256)


def test_writing_to_constant_memory():
    text = SOURCE["CONSTANT"].replace("if (i < n)", "((float*)weights)[0] = 1;\n  if (i < n)")
    fails(OutOfBounds, text, "constant memory", np.zeros(3, "f"), np.zeros(3, "f"), 3)


def test_a_wild_pointer():
    data = fails(OutOfBounds, "__global__ void k(float* a) {\n *(float*)0x1234560 = 1;\n}", "wild or null pointer")
    assert data["line"] == 2


def test_a_wild_pointer_unchecked():
    text = "__global__ void k(float* a) {\n *(volatile float*)0x1234560 = 1;\n}"
    assert fails(Crashed, text, "writes to address 0x1234560", checked=False)["line"] == 2


def test_far_beyond_the_end_unchecked():
    text = "__global__ void k(float* a) {\n a[threadIdx.x + 100000] = 1;\n}"
    data = fails(Crashed, text, "writes to element 100000 of 'a'", checked=False)
    assert place(data) == (2, (0, 0, 0), (0, 0, 0))


def test_memset_beyond_the_end():
    assert (
        fails(Crashed, "__global__ void k(float* a) {\n memset(a, 0, 4000000);\n}", "writes to .* of 'a'")["line"] == 2
    )


# ---- alignment -----------------------------------------------------------------------------------------------------
def test_a_misaligned_vector():
    text = "__global__ void k(float* a) {\n float4 v = *(float4*)(a + threadIdx.x);\n a[0] = v.x + v.w;\n}"
    data = fails(Misaligned, text, "multiple of 16 bytes, and this one is 4 bytes off .at element 1 of 'a'")
    assert place(data) == (2, (1, 0, 0), (0, 0, 0))


# ---- barriers ------------------------------------------------------------------------------------------------------
def test_a_barrier_that_half_of_the_threads_reach():
    text = "__global__ void k(float* a) { int t = threadIdx.x;\n if (t < 16)\n  __syncthreads();\n a[t] = 1; }"
    data = fails(DivergentBarrier, text, r"16 threads \(0-15\) wait in __syncthreads at line 3", grid=2)
    assert "16 threads (16-31) left the kernel" in data["text"]
    assert data["line"] == 3 and tuple(data["block"]) == (0, 0, 0)


def test_two_different_barriers():
    text = """__global__ void k(float* a) { int t = threadIdx.x;
 if (t < 16) { a[t] = 1;
  __syncthreads(); } else {
 __syncthreads(); } a[t] = 2; }"""
    data = fails(DivergentBarrier, text, "different barriers")
    assert (
        "(0-15) wait in __syncthreads at line 3" in data["text"]
        and "(16-31) wait in __syncthreads at line 4" in data["text"]
    )


def test_a_return_before_the_barrier():
    text = "__global__ void k(float* a) { int i = threadIdx.x; if (i >= 20) return;\n __syncthreads();\n a[i] = 1; }"
    fails(DivergentBarrier, text, r"20 threads \(0-19\) wait in __syncthreads at line 2")


def test_a_shuffle_that_half_of_the_warp_reaches():
    text = """__global__ void k(float* a) { int t = threadIdx.x; float v = t;
 if (t < 16) v = __shfl_down_sync(0xffffffff, v, 1);
 a[t] = v; }"""
    fails(DivergentBarrier, text, "wait in __shfl_down_sync at line 2")


def test_a_lane_that_its_own_mask_leaves_out():
    text = "__global__ void k(float* a) {\n a[0] = __shfl_sync(0xf, 1.0f, 0);\n}"
    assert fails(DivergentBarrier, text, "not named in the mask")["line"] == 2


# ---- fragments -----------------------------------------------------------------------------------------------------
def matrices(m=16, n=16, k=16):
    return np.zeros((m, k), "e"), np.zeros((k, n), "e"), np.zeros((m, n), "f"), m, n, k


TILE = {"grid": (1, 1)}


def test_a_tile_beyond_the_end():
    a, _, c, m, n, _ = matrices()
    data = fails(OutOfBounds, wmma(), "reads element 256 of 'B'", np.zeros((16, 32), "e"), a, c, m, n, 32, **TILE)
    assert data["line"] == 12


@pytest.mark.parametrize(
    ("wrong", "kind", "match"),
    [
        ("A + m * K + k + 1, K", Misaligned, "multiple of 32 bytes; it is 2 bytes off"),
        ("A + m * K + k, K + 1", Misaligned, "leading dimension 17 must be a multiple of 8 elements"),
        ("A + m * K + k, 8", Unfit, "leading dimension 8 is smaller than a row or column of the tile .16"),
        ("A + m * K + k, threadIdx.x < 7 ? 16 : 32", Unfit, "lane 0 and lane 7 differ"),
    ],
)
def test_loads_that_the_hardware_does_not_allow(wrong, kind, match):
    text = wmma().replace("A + m * K + k, K", wrong)
    a, b, c, m, n, _ = matrices(k=32)
    assert fails(kind, text, match, a, b, c, m, n, 16, **TILE)["line"] == 11


def test_fragments_need_a_whole_warp():
    fails(Unfit, wmma(), "all 32 lanes", *matrices(), block=16, **TILE)


# ---- the end of the process ----------------------------------------------------------------------------------------
@both
def test_an_endless_loop(checked):
    began = time.process_time()
    text = "__global__ void k(volatile float* a) {\n while (a[0] == 0)\n  ;\n}"
    data = fails(EndlessLoop, text, "stopped after 0.3 s", timeout=0.3, checked=checked)
    assert data["line"] == 2 and time.process_time() - began < 3


def test_an_endless_loop_that_sleeps_is_stopped_from_outside():
    text = 'extern "C" unsigned sleep(unsigned);\n__global__ void k(float* a) {\n for (;;) sleep(1);\n}'
    from unittest import mock

    from labs.kit.gpu.cplusplus import child

    ask = child.Child.ask
    impatient = lambda self, command, seconds: ask(self, command, 1.0 if command and "LAUNCH" in command else seconds)
    with mock.patch.object(child.Child, "ask", impatient):
        fails(EndlessLoop, text, "does a loop never end")


@both
def test_endless_recursion(checked):
    text = """__device__ __noinline__ int f(volatile int* p, int n) {
 volatile int q[100]; q[0] = n; return n < 0 ? 0 : f(q, n + 1) + q[0] + p[0];
}
__global__ void k(float* a) { volatile int z = 0; a[0] = f(&z, 1); }"""
    fails(StackOverflow, text, "64 KB of local memory", checked=checked)


def test_a_large_local_array():
    text = """__global__ void k(float* a) {
 volatile float t[100000]; for (int i = 0; i < 100000; i++) t[i] = i; a[0] = t[7];
}"""
    fails(StackOverflow, text, "large local array")


@both
def test_abort(checked):
    text = 'extern "C" void abort();\n__global__ void k(float* a) {\n if (threadIdx.x == 3)\n  abort();\n}'
    data = fails(Crashed, text, r"called abort\(\)", checked=checked)
    assert place(data) == (4, (3, 0, 0), (0, 0, 0))


def test_exit():
    fails(Crashed, 'extern "C" void exit(int);\n__global__ void k(float* a) { exit(7); }', "exit code 7")


def test_a_false_assertion():
    text = "\n__global__ void k(float* a) {\n assert(threadIdx.x < 5);\n}"
    data = fails(AssertionFailed, text, "assert failed: threadIdx.x < 5")
    assert place(data) == (3, (5, 0, 0), (0, 0, 0))


def test_division_by_zero():
    data = fails(DividedByZero, "__global__ void k(int* a) {\n a[0] = 5 / a[1];\n}", "divides", np.zeros(4, np.int32))
    assert data["line"] == 2


def test_a_forged_reply_is_not_believed():
    text = """extern "C" long write(int, const void*, unsigned long);
__global__ void k(float* a) { for (int f = 3; f < 64; f++) (void)!write(f, "DONE 1 1 1\\n.\\n", 13); for (;;); }"""
    fails(Crashed, text, "ended its process", timeout=1.0)


def test_a_forged_report_is_not_believed():
    """A report of a failure with nonsense in it is no reason for an error of ours."""
    text = """extern "C" long write(int, const void*, unsigned long); extern "C" void _exit(int);
__global__ void k(float* a) {
 const char said[] = "ERR oob\\nnear x y\\nblock 1\\n";
 for (int f = 3; f < 64; f++) (void)!write(f, said, sizeof said - 1);
 _exit(3);
}"""
    fails(Crashed, text, "exit code 3")


# ---- the launch ----------------------------------------------------------------------------------------------------
def test_arguments_that_do_not_fit():
    x, text = np.zeros(4, "f"), "__global__ void k(float* x, const float* y, int n) {}"
    cases = [
        ((x, x), "takes 3 arguments .x, y, n., but got 2"),
        ((np.zeros(4), x, 1), "'x' of k points to float32, but the array has dtype float64"),
        ((3.0, x, 1), "'x' of k is a pointer: pass a NumPy array, not float"),
        ((x, x, 1.5), "'n' of k is an integer, but got 1.5"),
        ((x, x, 2**31), "does not fit into 'n'"),
        ((x, x, x), "'n' of k is one number, but got ndarray"),
        ((np.zeros((4, 4), "f").T[:2], x, 1), "np.ascontiguousarray"),
        ((np.broadcast_to(np.float32(1), 1), x, 1), "read-only"),
        ((x[1:], x[:-1], 1), "overlaps"),
    ]
    for arguments, match in cases:
        with pytest.raises(TypeError, match=match) as caught:
            compile_cuda(text)[1, 1](*arguments)
        assert isinstance(caught.value, WrongType)


@pytest.mark.parametrize(
    ("sizes", "match"),
    [
        ((0, 32), "must be at least 1 in every direction"),
        ((1, 1025), "a block has at most 1024 threads, and .1025, 1, 1. are 1025"),
        ((1, (1, 1, 65)), "at most 64 threads deep"),
        (((1, 70000), 1), "65535"),
        ((1, 32, 0, 300000), "at most 232448 bytes of dynamic shared memory"),
    ],
)
def test_sizes_that_no_gpu_takes(sizes, match):
    with pytest.raises(LaunchFailed, match=match):
        compile_cuda("__global__ void k() {}")[sizes]()


def test_launches_that_make_no_sense():
    kernel = compile_cuda("__global__ void k() {}")
    with pytest.raises(TypeError, match=r"launched as k\[grid, block\]"):
        kernel()
    with pytest.raises(TypeError, match="needs two sizes"):
        kernel[3]
    with pytest.raises(TypeError, match="whole numbers"):
        kernel[2.5, 32]


def test_more_memory_than_there_is():
    with pytest.raises(LaunchFailed, match="more than the"):
        compile_cuda("__global__ void k(const char* a) {}")[1, 1](np.empty(1 << 30, np.int8))


def test_a_failure_is_quick_and_the_next_launch_too():
    """Compared with starting a Python process, the mildest other way to contain a crash."""
    import subprocess
    import sys

    kernel = compile_cuda("__global__ void k(float* a) { a[5000000] = 1; }")
    a = np.zeros(4, "f")

    def once():
        began = time.perf_counter()
        with pytest.raises(OutOfBounds):
            kernel[1, 1](a)
        return time.perf_counter() - began

    def python():
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import numpy"], check=True)
        return time.perf_counter() - began

    once()
    assert min(once() for _ in range(5)) < min(python() for _ in range(2))
