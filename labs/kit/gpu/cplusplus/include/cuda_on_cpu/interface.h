// What a compiled cell hands to the worker. Included by both.
#pragma once
#include <stddef.h>

extern "C" {
// One kernel: called with pointers to its arguments. `signature` is a word for each parameter: 'P' (pointer) or 'C'
// (pointer to const) or 'S' (scalar), the code of its type (see entry.h), and a size in bytes.
struct emulated_kernel {
    const char* name;
    void (*invoke)(void* const* arguments);
    const char* (*signature)();
};

// One `__constant__` variable.
struct emulated_constant {
    const char* name;
    void* address;
    size_t bytes;
};

// Both tables end with a null name. The sections are those of keywords.h.
struct emulated_module {
    const emulated_kernel* kernels;
    const emulated_constant* constants;
    char *shared_begin, *shared_end;
    char* dynamic_shared;
    char *constant_begin, *constant_end;
    int checked;
};
}

constexpr size_t EMULATED_DYNAMIC_SHARED = 232448;  // 227 KB, the most that a block can ask for on sm_90
