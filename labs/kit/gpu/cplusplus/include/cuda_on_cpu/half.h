// half and half2, opened by cuda_fp16.h.
#pragma once

namespace emulated_fp16 {

struct __half {
    _Float16 v;
    __half() = default;
    __half(float f) : v((_Float16)f) {}
    __half(double d) : v((_Float16)d) {}
    __half(int i) : v((_Float16)(float)i) {}
    __half(unsigned i) : v((_Float16)(float)i) {}
    __half& operator=(float f) {
        v = (_Float16)f;
        return *this;
    }
    operator float() const { return (float)v; }
};
typedef __half half;
struct __attribute__((aligned(4))) __half2 {
    __half x, y;
};
typedef __half2 half2;

EMULATED_SMALL_FLOAT(__half)

static inline float __half2float(__half h) { return (float)h; }
static inline __half __float2half(float f) { return __half(f); }
static inline __half __float2half_rn(float f) { return __half(f); }
static inline __half __double2half(double d) { return __half(d); }
static inline __half __int2half_rn(int i) { return __half(i); }
static inline int __half2int_rn(__half h) { return (int)lrintf((float)h); }
static inline int __half2int_rz(__half h) { return (int)(float)h; }
static inline unsigned short __half_as_ushort(__half h) { return emulated::bits<unsigned short>(h.v); }
static inline __half __ushort_as_half(unsigned short u) {
    __half h;
    h.v = emulated::bits<_Float16>(u);
    return h;
}

static inline __half2 __halves2half2(__half a, __half b) { return {a, b}; }
static inline __half2 make_half2(__half a, __half b) { return {a, b}; }
static inline __half2 __float2half2_rn(float f) { return {__half(f), __half(f)}; }
static inline __half2 __half2half2(__half h) { return {h, h}; }
static inline __half2 __floats2half2_rn(float a, float b) { return {__half(a), __half(b)}; }
static inline __half2 __float22half2_rn(float2 f) { return {__half(f.x), __half(f.y)}; }
static inline __half __low2half(__half2 a) { return a.x; }
static inline __half __high2half(__half2 a) { return a.y; }
static inline float __low2float(__half2 a) { return (float)a.x; }
static inline float __high2float(__half2 a) { return (float)a.y; }
static inline float2 __half22float2(__half2 a) { return {(float)a.x, (float)a.y}; }
static inline __half2 __hadd2(__half2 a, __half2 b) { return {a.x + b.x, a.y + b.y}; }
static inline __half2 __hsub2(__half2 a, __half2 b) { return {a.x - b.x, a.y - b.y}; }
static inline __half2 __hmul2(__half2 a, __half2 b) { return {a.x * b.x, a.y * b.y}; }
static inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
    return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
static inline __half2 operator+(__half2 a, __half2 b) { return __hadd2(a, b); }
static inline __half2 operator-(__half2 a, __half2 b) { return __hsub2(a, b); }
static inline __half2 operator*(__half2 a, __half2 b) { return __hmul2(a, b); }

}  // namespace emulated_fp16
