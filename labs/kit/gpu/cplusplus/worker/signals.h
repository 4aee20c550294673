// What the hardware or the clock has to say: wild addresses, an overrun stack, division by zero, no time left.
#pragma once
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "report.h"

static pid_t parent;

static double cpu_seconds() {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// Every tenth of a second: has Python gone, or has the kernel used up its time? (Time of the processor, so that a busy
// machine stops nobody.)
static void on_tick(const Interrupted& at) {
    if (getppid() != parent) _exit(0);
    if (!launch.in_kernel || (cpu_seconds() - launch.started) * 1000 < (double)launch.limit_ms) return;
    begin_report("timeout");
    say_counters(at.counter, at.frame, at.stack);
    finish();
}

static void on_signal(int number, siginfo_t* facts, void* context) {
    Interrupted at((const ucontext_t*)context);
    if (number == SIGALRM) return on_tick(at);
    uintptr_t address = (uintptr_t)facts->si_addr;
    bool memory = number == SIGSEGV || number == SIGBUS;
    if (memory && address >= (uintptr_t)stacks && address < (uintptr_t)stacks + SLOT * MOST_THREADS) {
        begin_report("stack");
        say("kilobytes %ld\n", (long)(STACK / 1024));
        say_counters(at.counter, at.frame > address ? at.frame : 0);
        finish();
    }
    begin_report(memory              ? "segv"
                 : number == SIGFPE  ? "fpe"
                 : number == SIGABRT ? "abort"
                                     : "ill");
    if (memory) {
        say("addr %lx\nwrite %d\n", (long)address, at.writes);
        say_nearest(address);
    }
    // After abort() and the like, the frames of the C library lie between: look on the stack for the kernel's.
    say_counters(at.counter, at.frame, at.stack);
    finish();
}

static void catch_signals() {
    stack_t own = {};
    own.ss_size = 64 * 1024;
    own.ss_sp = malloc(own.ss_size);
    sigaltstack(&own, nullptr);
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL, SIGALRM}) sigaction(number, &action, nullptr);
    signal(SIGINT, SIG_IGN);  // Python decides what an interrupt ends
    signal(SIGXFSZ, SIG_IGN);
}

static void set_ticks(bool on) {
    itimerval every = {};
    if (on) every.it_interval.tv_usec = every.it_value.tv_usec = 100000;
    setitimer(ITIMER_REAL, &every, nullptr);
}
