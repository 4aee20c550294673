// Load a compiled cell; launch one of its kernels, block after block.
#pragma once
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <string>

#include "accesses.h"
#include "scheduler.h"
#include "signals.h"

static void reply(const std::string& text) { write_all(text.data(), text.size()); }

static int add_segments(dl_phdr_info* library, size_t, void* module_) {
    auto* module = (Module*)module_;
    if (library->dlpi_addr != module->base) return 0;
    module->begin = ~uintptr_t(0), module->end = 0;
    for (int i = 0; i < library->dlpi_phnum; i++) {
        const auto& segment = library->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD) continue;
        uintptr_t begin = module->base + segment.p_vaddr, end = begin + segment.p_memsz;
        module->begin = std::min(module->begin, begin), module->end = std::max(module->end, end);
        module->data.push_back({begin, end, Kind::other, 0, !(segment.p_flags & PF_W), nullptr, 0});
    }
    return 1;
}

// "LOAD path" -> "OK number", then "kernel|name|signature" and "constant|name|bytes" for each
static void load(const char* path) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return reply(std::string("FAIL ") + dlerror() + "\n.\n");
    Module module = {};
    link_map* map;
    dlinfo(library, RTLD_DI_LINKMAP, &map);
    module.base = map->l_addr;
    dl_iterate_phdr(add_segments, &module);
    module.facts = (const emulated_module*)dlsym(library, "emulated_facts");
    if (!module.facts) return reply("FAIL it holds no kernels\n.\n");
    std::string text = "OK " + std::to_string(modules.size()) + "\n";
    for (auto* kernel = module.facts->kernels; kernel->name; kernel++, module.kernels++)
        text += std::string("kernel|") + kernel->name + "|" + kernel->signature() + "\n";
    for (auto* constant = module.facts->constants; constant->name; constant++)
        text += std::string("constant|") + constant->name + "|" + std::to_string(constant->bytes) + "\n";
    modules.push_back(module);
    reply(text + ".\n");
}

static void add_region(uintptr_t begin, uintptr_t end, Kind kind, int index, bool read_only, Shadow* shadow, int grain) {
    if (end > begin) regions.push_back({begin, end, kind, index, read_only, shadow, grain});
}

// The library's own data, without the sections that are regions of their own.
static void add_rest(uintptr_t begin, uintptr_t end, bool read_only) {
    for (const Region& region : regions) {
        if (region.kind == Kind::array || region.kind == Kind::other || region.end <= begin || region.begin >= end)
            continue;
        uintptr_t low = region.begin, high = region.end;
        if (begin < low) add_rest(begin, low, read_only);
        if (high < end) add_rest(high, end, read_only);
        return;
    }
    add_region(begin, end, Kind::other, 0, read_only, nullptr, 0);
}

// Numbers and words of a command, one after the other.
struct Words {
    char* at;
    unsigned long number() { return strtoul(at, &at, 10); }
    char letter() {
        while (*at == ' ') at++;
        return *at++;
    }
    // Bytes written in hexadecimal.
    void bytes(char* out, size_t most) {
        while (*at == ' ') at++;
        for (size_t i = 0; i < most && *at && *at != ' ' && *at != '\n'; i++, at += 2) {
            unsigned value = 0;
            sscanf(at, "%2x", &value);
            out[i] = (char)value;
        }
    }
};

struct Opened {
    char* begin;
    size_t bytes;
};
static std::vector<Opened> opened;  // the pages of the arena that this launch may touch

static char* open_array(size_t offset, size_t bytes, int index, bool read_only, int grain,
                        ArrayShadow*& free_shadow) {
    char* begin = arena + offset;
    if (!bytes) {  // nothing may be touched, but an address here shall be told by its name
        regions.push_back({(uintptr_t)begin, (uintptr_t)begin, Kind::array, index, read_only, nullptr, 0});
        return begin;
    }
    uintptr_t low = (uintptr_t)begin & ~uintptr_t(4095), high = ((uintptr_t)begin + bytes + 4095) & ~uintptr_t(4095);
    mprotect((void*)low, high - low, PROT_READ | PROT_WRITE);
    opened.push_back({(char*)low, high - low});
    size_t elements = (bytes >> grain) + 2;
    Shadow* shadow = nullptr;
    if (launch.module->facts->checked && launch.races && free_shadow + elements <= array_shadow + WATCHED)
        shadow = free_shadow, free_shadow += elements;
    add_region((uintptr_t)begin, (uintptr_t)begin + bytes, Kind::array, index, read_only, shadow, grain);
    return begin;
}

