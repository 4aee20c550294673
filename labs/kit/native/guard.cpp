// Lives in the child process: says where a learner's C++ stood when it crashed or ran out of time, puts forbidden pages
// around arrays, and ends the child when the notebook's process has gone.
//
// A report is text, a line each: "signal NUMBER", "address HEX WRITE", "stack" (the stack is full),
// "array INDEX OFFSET BYTES" (the array that the address is closest to), "frame FILE OFFSET" (innermost first).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#if defined(__linux__)
#include <stdio_ext.h>
#include <ucontext.h>
#endif

namespace {

constexpr int FRAMES = 64, ARRAYS = 64;
constexpr std::size_t OUTPUT = 1 << 16;

int report_fd = -1, alive_fd = -1;
char output[OUTPUT];
char* stack_low = nullptr;
struct Placed {
    char* start;
    std::size_t bytes;
} placed[ARRAYS];
int placed_count = 0;

void say(const char* text, std::size_t length) {
    while (length > 0) {
        ssize_t done = write(report_fd, text, length);
        if (done <= 0) return;
        text += done, length -= done;
    }
}

// snprintf with integers and strings only allocates nothing.
template <class... A> void say_line(const char* format, A... values) {
    char line[4400];
    int length = snprintf(line, sizeof line, format, values...);
    if (length > 0) say(line, std::size_t(length) < sizeof line ? length : sizeof line - 1);
}

void say_frame(void* address, bool exact) {
    char* at = static_cast<char*>(address) - (exact ? 0 : 1);  // a return address is behind its call
    Dl_info info;
    if (dladdr(at, &info) && info.dli_fname)
        say_line("frame %s %lx\n", info.dli_fname, (unsigned long)(at - static_cast<char*>(info.dli_fbase)));
}

void say_array(char* address) {
    long best = -1, distance = 1L << 20;
    for (int i = 0; i < placed_count; ++i) {
        long before = placed[i].start - address, behind = address - (placed[i].start + placed[i].bytes);
        long away = before > 0 ? before : behind >= 0 ? behind : 0;
        if (away < distance) best = i, distance = away;
    }
    if (best >= 0)
        say_line("array %ld %ld %lu\n", best, long(address - placed[best].start), (unsigned long)placed[best].bytes);
}

void on_signal(int number, siginfo_t* info, void* context) {
    signal(SIGALRM, SIG_DFL);
    alarm(3);  // whatever happens below, the process ends
    say_line("signal %d\n", number);
    void* program_counter = nullptr;
    char* stack_pointer = nullptr;
    unsigned long is_write = 2;  // not known
#if defined(__linux__) && defined(__x86_64__)
    auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    program_counter = reinterpret_cast<void*>(registers[REG_RIP]);
    stack_pointer = reinterpret_cast<char*>(registers[REG_RSP]);
    is_write = registers[REG_ERR] >> 1 & 1;
#elif defined(__linux__) && defined(__aarch64__)
    auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
    program_counter = reinterpret_cast<void*>(machine.pc);
    stack_pointer = reinterpret_cast<char*>(machine.sp);
#else
    (void)context;
#endif
    if (number == SIGSEGV || number == SIGBUS) {
        char* address = static_cast<char*>(info->si_addr);
        say_line("address %lx %lu\n", (unsigned long)address, is_write);
        bool below = stack_low && address < stack_low + (64 << 10) && address > stack_low - (64 << 20);
        if (below && (!stack_pointer || stack_pointer < stack_low + (256 << 10)))
            say("stack\n", 6);
        else
            say_array(address);
    }
    if (program_counter) say_frame(program_counter, true);
    void* frames[FRAMES];
    int count = backtrace(frames, FRAMES);
    for (int i = 1; i < count; ++i)
        if (frames[i] != program_counter) say_frame(frames[i], false);
#if defined(__linux__)
    std::size_t pending = __fpending(stdout);  // what was printed without a newline lies in our own buffer
    if (pending && pending <= OUTPUT && write(STDOUT_FILENO, output, pending) < 0) _exit(126);
#endif
    if (number == SIGUSR1) _exit(125);
    signal(number, SIG_DFL);
    raise(number);
    sigset_t none;
    sigfillset(&none);
    sigprocmask(SIG_UNBLOCK, &none, nullptr);
    _exit(124);
}

// Nobody is left to work for once the other end of the pipe is closed. A thread of its own sees it also while the
// learner's code loops for ever.
void* watch(void*) {
    pid_t parent = getppid();
    for (;;) {
        pollfd ends{alive_fd, POLLIN, 0};
        if ((poll(&ends, 1, 500) > 0 && (ends.revents & (POLLHUP | POLLERR | POLLNVAL))) || getppid() != parent)
            _exit(0);
    }
}

}  // namespace

extern "C" {

// `crashes`: whether to report crashes too; a sanitizer does so itself, and better.
int labs_guard_start(int report, int alive, int crashes) {
    report_fd = report, alive_fd = alive;
    static char stack[1 << 16];
    stack_t other{};
    other.ss_sp = stack, other.ss_size = sizeof stack;
    sigaltstack(&other, nullptr);
    void* warm[2];
    backtrace(warm, 2);  // the first call loads a library, which must not happen in a handler
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
        if (crashes) sigaction(number, &action, nullptr);
    sigaction(SIGUSR1, &action, nullptr);  // the notebook says that time is up
#if defined(__linux__)
    pthread_attr_t attributes;
    rlimit limit;
    void* low;
    std::size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &low, &size);
        stack_low = static_cast<char*>(low);
        if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
            stack_low = static_cast<char*>(low) + size - limit.rlim_cur;
        pthread_attr_destroy(&attributes);
    }
#elif defined(__APPLE__)
    stack_low = static_cast<char*>(pthread_get_stackaddr_np(pthread_self())) - pthread_get_stacksize_np(pthread_self());
#endif
    setvbuf(stdout, output, _IOLBF, OUTPUT);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the main thread's
    pthread_t thread;
    int failed = pthread_create(&thread, nullptr, watch, nullptr);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return failed;
}

// A part of a file in memory, with a forbidden page before and behind it. `offset` and `bytes` are whole pages.
void* labs_guard_map(int fd, std::size_t offset, std::size_t bytes, int writable) {
    std::size_t page = sysconf(_SC_PAGESIZE);
    void* room = mmap(nullptr, bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (room == MAP_FAILED) return nullptr;
    char* start = static_cast<char*>(room) + page;
    int access = PROT_READ | (writable ? PROT_WRITE : 0);
    if (mmap(start, bytes, access, MAP_SHARED | MAP_FIXED, fd, offset) == MAP_FAILED) {
        munmap(room, bytes + 2 * page);
        return nullptr;
    }
    return start;
}

void labs_guard_unmap(void* start, std::size_t bytes) {
    std::size_t page = sysconf(_SC_PAGESIZE);
    munmap(static_cast<char*>(start) - page, bytes + 2 * page);
}

// Tell the report where an array of the coming call lies.
void labs_guard_array(int index, void* start, std::size_t bytes) {
    if (index == 0) placed_count = 0;
    if (index < ARRAYS) placed[placed_count++] = {static_cast<char*>(start), bytes};
}

void labs_guard_flush() {
    std::cout.flush();
    fflush(nullptr);
}
}
