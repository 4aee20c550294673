// Races: two threads touch one element, at least one of them writes, and nothing orders the two.
//
// Each element has a Shadow: who wrote it last and who read it last, and when. "When" is the number of the interval
// between two barriers of the block (and, inside a warp, between two warp operations), counted on through the whole
// launch. Two threads of a block are ordered when their intervals differ, or when they are in one warp and a warp
// operation lies between; two blocks never are. A __threadfence since the first access counts as order: fences guard
// flags and locks, which we cannot follow. Atomic operations do not race with each other, but with plain ones.
#pragma once
#include <string.h>

#include <type_traits>

#include "report.h"

struct Shadow {
    uint32_t write_interval, read_interval;
    uint32_t write_warp, read_warp;    // intervals of the warp
    uint32_t write_place, read_place;  // program counter relative to the library, or LINE + line number
    uint16_t writer, reader, other_reader;  // threads of the block; the writer with ATOMIC added
    uint16_t write_fences, read_fences;
};
// Only arrays are seen by several blocks: the last read by an earlier one, where the running one has read, too.
struct ArrayShadow : Shadow {
    uint32_t foreign_interval, foreign_place;
    uint16_t foreign_reader, foreign_fences;
};
constexpr uint16_t ATOMIC = 0x8000;
constexpr uint32_t LINE = 0xf0000000u;

constexpr size_t STATIC_SHARED = 1u << 20;           // bytes of shared arrays that are watched
constexpr size_t WATCHED = size_t(6) << 20;          // elements of arrays that are watched

struct Clock {
    uint32_t interval = 1;        // grows with each barrier, and with each block
    uint32_t block = 1;           // interval in which the running block began
    uint32_t launch = 1;          // interval in which the launch began
    uint16_t fences = 0;
    uint32_t warps[MOST_THREADS / 32] = {};
    int atomic = 0;
    std::vector<uint32_t> blocks;  // interval in which each block began
};
static Clock clock_;
static Shadow *dynamic_shadow = nullptr, *static_shadow = nullptr;
static ArrayShadow* array_shadow = nullptr;

EXPORT void emulated_atomic(int begins) { clock_.atomic = begins; }
EXPORT void emulated_fence() { clock_.fences++; }

[[noreturn]] static void report_race(uintptr_t address, size_t bytes, bool write, uintptr_t counter, int line, int other,
                                     bool other_wrote, uint32_t other_place, uint32_t interval) {
    uintptr_t frame = FRAME;
    begin_report("race");
    Coordinates thread = unfold((unsigned)(other & ~ATOMIC), blockDim);
    size_t block = 0;
    while (block + 1 < clock_.blocks.size() && clock_.blocks[block + 1] <= interval) block++;
    Coordinates at = unfold((unsigned)block, gridDim);
    say("write %d\nsize %ld\nother_write %d\nother_thread %u %u %u\nother_block %u %u %u\natomic %d %d\n", write,
        (long)bytes, other_wrote, thread.x, thread.y, thread.z, at.x, at.y, at.z, clock_.atomic, other >= ATOMIC);
    if (other_place >= LINE)
        say("other_line %u\n", other_place - LINE);
    else
        say("other_counter %x\n", other_place);
    if (line) say("line %d\n", line);
    say_nearest(address);
    say_counters(counter, frame);
    finish();
}

// One access of the running thread.
struct Access {
    const Region* region;
    uintptr_t address;
    size_t bytes;
    bool write;
    uintptr_t counter;  // where in the library, or
    int line;           // where in the text, for accesses that we make for the kernel
};

// Compare an access with what is known of one element, and remember it.
template <class Kept>
static inline __attribute__((always_inline)) void meet(Kept& s, const Access& access, int me, uint32_t place) {
    constexpr bool array = std::is_same<Kept, ArrayShadow>::value;
    const uint32_t now = clock_.interval, warp_now = clock_.warps[me >> 5];
    auto unordered = [&](int thread, uint32_t interval, uint32_t warp_interval, uint16_t fences) {
        if (array && interval < clock_.block) return interval >= clock_.launch && fences == clock_.fences;
        if (interval != now || fences != clock_.fences) return false;
        thread &= ~ATOMIC;
        return thread != me && !((thread >> 5) == (me >> 5) && warp_interval != warp_now);
    };
    auto clash = [&](int other, bool wrote, uint32_t other_place, uint32_t interval) {
        report_race(access.address, access.bytes, access.write, access.counter, access.line, other, wrote, other_place,
                    interval);
    };
    if (unordered(s.writer, s.write_interval, s.write_warp, s.write_fences) && !(clock_.atomic && s.writer >= ATOMIC))
        clash(s.writer, true, s.write_place, s.write_interval);
    if (access.write) {
        if (unordered(s.reader, s.read_interval, s.read_warp, s.read_fences))
            clash(s.reader, false, s.read_place, s.read_interval);
        if (unordered(s.other_reader, s.read_interval, s.read_warp, s.read_fences))
            clash(s.other_reader, false, s.read_place, s.read_interval);
        if constexpr (array)
            if (unordered(s.foreign_reader, s.foreign_interval, 0, s.foreign_fences))
                clash(s.foreign_reader, false, s.foreign_place, s.foreign_interval);
        s.writer = (uint16_t)(me | (clock_.atomic ? ATOMIC : 0));
        s.write_interval = now, s.write_warp = warp_now, s.write_place = place, s.write_fences = clock_.fences;
        return;
    }
    if constexpr (array)
        if (s.read_interval < clock_.block)
            s.foreign_interval = s.read_interval, s.foreign_place = s.read_place, s.foreign_reader = s.reader,
            s.foreign_fences = s.read_fences;
    // Two readers are remembered, so that a write by one of them still meets the other.
    if (s.read_interval != now)
        s.reader = s.other_reader = (uint16_t)me;
    else if (s.reader != me)
        s.other_reader = s.reader, s.reader = (uint16_t)me;
    s.read_interval = now, s.read_warp = warp_now, s.read_place = place, s.read_fences = clock_.fences;
}

template <class Kept>
static inline __attribute__((always_inline)) void meet_each(const Access& access) {
    const Region* region = access.region;
    const int me = current->thread;
    const uint32_t place =
        access.line ? LINE + (uint32_t)access.line : (uint32_t)(access.counter - launch.module->base);
    Kept* shadow = (Kept*)region->shadow;
    const size_t begin = access.address - region->begin, end = begin + access.bytes;
    if (region->grain) {
        for (size_t i = begin >> region->grain; i <= (end - 1) >> region->grain; i++) meet(shadow[i], access, me, place);
        return;
    }
    // Each byte has a Shadow, those of even bytes first. Accesses of an even size at an even address look at these
    // only, so words and single bytes of one array meet at every second byte.
    if (!((begin | access.bytes) & 1)) {
        for (size_t i = begin >> 1; i < end >> 1; i++) meet(shadow[i], access, me, place);
        return;
    }
    const size_t half = (region->end - region->begin + 1) >> 1;
    for (size_t i = begin; i < end; i++) meet(shadow[(i >> 1) + (i & 1) * half], access, me, place);
}

static __attribute__((noinline)) void observe(const Region* region, uintptr_t address, size_t bytes, bool write,
                                              uintptr_t counter, int line) {
    if (!launch.in_kernel) return;
    if (clock_.atomic && !write) return;  // the read half of an atomic operation
    const Access access{region, address, bytes, write, counter, line};
    if (region->kind == Kind::array)
        meet_each<ArrayShadow>(access);
    else
        meet_each<Shadow>(access);
}
