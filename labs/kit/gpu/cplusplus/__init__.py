"""CUDA C++ on any machine: a text, compiled for the GPU where there is one, else for the CPU and run in a child process.

>>> from labs.kit.gpu.cplusplus import compile_cuda
>>> scale = compile_cuda("__global__ void scale(float* x, float s) { x[threadIdx.x] *= s; }")
>>> scale[1, 4](x, 2.0)                                                                             # doctest: +SKIP
"""

from labs.kit.gpu.cplusplus.kernel import Kernel, UnsolvedKernel, compile_cuda
from labs.kit.gpu.cplusplus.magic import register

__all__ = ["Kernel", "UnsolvedKernel", "compile_cuda", "register"]
