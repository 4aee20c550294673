// float2, int4, uchar4, dim3 and the like, with CUDA's alignment (a float4 needs an address that is a multiple of 16).
#pragma once

#define EMULATED_VECTOR(Type, Name, Align2, Align4)                                                       \
    struct Name##1 { Type x; };                                                                           \
    struct __attribute__((aligned(Align2))) Name##2 { Type x, y; };                                       \
    struct Name##3 { Type x, y, z; };                                                                     \
    struct __attribute__((aligned(Align4))) Name##4 { Type x, y, z, w; };                                 \
    static inline Name##1 make_##Name##1(Type x) { return {x}; }                                          \
    static inline Name##2 make_##Name##2(Type x, Type y) { return {x, y}; }                               \
    static inline Name##3 make_##Name##3(Type x, Type y, Type z) { return {x, y, z}; }                    \
    static inline Name##4 make_##Name##4(Type x, Type y, Type z, Type w) { return {x, y, z, w}; }

EMULATED_VECTOR(signed char, char, 2, 4)
EMULATED_VECTOR(unsigned char, uchar, 2, 4)
EMULATED_VECTOR(short, short, 4, 8)
EMULATED_VECTOR(unsigned short, ushort, 4, 8)
EMULATED_VECTOR(int, int, 8, 16)
EMULATED_VECTOR(unsigned, uint, 8, 16)
EMULATED_VECTOR(float, float, 8, 16)
EMULATED_VECTOR(double, double, 16, 16)
EMULATED_VECTOR(long long, longlong, 16, 16)
EMULATED_VECTOR(unsigned long long, ulonglong, 16, 16)
#undef EMULATED_VECTOR

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    operator uint3() const { return {x, y, z}; }
};
