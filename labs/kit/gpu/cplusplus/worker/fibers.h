// Fibers: every thread of a block has a stack of its own, and the processor jumps from one to the next.
//
// A jump saves the registers that a function must preserve on the old stack, and takes them from the new one. In
// assembly that takes a few nanoseconds; ucontext, which also works on other processors, asks the kernel each time.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#if defined(__x86_64__) && !defined(FIBERS_BY_UCONTEXT)
extern "C" void fiber_switch(void** save, void* resume);
asm(R"(
.text
.globl fiber_switch
.type fiber_switch, @function
fiber_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size fiber_switch, .-fiber_switch
)");
struct Context {
    void* top = nullptr;
    void make(char* stack, size_t bytes, void (*start)()) {
        void** at = (void**)(stack + bytes);
        *--at = nullptr;           // where `start` would return to; also makes rsp % 16 == 8 at its first instruction
        *--at = (void*)start;      // taken by `ret`
        for (int i = 0; i < 6; i++) *--at = nullptr;
        top = at;
    }
};
static inline void switch_context(Context& from, Context& to) { fiber_switch(&from.top, to.top); }

#elif defined(__aarch64__) && !defined(FIBERS_BY_UCONTEXT)
extern "C" void fiber_switch(void** save, void* resume);
asm(R"(
.text
.globl fiber_switch
.type fiber_switch, %function
fiber_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x2, sp
    str x2, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
.size fiber_switch, .-fiber_switch
)");
struct Context {
    void* top = nullptr;
    void make(char* stack, size_t bytes, void (*start)()) {
        uint64_t* at = (uint64_t*)(stack + bytes) - 20;
        for (int i = 0; i < 20; i++) at[i] = 0;
        at[11] = (uint64_t)start;  // x30, the return address
        top = at;
    }
};
static inline void switch_context(Context& from, Context& to) { fiber_switch(&from.top, to.top); }

#else
struct Context {
    ucontext_t registers = {};
    void make(char* stack, size_t bytes, void (*start)()) {
        getcontext(&registers);
        registers.uc_stack.ss_sp = stack;
        registers.uc_stack.ss_size = bytes;
        registers.uc_link = nullptr;
        makecontext(&registers, start, 0);
    }
};
static inline void switch_context(Context& from, Context& to) { swapcontext(&from.registers, &to.registers); }
#endif

// Where an interrupted fiber was: program counter, frame pointer, stack pointer. Zeros where we do not know how.
struct Interrupted {
    uintptr_t counter = 0, frame = 0, stack = 0;
    bool writes = false;
    explicit Interrupted(const ucontext_t* context) {
#if defined(__x86_64__)
        const greg_t* registers = context->uc_mcontext.gregs;
        counter = (uintptr_t)registers[REG_RIP];
        frame = (uintptr_t)registers[REG_RBP];
        stack = (uintptr_t)registers[REG_RSP];
        writes = registers[REG_ERR] >> 1 & 1;
#elif defined(__aarch64__)
        counter = context->uc_mcontext.pc;
        frame = context->uc_mcontext.regs[29];
        stack = context->uc_mcontext.sp;
#else
        (void)context;
#endif
    }
};
