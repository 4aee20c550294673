"""What learners of CUDA C++ forget is told in their words, and what NVRTC would refuse is refused without a GPU."""

import numpy as np
import pytest

from labs.kit.gpu import WrongType
from labs.kit.gpu.cplusplus import advice, compile_cuda
from labs.kit.native.failures import CompileError

KERNEL = "__global__ void k(float* a) { a[threadIdx.x] = 1; }\n"


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch):
    monkeypatch.setenv("LABS_GPU", "virtual")


REFUSED = {
    "#include <iostream>\n" + KERNEL: ("k", r"line 1 of your cell: #include <iostream>\n.*printf", (1,)),
    "float h(float v) { return 2 * v; }\n__global__ void k(float* a) { a[0] = h(a[0]); }": (
        "k", r"line 1 of your cell: h is a function of the host.*\n.*\nWrite __device__ before it", (1,)),
    "void k(float* a) { a[0] = 1; }": ("k", r"line 1 .*write `__global__ void k\(...\)`", ()),
    "\n__gobal__ void k(float* a) { a[0] = 1; }": ("k", r"line 2 .*write `__global__ void k\(...\)`", ()),
    "__global__ int k(float* a) { return 1; }": ("k", "line 1 .*a kernel returns nothing", ()),
    "__device__ float f(float a) { return a; }\n" + KERNEL: ("f", "line 1 .*f is a __device__ function", ()),
    KERNEL.replace("k(", "scale("): ("scal", r"There is: scale. Did you mean scale\?", ()),
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_a_gpu_would_not_take(text):
    name, message, lines = REFUSED[text]
    with pytest.raises(CompileError, match=message) as caught:
        compile_cuda(text, name)
    assert caught.value.lines == lines


ALLOWED = """
#include <cuda_fp16.h>
// #include <vector> is a comment, and so is twice(1)
/* #include <map> */
#define BIG(x) { (x) }
struct Pair { float a; __device__ float sum() { return a; } };
namespace inner { __device__ int f() { return 1; } }
constexpr int width(int n) { return n * 2; }
static __device__ __forceinline__ float twice(float v) { if (v > 0) { return 2 * v; } return v; }
template <int N> __device__ float times(float v) { for (int i = 0; i < N; i++) { v += v; } return v; }
float unused(float v) { return v; }
__global__ void __launch_bounds__(256) k(float* a) { a[0] = twice(a[0]) + times<2>(1) + width(3) + inner::f(); }
"""


def test_what_a_gpu_takes_is_not_refused():
    advice.check(ALLOWED, "cell")
    a = np.array([3], np.float32)
    compile_cuda(ALLOWED)[1, 1](a)
    assert a[0] == 6 + 4 + 6 + 1


MISSING = {
    "__global__ void k(half* a) { a[0] = __float2half(1.f); }": "half needs #include <cuda_fp16.h>",
    "__global__ void k(float* a) { nvcuda::wmma::fill_fragment(a, 0.f); }": "needs #include <mma.h>",
    KERNEL + "void f(float* p) { cudaMalloc(&p, 4); }": "host's side of CUDA C[+][+] .* is Python here",
}


@pytest.mark.parametrize("text", MISSING)
def test_what_is_missing_is_said_after_the_compiler(text):
    with pytest.raises(CompileError, match="(?s)line [12] of your cell: .*" + MISSING[text]) as caught:
        compile_cuda(text)
    assert "emulated" not in str(caught.value) and "after-cell" not in str(caught.value)


@pytest.mark.parametrize(
    ("launch", "message"),
    [
        (lambda k, a: k(a), "how many threads"),
        (lambda k, a: k[1](a), "needs two sizes"),
        (lambda k, a: k[4 / 2, 1](a), "use //"),
        (lambda k, a: k[1, 1](a=a), "given in order, without a="),
    ],
)
def test_a_wrong_launch_is_shown_without_our_frames(launch, message):
    with pytest.raises(WrongType, match=message) as caught:
        launch(compile_cuda(KERNEL), np.zeros(1, np.float32))
    first, second = caught.value._render_traceback_()
    assert first.startswith("WrongType: ") and "test_cuda_cpp_advice.py" in second