static void run_block(size_t dynamic) {
    const emulated_module* facts = launch.module->facts;
    // Shared memory is undefined at first: all bits set are NaN, so that a sum over it is seen to be wrong.
    memset(facts->shared_begin, 0xff, (size_t)(facts->shared_end - facts->shared_begin));
    memset(facts->dynamic_shared, 0xff, dynamic);
    memset((void*)threads, 0, (size_t)launch.threads * sizeof(Thread));
    memset(waiting_lanes, 0, sizeof waiting_lanes);
    clock_.block = ++clock_.interval;
    clock_.blocks.push_back(clock_.block);
    clock_.atomic = 0;
    next_thread = arrived = ready_first = ready_count = 0;
    alive = launch.threads;
    Fiber* first = free_fiber();
    first->thread = -1;
    current = first;
    switch_context(worker_context, first->context);
}

// "LAUNCH token module kernel gx gy gz bx by bz dynamic limit_ms flags constants (index offset bytes)... arguments
//  (P offset bytes read_only grain | S hex)..." -> "DONE token seconds switches"
static void run(char* text) {
    Words words{text};
    auto next = [&words] { return (unsigned)words.number(); };
    unsigned long token = words.number();
    unsigned module_number = next(), kernel_number = next();
    if (module_number >= modules.size()) return reply("ERR unknown module\n.\n");
    launch.module = &modules[module_number];
    const emulated_module* facts = launch.module->facts;
    gridDim.x = next(), gridDim.y = next(), gridDim.z = next();
    blockDim.x = next(), blockDim.y = next(), blockDim.z = next();
    size_t dynamic = words.number();
    launch.limit_ms = (long)words.number();
    unsigned flags = next();
    launch.strict = flags & 1, launch.races = flags >> 1 & 1;
    launch.threads = (int)(blockDim.x * blockDim.y * blockDim.z);

    regions.clear();
    opened.clear();
    for (unsigned left = next(); left; left--) {
        const emulated_constant& constant = facts->constants[next()];
        size_t offset = words.number(), bytes = words.number();
        uintptr_t page = (uintptr_t)(arena + offset) & ~uintptr_t(4095);
        size_t span = (uintptr_t)(arena + offset) + bytes - page;
        mprotect((void*)page, span, PROT_READ);
        memcpy(constant.address, arena + offset, std::min(bytes, constant.bytes));
        mprotect((void*)page, span, PROT_NONE);
    }
    static char scalars[64][64];
    ArrayShadow* free_shadow = array_shadow;
    unsigned arguments = next();
    for (unsigned i = 0; i < arguments && i < 64; i++) {
        launch.arguments[i] = scalars[i];
        if (words.letter() == 'P') {
            size_t offset = words.number(), bytes = words.number();
            bool read_only = words.number();
            int grain = (int)words.number();
            *(void**)scalars[i] = open_array(offset, bytes, (int)i, read_only, grain, free_shadow);
        } else {
            words.bytes(scalars[i], sizeof scalars[i]);
        }
    }
    uintptr_t shared = (uintptr_t)facts->shared_begin, shared_end = (uintptr_t)facts->shared_end;
    uintptr_t extra = (uintptr_t)facts->dynamic_shared;
    bool watch = facts->checked && launch.races;
    add_region(shared, shared_end, Kind::shared, 0, false,
               watch && shared_end - shared <= STATIC_SHARED ? static_shadow : nullptr, 0);
    add_region(extra, extra + dynamic, Kind::dynamic_shared, 0, false, watch ? dynamic_shadow : nullptr, 0);
    add_region((uintptr_t)facts->constant_begin, (uintptr_t)facts->constant_end, Kind::constant, 0, true, nullptr, 0);
    add_region((uintptr_t)stacks, (uintptr_t)stacks + SLOT * MOST_THREADS, Kind::other, 0, false, nullptr, 0);
    // What dynamic shared memory this launch did not ask for belongs to nobody.
    regions.push_back({extra + dynamic, extra + EMULATED_DYNAMIC_SHARED, Kind::dynamic_shared, 0, false, nullptr, 0});
    size_t placeholder = regions.size() - 1;
    std::vector<Region> data = launch.module->data;
    for (const Region& segment : data) add_rest(segment.begin, segment.end, segment.read_only);
    regions.erase(regions.begin() + (long)placeholder);
    last_region = &regions[0];

    launch.invoke = facts->kernels[kernel_number].invoke;
    launch.switches = 0;
    clock_.launch = clock_.interval + 1;
    clock_.blocks.clear();
    launch.started = cpu_seconds();
    timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    set_ticks(true);
    launch.in_kernel = true;
    for (blockIdx.z = 0; blockIdx.z < gridDim.z; blockIdx.z++)
        for (blockIdx.y = 0; blockIdx.y < gridDim.y; blockIdx.y++)
            for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) run_block(dynamic);
    launch.in_kernel = false;
    set_ticks(false);
    clock_gettime(CLOCK_MONOTONIC, &end);
    for (const Opened& pages : opened) mprotect(pages.begin, pages.bytes, PROT_NONE);
    fflush(stdout);
    char done[160];
    double seconds = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    snprintf(done, sizeof done, "DONE %lu %.9f %ld\n.\n", token, seconds, launch.switches);
    reply(done);
}
