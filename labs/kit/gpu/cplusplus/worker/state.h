// The state of the one launch that runs, and the threads of its one block that runs.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <vector>

#include "cuda_on_cpu/interface.h"
#include "fibers.h"

constexpr int MOST_THREADS = 1024;
constexpr size_t STACK = 64 * 1024, GUARD = 16 * 1024, SLOT = STACK + GUARD;  // bytes; the guard lies below the stack

struct Coordinates {
    unsigned x, y, z;
};

// A piece of memory that kernels may touch.
enum class Kind { array, shared, dynamic_shared, constant, other };
struct Shadow;
struct Region {
    uintptr_t begin, end;
    Kind kind;
    int index;            // of the argument, for an array
    bool read_only;
    Shadow* shadow;       // who touched it last, or null where nobody watches
    int grain;            // log2 of the bytes that one Shadow stands for
};

// A loaded library.
struct Module {
    uintptr_t base, begin, end;
    const emulated_module* facts;
    std::vector<Region> data;
    int kernels;
};

enum class State : uint8_t { fresh, running, at_barrier, at_warp, gone };
struct Thread {
    State state;
    const char* where;  // name of the barrier at which it waits
    int line;
    int predicate;      // for a barrier that counts; afterwards its result
    unsigned mask;
    void* payload;
    void (*combine)(void**, unsigned);
};

struct Fiber {
    Context context;
    int thread;  // which thread of the block it runs; -1: none
};

struct Launch {
    bool in_kernel = false;
    bool strict = true;      // threads that have left the kernel are missing at a barrier
    bool races = true;
    int threads = 0;         // of a block
    long limit_ms = 0;       // CPU time
    double started = 0;      // CPU time of the process, s
    const Module* module = nullptr;
    void (*invoke)(void* const*) = nullptr;
    void* arguments[64] = {};
    long switches = 0;
};

static Launch launch;
static Thread threads[MOST_THREADS];
static Fiber fibers[MOST_THREADS];
static Fiber* current = nullptr;  // null: none, the worker itself runs
static char* stacks = nullptr;    // MOST_THREADS slots
static std::vector<Region> regions;
static Region* last_region = nullptr;
static char* arena = nullptr;     // shared with Python; arrays lie in it
static std::vector<Module> modules;

#define EXPORT extern "C" __attribute__((visibility("default"), used))
extern "C" {
Coordinates threadIdx, blockIdx, blockDim, gridDim;
int emulated_lane;
}
