// What a failed launch tells Python: lines of "word values", then the process ends (a learner's code has been in it).
#pragma once
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "state.h"

static int replies = -1;  // descriptor
static char report_text[16384];
static size_t report_length = 0;

__attribute__((format(printf, 1, 2))) static void say(const char* format, ...) {
    if (report_length > sizeof report_text - 300) return;
    va_list values;
    va_start(values, format);
    int wrote = vsnprintf(report_text + report_length, sizeof report_text - report_length, format, values);
    va_end(values);
    if (wrote > 0) report_length += (size_t)wrote;
    if (report_length >= sizeof report_text) report_length = sizeof report_text - 1;
}

static void write_all(const char* text, size_t length) {
    for (size_t done = 0; done < length;) {
        ssize_t wrote = write(replies, text + done, length - done);
        if (wrote <= 0) _exit(0);
        done += (size_t)wrote;
    }
}

[[noreturn]] static void finish() {
    fflush_unlocked(stdout);
    write_all(report_text, report_length);
    _exit(3);
}

static Coordinates unfold(unsigned number, Coordinates size) {
    return {number % size.x, number / size.x % size.y, number / (size.x * size.y)};
}

// Begin a report: what happened, and to whom.
static void begin_report(const char* what) {
    launch.in_kernel = false;
    report_length = 0;
    say("ERR %s\n", what);
    if (!current) return;
    say("block %u %u %u\n", blockIdx.x, blockIdx.y, blockIdx.z);
    if (current->thread < 0) return;
    Coordinates t = unfold((unsigned)current->thread, blockDim);
    say("thread %u %u %u\n", t.x, t.y, t.z);
}

// The program counters of the running fiber inside the learner's library, innermost first, relative to its base;
// Python turns them into lines. `counter` may be 0.
static void say_counters(uintptr_t counter, uintptr_t frame, uintptr_t stack = 0) {
    const Module* module = launch.module;
    if (!module) return;
    auto ours = [module](uintptr_t at) { return at >= module->begin && at < module->end; };
    uintptr_t low = (uintptr_t)stacks, high = low + SLOT * MOST_THREADS;
    auto on_stack = [low, high](uintptr_t at) { return at >= low && at + 16 <= high && (at - low) % SLOT >= GUARD; };
    int count = 0;
    say("counters");
    if (ours(counter)) {
        say(" %lx", (long)(counter - module->base));
        count++;
    } else if (on_stack(stack)) {
        // In a function of the C library, perhaps without frame pointers: look for the nearest return address.
        for (int i = 0; i < 256 && on_stack(stack); i++, stack += 8) {
            uintptr_t value = *(uintptr_t*)stack;
            if (!ours(value)) continue;
            say(" %lx", (long)(value - 1 - module->base));
            count++;
            break;
        }
    }
    for (int i = 0; i < 200 && count < 24 && current && on_stack(frame) && !(frame & 7); i++) {
        uintptr_t next = ((uintptr_t*)frame)[0], back = ((uintptr_t*)frame)[1];
        if (ours(back)) {
            say(" %lx", (long)(back - 1 - module->base));
            count++;
        }
        if (next <= frame) break;
        frame = next;
    }
    say("\n");
}

// Which array an address lies in, or next to.
static void say_nearest(uintptr_t address) {
    const Region* nearest = nullptr;
    uintptr_t distance = 1ul << 30;
    for (const Region& region : regions) {
        if (region.kind == Kind::other) continue;
        uintptr_t away = address < region.begin  ? region.begin - address
                         : address >= region.end ? address - region.end + 1
                                                 : 0;
        if (away < distance) distance = away, nearest = &region;
    }
    if (nearest)
        say("near %d %d %ld %ld\n", (int)nearest->kind, nearest->index, (long)(address - nearest->begin),
            (long)(nearest->end - nearest->begin));
}

#define FRAME ((uintptr_t)__builtin_frame_address(0))

EXPORT void emulated_trap(const char* what, int line) {
    begin_report("trap");
    say("what %s\nline %d\n", what, line);
    say_counters(0, FRAME);
    finish();
}

EXPORT void emulated_misuse(const char* kind, const char* what, int line) {
    begin_report("misuse");
    say("sub %s\nwhat %s\nline %d\n", kind, what, line);
    say_counters(0, FRAME);
    finish();
}

EXPORT void __assert_fail(const char* condition, const char*, unsigned line, const char*) noexcept {
    begin_report("trap");
    say("what assert failed: %.200s\nline %u\n", condition, line);
    say_counters(0, FRAME);
    finish();
}
