// Fragments: how the 32 lanes of a warp hold the tiles of D = A B + C between them.
//
// CUDA leaves the map from (lane, index) to (row, column) unspecified. For 16 x 16 x 16 this is the one of sm_80, two
// of PTX's documented mma.m16n8k16 side by side, in which each element of A and B is held twice (x[8..15] repeat
// x[0..7]). For the other shapes it is row by row.
#pragma once

namespace emulated_wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}

// The type in which a fragment stores its elements.
template <class T>
struct Stored { typedef T type; };
template <>
struct Stored<precision::tf32> { typedef float type; };

template <class T>
constexpr bool is_half = std::is_same<T, emulated_fp16::__half>::value;
template <class T>
constexpr bool is_byte = std::is_same<T, signed char>::value || std::is_same<T, unsigned char>::value ||
                         std::is_same<T, char>::value;

// Which shapes the hardware has for which type of A and B (an accumulator only tells the shape).
template <int M, int N, int K, class T, class Use>
constexpr bool exists() {
    constexpr bool sixteen = K == 16 && ((M == 16 && N == 16) || (M == 32 && N == 8) || (M == 8 && N == 32));
    constexpr bool eight = K == 8 && M == 16 && N == 16;
    if (std::is_same<Use, accumulator>::value) return sixteen || eight;
    return std::is_same<T, precision::tf32>::value ? eight : sixteen;
}

template <class Use, int M, int N, int K>
constexpr int rows_of = std::is_same<Use, matrix_b>::value ? K : M;
template <class Use, int M, int N, int K>
constexpr int columns_of = std::is_same<Use, matrix_a>::value ? K : N;

// Row-major position in the tile of what `lane` holds in x[index].
template <class Use, int M, int N, int K>
static inline __attribute__((always_inline, no_sanitize("thread", "undefined"))) int position(int lane, int index) {
    constexpr int elements = rows_of<Use, M, N, K> * columns_of<Use, M, N, K> / 32;
    if (M == 16 && N == 16 && K == 16) {
        int group = lane >> 2, pair = (lane & 3) * 2, low = index & 1, upper = index >> 1 & 1, right = index >> 2 & 1;
        if (std::is_same<Use, matrix_b>::value) return (pair + low + upper * 8) * 16 + group + right * 8;
        return (group + upper * 8) * 16 + pair + low + right * 8;
    }
    return lane * elements + index % elements;
}

template <class Use, int M, int N, int K, class T, class Layout = void>
struct fragment {
    static_assert(exists<M, N, K, T, Use>(),
                  "no such fragment: 16x16x16, 32x8x16 and 8x32x16 exist (half, __nv_bfloat16, signed and unsigned "
                  "char), and 16x16x8 for precision::tf32");
    static_assert(std::is_same<Use, accumulator>::value || !std::is_same<Layout, void>::value,
                  "a fragment of A or B needs row_major or col_major as its last type");
    typedef T element_type;
    typedef typename Stored<T>::type storage_element_type;
    static constexpr int once = rows_of<Use, M, N, K> * columns_of<Use, M, N, K> / 32;
    static constexpr bool twice = (M == 16 && N == 16 && K == 16) && !std::is_same<Use, accumulator>::value &&
                                  sizeof(storage_element_type) == 2;
    static constexpr int num_elements = twice ? 2 * once : once;
    storage_element_type x[num_elements];
};

template <class Use, int M, int N, int K, class T, class Layout>
static inline void fill_fragment(fragment<Use, M, N, K, T, Layout>& f, const typename Stored<T>::type value) {
    for (int i = 0; i < f.num_elements; i++) f.x[i] = value;
}

static inline float __float_to_tf32(float f) {
    uint32_t word = emulated::bits<uint32_t>(f);
    return emulated::bits<float>((word + 0x1000) & 0xffffe000);  // to the nearest, ties away from zero
}

}  // namespace emulated_wmma
