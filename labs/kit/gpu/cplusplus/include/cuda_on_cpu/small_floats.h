// What half and bfloat16 have in common: arithmetic through float. A float sum or product of two such numbers, rounded
// to 16 bits, is the correctly rounded result (float has more than twice the digits), as on the device.
#pragma once

namespace emulated {
// product + addend, rounded to odd in float: then rounding to 16 bits is the only rounding that counts, as in a fused
// multiply-add. `product` is exact in double.
static inline float round_to_odd(double product, double addend) {
    double sum = product + addend, back = sum - product;
    double error = (product - (sum - back)) + (addend - back);  // exact (two-sum)
    if (error != 0) {
        uint64_t word = bits<uint64_t>(sum);
        if (!(word & 1)) sum = bits<double>((error > 0) == (sum > 0) ? word + 1 : word - 1);
    }
    float narrow = (float)sum;
    if ((double)narrow != sum && narrow - narrow == 0) {
        uint32_t word = bits<uint32_t>(narrow);
        double rest = sum - (double)narrow;
        if (!(word & 1)) narrow = bits<float>((rest > 0) == (narrow > 0) || narrow == 0 ? word + 1 : word - 1);
    }
    return narrow;
}
}  // namespace emulated

#define EMULATED_SMALL_FLOAT(H)                                                                          \
    static inline H operator+(H a, H b) { return H((float)a + (float)b); }                               \
    static inline H operator-(H a, H b) { return H((float)a - (float)b); }                               \
    static inline H operator*(H a, H b) { return H((float)a * (float)b); }                               \
    static inline H operator/(H a, H b) { return H((float)a / (float)b); }                               \
    static inline H operator-(H a) { return H(-(float)a); }                                              \
    static inline H& operator+=(H& a, H b) { return a = a + b; }                                         \
    static inline H& operator-=(H& a, H b) { return a = a - b; }                                         \
    static inline H& operator*=(H& a, H b) { return a = a * b; }                                         \
    static inline H& operator/=(H& a, H b) { return a = a / b; }                                         \
    static inline bool operator<(H a, H b) { return (float)a < (float)b; }                               \
    static inline bool operator>(H a, H b) { return (float)a > (float)b; }                               \
    static inline bool operator<=(H a, H b) { return (float)a <= (float)b; }                             \
    static inline bool operator>=(H a, H b) { return (float)a >= (float)b; }                             \
    static inline bool operator==(H a, H b) { return (float)a == (float)b; }                             \
    static inline bool operator!=(H a, H b) { return (float)a != (float)b; }                             \
    static inline H __hadd(H a, H b) { return a + b; }                                                   \
    static inline H __hsub(H a, H b) { return a - b; }                                                   \
    static inline H __hmul(H a, H b) { return a * b; }                                                   \
    static inline H __hdiv(H a, H b) { return a / b; }                                                   \
    static inline H __hneg(H a) { return -a; }                                                           \
    static inline H __habs(H a) { return H(fabsf((float)a)); }                                           \
    static inline H __hmax(H a, H b) { return H(fmaxf((float)a, (float)b)); }                            \
    static inline H __hmin(H a, H b) { return H(fminf((float)a, (float)b)); }                            \
    static inline bool __hlt(H a, H b) { return a < b; }                                                 \
    static inline bool __hle(H a, H b) { return a <= b; }                                                \
    static inline bool __hgt(H a, H b) { return a > b; }                                                 \
    static inline bool __hge(H a, H b) { return a >= b; }                                                \
    static inline bool __heq(H a, H b) { return a == b; }                                                \
    static inline bool __hisnan(H a) { return (float)a != (float)a; }                                    \
    static inline H hsqrt(H a) { return H(sqrtf((float)a)); }                                            \
    static inline H hexp(H a) { return H(expf((float)a)); }                                              \
    static inline H hlog(H a) { return H(logf((float)a)); }                                              \
    static inline H __hfma(H a, H b, H c) {                                                              \
        return H(emulated::round_to_odd((double)(float)a * (double)(float)b, (double)(float)c));         \
    }
