// Every access of a kernel to memory: inside an array of the launch, aligned, and without a race?
//
// g++ -fsanitize=thread and -fsanitize=bounds,alignment put a call in front of each access; the functions they call
// are here instead of in libtsan and libubsan.
#pragma once
#include "races.h"

[[noreturn]] static void refuse_access(const char* what, uintptr_t address, size_t bytes, bool write, uintptr_t counter,
                                       int line) {
    uintptr_t frame = FRAME;
    begin_report(what);
    say("write %d\nsize %ld\naddr %lx\n", write, (long)bytes, (long)address);
    if (line) say("line %d\n", line);
    say_nearest(address);
    say_counters(counter, frame);
    finish();
}

static inline bool inside(const Region* region, uintptr_t address, size_t bytes, bool write) {
    return address >= region->begin && address + bytes <= region->end && !(write && region->read_only);
}

static __attribute__((noinline)) bool find_region(uintptr_t address, size_t bytes, bool write) {
    for (Region& region : regions)
        if (inside(&region, address, bytes, write)) {
            last_region = &region;
            return true;
        }
    return false;
}

static inline __attribute__((always_inline)) void check(uintptr_t address, size_t bytes, bool write, uintptr_t counter,
                                                        bool aligned, bool is_volatile) {
    if (__builtin_expect(!inside(last_region, address, bytes, write), 0)) {
        if (!launch.in_kernel) return;
        if (!find_region(address, bytes, write)) refuse_access("oob", address, bytes, write, counter, 0);
    }
    if (aligned && __builtin_expect(address & (bytes - 1), 0) && launch.in_kernel)
        refuse_access("misaligned", address, bytes, write, counter, 0);
    // A volatile access to an array is how blocks pass flags; in shared memory it is no order between threads.
    if (last_region->shadow && !(is_volatile && last_region->kind == Kind::array))
        observe(last_region, address, bytes, write, counter, 0);
}

// Not through the instrumentation: our own loads and stores of fragments.
EXPORT void emulated_check(const void* pointer, size_t bytes, int write, int line) {
    uintptr_t address = (uintptr_t)pointer;
    if (!inside(last_region, address, bytes, write) && !find_region(address, bytes, write))
        refuse_access("oob", address, bytes, write, 0, line);
    if (last_region->shadow) observe(last_region, address, bytes, write, 0, line);
}

#define HERE ((uintptr_t)__builtin_return_address(0) - 1)
#define ANSWER(Bytes)                                                                                              \
    EXPORT void __tsan_read##Bytes(void* p) { check((uintptr_t)p, Bytes, false, HERE, true, false); }              \
    EXPORT void __tsan_write##Bytes(void* p) { check((uintptr_t)p, Bytes, true, HERE, true, false); }              \
    EXPORT void __tsan_unaligned_read##Bytes(void* p) { check((uintptr_t)p, Bytes, false, HERE, false, false); }   \
    EXPORT void __tsan_unaligned_write##Bytes(void* p) { check((uintptr_t)p, Bytes, true, HERE, false, false); }   \
    EXPORT void __tsan_volatile_read##Bytes(void* p) { check((uintptr_t)p, Bytes, false, HERE, true, true); }      \
    EXPORT void __tsan_volatile_write##Bytes(void* p) { check((uintptr_t)p, Bytes, true, HERE, true, true); }
ANSWER(1)
ANSWER(2)
ANSWER(4)
ANSWER(8)
ANSWER(16)
#undef ANSWER
EXPORT void __tsan_read_range(void* p, size_t bytes) { check((uintptr_t)p, bytes, false, HERE, false, false); }
EXPORT void __tsan_write_range(void* p, size_t bytes) { check((uintptr_t)p, bytes, true, HERE, false, false); }
EXPORT void __tsan_init() {}
EXPORT void __tsan_func_entry(void*) {}
EXPORT void __tsan_func_exit() {}
EXPORT void __tsan_vptr_update(void*, void*) {}
EXPORT void __tsan_vptr_read(void*) {}

// What libubsan's callbacks are handed.
struct SourceLocation {
    const char* file;
    uint32_t line, column;
};
struct TypeDescription {
    uint16_t kind, information;
    char name[1];
};

struct BoundsFacts {
    SourceLocation place;
    const TypeDescription *array, *index;
};
EXPORT void __ubsan_handle_out_of_bounds(void* facts_, uintptr_t index) {
    auto* facts = (BoundsFacts*)facts_;
    begin_report("index");
    // An index is handed over in a word; what counts of it depends on its type: twice log2 of the bits, plus sign.
    int bits = 1 << (facts->index->information >> 1);
    long value = bits <= 32 ? (facts->index->information & 1 ? (long)(int32_t)index : (long)(uint32_t)index) : (long)index;
    say("line %u\nindex %ld\ntype %s\n", facts->place.line, value, facts->array->name);
    say_counters(0, FRAME);
    finish();
}

struct MismatchFacts {
    SourceLocation place;
    const TypeDescription* type;
    unsigned char log_alignment, check_kind;
};
EXPORT void __ubsan_handle_type_mismatch_v1(void* facts_, uintptr_t address) {
    if (!launch.in_kernel) return;
    auto* facts = (MismatchFacts*)facts_;
    uintptr_t alignment = uintptr_t(1) << facts->log_alignment;
    begin_report("misaligned");
    say("line %u\nneeds %ld\noff %ld\ntype %s\naddr %lx\n", facts->place.line, (long)alignment,
        (long)(address & (alignment - 1)), facts->type->name, (long)address);
    say_nearest(address);
    say_counters(0, FRAME);
    finish();
}
