// What the lanes of a warp do together: synchronise, shuffle, vote.
#pragma once

namespace emulated {

EMULATED_UNSEEN static void nothing(void**, unsigned) {}

template <class T>
struct Shuffle {
    T value, result;
    int source;  // lane
};

template <class T>
EMULATED_UNSEEN void shuffle_lanes(void** lanes, unsigned mask) {
    for (int lane = 0; lane < 32; lane++) {
        if (!(mask >> lane & 1)) continue;
        auto* own = (Shuffle<T>*)lanes[lane];
        int from = own->source;
        bool there = from >= 0 && from < 32 && (mask >> from & 1);
        own->result = there ? ((Shuffle<T>*)lanes[from])->value : own->value;
    }
}

template <class T>
static inline T shuffle(const char* name, unsigned mask, T value, int source, int line) {
    Shuffle<T> mine{value, value, source};
    emulated_warp(name, line, mask, &mine, shuffle_lanes<T>);
    return mine.result;
}

struct Vote {
    int predicate;
    unsigned ballot;
    unsigned mask;
};

EMULATED_UNSEEN static void count_votes(void** lanes, unsigned mask) {
    unsigned ballot = 0;
    for (int lane = 0; lane < 32; lane++)
        if (mask >> lane & 1) ballot |= (unsigned)((Vote*)lanes[lane])->predicate << lane;
    for (int lane = 0; lane < 32; lane++)
        if (mask >> lane & 1) *(Vote*)lanes[lane] = {0, ballot, mask};
}

static inline Vote vote(const char* name, unsigned mask, int predicate, int line) {
    Vote mine{predicate != 0, 0, 0};
    emulated_warp(name, line, mask, &mine, count_votes);
    return mine;
}

template <class T>
EMULATED_UNSEEN void match_lanes(void** lanes, unsigned mask) {
    for (int lane = 0; lane < 32; lane++) {
        if (!(mask >> lane & 1)) continue;
        unsigned same = 0;
        for (int other = 0; other < 32; other++)
            if ((mask >> other & 1) && ((Shuffle<T>*)lanes[other])->value == ((Shuffle<T>*)lanes[lane])->value)
                same |= 1u << other;
        ((Shuffle<T>*)lanes[lane])->source = (int)same;
    }
}

}  // namespace emulated

static inline void __syncwarp(unsigned mask = 0xffffffffu, EMULATED_LINE) {
    emulated_warp("__syncwarp", line, mask, nullptr, emulated::nothing);
}

// `width` divides the warp into groups; a source outside the own group means the own value.
template <class T>
static inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, EMULATED_LINE) {
    int first = emulated_lane & ~(width - 1);
    return emulated::shuffle("__shfl_sync", mask, value, first + (source & (width - 1)), line);
}
template <class T>
static inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, EMULATED_LINE) {
    int first = emulated_lane & ~(width - 1), source = emulated_lane - (int)delta;
    return emulated::shuffle("__shfl_up_sync", mask, value, source < first ? emulated_lane : source, line);
}
template <class T>
static inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, EMULATED_LINE) {
    int first = emulated_lane & ~(width - 1), source = emulated_lane + (int)delta;
    return emulated::shuffle("__shfl_down_sync", mask, value, source >= first + width ? emulated_lane : source, line);
}
template <class T>
static inline T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, EMULATED_LINE) {
    int first = emulated_lane & ~(width - 1), source = emulated_lane ^ lanes;
    return emulated::shuffle("__shfl_xor_sync", mask, value, source >= first + width ? emulated_lane : source, line);
}

static inline unsigned __ballot_sync(unsigned mask, int predicate, EMULATED_LINE) {
    return emulated::vote("__ballot_sync", mask, predicate, line).ballot;
}
static inline int __any_sync(unsigned mask, int predicate, EMULATED_LINE) {
    return emulated::vote("__any_sync", mask, predicate, line).ballot != 0;
}
static inline int __all_sync(unsigned mask, int predicate, EMULATED_LINE) {
    emulated::Vote all = emulated::vote("__all_sync", mask, predicate, line);
    return all.ballot == all.mask;
}
template <class T>
static inline unsigned __match_any_sync(unsigned mask, T value, EMULATED_LINE) {
    emulated::Shuffle<T> mine{value, value, 0};
    emulated_warp("__match_any_sync", line, mask, &mine, emulated::match_lanes<T>);
    return (unsigned)mine.source;
}
// Which lanes come here together depends on the hardware; here a thread runs on until it waits, so it is alone.
static inline unsigned __activemask() { return 1u << emulated_lane; }
