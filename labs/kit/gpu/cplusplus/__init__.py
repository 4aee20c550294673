"""CUDA C++ on any machine: compiled for the GPU where there is one, else for the CPU, where a child process runs it.

>>> from labs.kit.gpu.cplusplus import compile_cuda
>>> scale = compile_cuda("__global__ void scale(float* x, float s) { x[threadIdx.x] *= s; }")
>>> scale[1, 4](x, 2.0)                                                                             # doctest: +SKIP
"""

from labs.kit.gpu.cplusplus.kernel import Kernel, UnreadyKernel, compile_cuda
from labs.kit.gpu.cplusplus.magic import register

__all__ = ["Kernel", "UnreadyKernel", "compile_cuda", "load_ipython_extension", "register"]

load_ipython_extension = register
