// The warm child: loads compiled cells, runs their kernels, and ends with a report when one goes wrong.
//
// Arguments: descriptors of the commands, of the replies and of the arena, and the arena's size in bytes. A command is
// a line; a reply is lines, the last of which is a single dot. The end of the commands is the end of the worker.
#include <stdlib.h>
#include <sys/resource.h>

#include "launching.h"

static void limit(int resource, rlim_t most) {
    rlimit now;
    getrlimit((__rlimit_resource_t)resource, &now);
    now.rlim_cur = std::min(most, now.rlim_max);
    setrlimit((__rlimit_resource_t)resource, &now);
}

template <class T>
static T* reserve(size_t bytes, int protection) {
    void* memory = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) _exit(9);
    return (T*)memory;
}

int main(int count, char** words) {
    if (count < 5) return 2;
    parent = getppid();
    int commands = atoi(words[1]), arena_file = atoi(words[3]);
    replies = atoi(words[2]);
    size_t arena_bytes = strtoul(words[4], nullptr, 10);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 16u << 20);  // what a kernel prints

    // The arena between two stretches that nothing else can lie in: a pointer that goes astray ends there.
    constexpr size_t margin = size_t(256) << 20;
    arena = reserve<char>(arena_bytes + 2 * margin, PROT_NONE) + margin;
    if (mmap(arena, arena_bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, arena_file, 0) == MAP_FAILED) return 9;
    close(arena_file);
    stacks = reserve<char>(SLOT * MOST_THREADS + GUARD, PROT_NONE);
    dynamic_shadow = reserve<Shadow>((EMULATED_DYNAMIC_SHARED + 2) * sizeof(Shadow), PROT_READ | PROT_WRITE);
    static_shadow = reserve<Shadow>((STATIC_SHARED + 2) * sizeof(Shadow), PROT_READ | PROT_WRITE);
    array_shadow = reserve<ArrayShadow>(WATCHED * sizeof(ArrayShadow), PROT_READ | PROT_WRITE);
    static Region none = {};
    last_region = &none;

    catch_signals();
    setvbuf(stdout, nullptr, _IOFBF, 1 << 16);
    FILE* input = fdopen(commands, "r");
    char* line = nullptr;
    size_t room = 0;
    reply("READY\n.\n");
    while (getline(&line, &room, input) > 0) {
        if (!strncmp(line, "LOAD ", 5)) {
            line[strcspn(line, "\n")] = 0;
            load(line + 5);
        } else if (!strncmp(line, "LAUNCH ", 7)) {
            run(line + 7);
        } else {
            break;
        }
    }
    return 0;
}
