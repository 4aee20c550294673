// Atomic operations. Threads take turns on one processor and only change at barriers, so a plain read, change and
// write is atomic; all that is left to do is to tell the observer of races.
#pragma once

namespace emulated {
#ifdef __SANITIZE_THREAD__
struct Atomic {
    Atomic() { emulated_atomic(1); }
    ~Atomic() { emulated_atomic(0); }
};
#else
struct Atomic {
    Atomic() {}
};
#endif
// Keeps a parameter out of template deduction: atomicAdd(float*, 1) takes the type of the pointer.
template <class T>
struct Same { typedef T type; };
}  // namespace emulated

#define EMULATED_ATOMIC(Name, Update)                                             \
    template <class T>                                                            \
    static inline T Name(T* address, typename emulated::Same<T>::type value) {    \
        emulated::Atomic observed;                                                \
        T old = *address;                                                         \
        Update;                                                                   \
        return old;                                                               \
    }                                                                             \
    template <class T>                                                            \
    static inline T Name##_block(T* address, typename emulated::Same<T>::type value) { return Name(address, value); }
EMULATED_ATOMIC(atomicAdd, *address = (T)(old + value))
EMULATED_ATOMIC(atomicSub, *address = (T)(old - value))
EMULATED_ATOMIC(atomicMin, *address = value < old ? (T)value : old)
EMULATED_ATOMIC(atomicMax, *address = old < value ? (T)value : old)
EMULATED_ATOMIC(atomicExch, *address = value)
EMULATED_ATOMIC(atomicOr, *address = old | value)
EMULATED_ATOMIC(atomicAnd, *address = old & value)
EMULATED_ATOMIC(atomicXor, *address = old ^ value)
EMULATED_ATOMIC(atomicInc, *address = old >= value ? (T)0 : (T)(old + 1))
EMULATED_ATOMIC(atomicDec, *address = old == 0 || old > value ? (T)value : (T)(old - 1))
#undef EMULATED_ATOMIC

template <class T>
static inline T atomicCAS(T* address, typename emulated::Same<T>::type expected,
                          typename emulated::Same<T>::type value) {
    emulated::Atomic observed;
    T old = *address;
    *address = old == expected ? (T)value : old;
    return old;
}
