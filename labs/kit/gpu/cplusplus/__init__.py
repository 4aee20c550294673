"""CUDA C++ on any machine: compiled for the GPU where there is one, else for the CPU, where a child process runs it.

>>> from labs.kit.gpu.cplusplus import compile_cuda
>>> scale = compile_cuda("__global__ void scale(float* x, float s) { x[threadIdx.x] *= s; }")
>>> scale[1, 4](x, 2.0)                                                                             # doctest: +SKIP

What works without a GPU: kernels with barriers, shuffles, votes, atomics, shared (also dynamic) and constant memory,
half and bfloat16, vector types, templates, printf, assert and nvcuda::wmma. What does not: inline PTX, ``<<<>>>`` and
the host's side of CUDA, cooperative groups, asynchronous copies, textures. Kernels that overlap in time are not
imitated: blocks run one after the other, and a thread runs until it waits.
"""

from labs.kit.gpu.cplusplus.building import worker_program as prepare
from labs.kit.gpu.cplusplus.kernel import Kernel, UnreadyKernel, compile_cuda
from labs.kit.gpu.cplusplus.magic import register

__all__ = ["Kernel", "UnreadyKernel", "compile_cuda", "load_ipython_extension", "prepare", "register"]

load_ipython_extension = register
