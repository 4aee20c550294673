// bfloat16: the upper half of a float, opened by cuda_bf16.h.
#pragma once

namespace emulated_bf16 {

static inline uint16_t upper_half(float f) {
    if (f != f) return 0x7fff;
    uint32_t word = emulated::bits<uint32_t>(f);
    return (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);  // to the nearest, ties to even
}

struct __nv_bfloat16 {
    uint16_t v;
    __nv_bfloat16() = default;
    __nv_bfloat16(float f) : v(upper_half(f)) {}
    __nv_bfloat16(double d) : v(upper_half(emulated::round_to_odd(d, 0.0))) {}
    __nv_bfloat16(int i) : v(upper_half(emulated::round_to_odd((double)i, 0.0))) {}
    __nv_bfloat16& operator=(float f) {
        v = upper_half(f);
        return *this;
    }
    operator float() const { return emulated::bits<float>((uint32_t)v << 16); }
};
typedef __nv_bfloat16 nv_bfloat16;
struct __attribute__((aligned(4))) __nv_bfloat162 {
    __nv_bfloat16 x, y;
};
typedef __nv_bfloat162 nv_bfloat162;

EMULATED_SMALL_FLOAT(__nv_bfloat16)

static inline float __bfloat162float(__nv_bfloat16 b) { return (float)b; }
static inline __nv_bfloat16 __float2bfloat16(float f) { return __nv_bfloat16(f); }
static inline __nv_bfloat16 __float2bfloat16_rn(float f) { return __nv_bfloat16(f); }

}  // namespace emulated_bf16
#undef EMULATED_SMALL_FLOAT
