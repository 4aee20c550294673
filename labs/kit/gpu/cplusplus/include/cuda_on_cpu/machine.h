// What the worker provides: the coordinates of the running thread, barriers, and the reports of misuse.
#pragma once
#include "interface.h"

extern "C" {
extern const uint3 threadIdx, blockIdx, blockDim, gridDim;
extern const int emulated_lane;
[[noreturn]] void emulated_trap(const char* what, int line);
[[noreturn]] void emulated_misuse(const char* kind, const char* what, int line);

// mode 0: only wait; 1: how many threads have a true predicate; 2: whether all; 3: whether any
int emulated_block_sync(const char* name, int line, int predicate, int mode);

// Wait until all lanes of `mask` have come, then let the last of them run `combine(payloads, mask)` for all.
void emulated_warp(const char* name, int line, unsigned mask, void* payload, void (*combine)(void**, unsigned));

void emulated_check(const void* address, size_t bytes, int write, int line);
void emulated_atomic(int begins);
void emulated_fence();
}

static constexpr int warpSize = 32;

static inline void __syncthreads(EMULATED_LINE) { emulated_block_sync("__syncthreads", line, 0, 0); }
static inline int __syncthreads_count(int p, EMULATED_LINE) {
    return emulated_block_sync("__syncthreads_count", line, p != 0, 1);
}
static inline int __syncthreads_and(int p, EMULATED_LINE) {
    return emulated_block_sync("__syncthreads_and", line, p != 0, 2);
}
static inline int __syncthreads_or(int p, EMULATED_LINE) {
    return emulated_block_sync("__syncthreads_or", line, p != 0, 3);
}
static inline void __threadfence() { emulated_fence(); }
static inline void __threadfence_block() { emulated_fence(); }
static inline void __threadfence_system() { emulated_fence(); }
[[noreturn]] static inline void __trap(EMULATED_LINE) { emulated_trap("__trap() was called", line); }
static inline long long clock64() { return 0; }  // time means nothing here
