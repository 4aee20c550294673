// Threads of a block take turns: one runs until it waits at a barrier or leaves, then the next one does.
//
// A fiber that has finished its thread goes on with the next thread of the block that has not begun, so a kernel
// without barriers needs a single fiber.
#pragma once
#include <sys/mman.h>

#include "races.h"

static Context worker_context;
static int made, idle[MOST_THREADS], idle_count;
static int ready[MOST_THREADS], ready_first, ready_count;
static int fiber_of[MOST_THREADS];
static unsigned waiting_lanes[MOST_THREADS / 32];
static int next_thread, alive, arrived;

static inline void become(Fiber* fiber) {
    current = fiber;
    int thread = fiber->thread;
    if (blockDim.y == 1 && blockDim.z == 1)
        threadIdx = {(unsigned)thread, 0, 0};
    else
        threadIdx = unfold((unsigned)thread, blockDim);
    emulated_lane = thread & 31;
}

// Report who waits where: threads in groups, each as a list of ranges.
[[noreturn]] static void stuck(const char* why) {
    begin_report("barrier");
    say("what %s\n", why);
    static bool told[MOST_THREADS];
    for (int first = 0; first < launch.threads; first++) {
        if (told[first]) continue;
        const Thread& example = threads[first];
        bool gone = example.state == State::gone;
        int count = 0, begin = -1, end = -1;
        say("group %s %s %d ", gone ? "gone" : "waits", gone ? "-" : example.where, gone ? 0 : example.line);
        for (int i = first; i <= launch.threads; i++) {
            const Thread& other = threads[i < launch.threads ? i : 0];
            bool same = i < launch.threads && !told[i] && other.state == example.state &&
                        (gone || (other.line == example.line && !strcmp(other.where, example.where)));
            if (same) told[i] = true, count++;
            if (same && begin >= 0 && i == end + 1) {
                end = i;
            } else if (same || i == launch.threads) {
                if (begin >= 0) begin == end ? say("%d,", begin) : say("%d-%d,", begin, end);
                begin = end = same ? i : -1;
            }
        }
        say(" %d\n", count);
    }
    finish();
}

static void fiber_main();

static Fiber* free_fiber() {
    if (idle_count) return &fibers[idle[--idle_count]];
    Fiber* fiber = &fibers[made];
    char* stack = stacks + made++ * SLOT + GUARD;
    mprotect(stack, STACK, PROT_READ | PROT_WRITE);
    fiber->context.make(stack, STACK, fiber_main);
    return fiber;
}

static inline void make_ready(int thread) {
    int end = ready_first + ready_count;
    ready[end >= MOST_THREADS ? end - MOST_THREADS : end] = thread;
    ready_count++;
}

static inline Fiber* next_ready() {
    int thread = ready[ready_first];
    if (++ready_first == MOST_THREADS) ready_first = 0;
    ready_count--;
    return &fibers[fiber_of[thread]];
}

static inline void jump(Fiber* from, Fiber* to) {
    launch.switches++;
    if (to->thread >= 0)
        become(to);
    else
        current = to;
    switch_context(from->context, to->context);
}

// The running thread waits: somebody else goes on.
static void wait_here() {
    Fiber *me = current, *to;
    if (ready_count) {
        to = next_ready();
    } else if (next_thread < launch.threads) {
        to = free_fiber();
        to->thread = -1;
    } else {
        stuck("no thread of the block can go on");
    }
    if (to == me)
        become(me);
    else
        jump(me, to);
}

// All have come to the barrier: let them go.
static void release_block(int mode) {
    int count = 0, all = 0;
    clock_.interval++;
    for (int i = 0; i < launch.threads; i++)
        if (threads[i].state == State::at_barrier) all++, count += threads[i].predicate;
    int result = mode == 1 ? count : mode == 2 ? count == all : mode == 3 ? count > 0 : 0;
    for (int i = 0; i < launch.threads; i++) {
        if (threads[i].state != State::at_barrier) continue;
        threads[i].state = State::running;
        threads[i].predicate = result;
        make_ready(i);
    }
    arrived = 0;
}

static int barrier_mode;

static void fiber_main() {
    for (;;) {
        Fiber* me = current;
        while (next_thread < launch.threads) {
            int thread = next_thread++;
            me->thread = thread;
            fiber_of[thread] = (int)(me - fibers);
            threads[thread].state = State::running;
            become(me);
            launch.invoke(launch.arguments);
            threads[thread].state = State::gone;
            alive--;
            if (!launch.strict && arrived && arrived == alive) release_block(barrier_mode);
        }
        me->thread = -1;
        idle[idle_count++] = (int)(me - fibers);
        if (ready_count) {
            jump(me, next_ready());
        } else if (alive == 0) {
            current = nullptr;
            switch_context(me->context, worker_context);
        } else {
            stuck("no thread of the block can go on");
        }
    }
}

EXPORT int emulated_block_sync(const char* name, int line, int predicate, int mode) {
    int me = current->thread;
    Thread& thread = threads[me];
    thread.state = State::at_barrier, thread.where = name, thread.line = line, thread.predicate = predicate;
    barrier_mode = mode;
    arrived++;
    if (arrived == (launch.strict ? launch.threads : alive)) {
        if (launch.strict)
            for (int i = 0; i < launch.threads; i++)
                if (threads[i].line != line || strcmp(threads[i].where, name))
                    stuck("threads of one block wait at different barriers");
        release_block(mode);
    }
    wait_here();
    return threads[me].predicate;
}

EXPORT void emulated_warp(const char* name, int line, unsigned mask, void* payload, void (*combine)(void**, unsigned)) {
    int me = current->thread, warp = me >> 5, lane = me & 31, lanes = launch.threads - warp * 32;
    Thread& thread = threads[me];
    if (lanes < 32) mask &= (1u << lanes) - 1;  // the last warp of the block may be short
    if (!(mask >> lane & 1)) emulated_misuse("warp", "the calling lane is not named in the mask", line);
    thread.state = State::at_warp, thread.where = name, thread.line = line;
    thread.mask = mask, thread.payload = payload, thread.combine = combine;
    waiting_lanes[warp] |= 1u << lane;
    if ((waiting_lanes[warp] & mask) != mask) return wait_here();
    void* payloads[32] = {};
    for (int i = 0; i < 32; i++) {
        if (!(mask >> i & 1)) continue;
        const Thread& other = threads[warp * 32 + i];
        if (other.mask != mask || other.combine != combine)
            stuck("lanes of one warp wait at different warp operations, or with different masks");
        payloads[i] = other.payload;
    }
    clock_.warps[warp]++;  // before and after: what is done here for all lanes is ordered with both sides
    combine(payloads, mask);
    clock_.warps[warp]++;
    waiting_lanes[warp] &= ~mask;
    for (int i = 0; i < 32; i++)
        if ((mask >> i & 1) && i != lane) {
            threads[warp * 32 + i].state = State::running;
            make_ready(warp * 32 + i);
        }
    thread.state = State::running;  // the last one to arrive goes straight on
}
