// The words that CUDA adds to C++, and what becomes of them here.
#pragma once

#define __CUDACC__ 1
#define __CUDA_ARCH__ 800
#define CUDA_ON_CPU 1

// "noipa": a kernel is called through a pointer and must stay a function of its own, or its line numbers are lost.
#define __global__ __attribute__((noipa))
#define __device__
#define __host__
#define __managed__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __grid_constant__

// One block runs at a time, so its shared memory is one section of the library, which is filled anew for each block.
#define __shared__ static __attribute__((section("cuda_shared"), used))
// `extern __shared__ T name[];` is rewritten into this before it is compiled; the linker gives the name its address.
#define __emulated_dynamic_shared__ extern __attribute__((visibility("hidden")))
#define __constant__ static __attribute__((section("cuda_constant"), used))

// For our own functions that run inside a kernel: not observed, and never merged with the learner's code.
#define EMULATED_UNSEEN __attribute__((no_sanitize("thread", "undefined"), noipa))
// A last parameter that receives the line of the call.
#define EMULATED_LINE int line = __builtin_LINE()

#undef assert
#define assert(condition) ((condition) ? (void)0 : emulated_trap("assert failed: " #condition, __LINE__))
