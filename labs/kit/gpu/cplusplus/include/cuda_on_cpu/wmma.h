// nvcuda::wmma: load, multiply and store fragments, opened by mma.h. The last lane that arrives works for all.
#pragma once

namespace emulated_wmma {

// One lane's arguments of a load or store.
struct Transfer {
    const void* tile;
    unsigned leading;  // distance between rows (row major) or columns (column major), in elements
    bool column_major;
    int line;
    void* fragment;
};

[[noreturn]] EMULATED_UNSEEN inline void refuse(const char* kind, const char* format, const char* name, long a, long b,
                                                int line) {
    char text[240];
    snprintf(text, sizeof text, format, name, a, b);
    emulated_misuse(kind, text, line);
}

// What CUDA asks of a load or store, and that every element lies in an array of the launch.
EMULATED_UNSEEN inline void check_transfer(void** lanes, unsigned mask, const char* name, size_t bytes, int lines,
                                           int length, bool write) {
    auto* first = (Transfer*)lanes[__builtin_ctz(mask)];
    if (mask != 0xffffffffu)
        refuse("wmma", "%s needs all 32 lanes of the warp: make the block size a multiple of 32", name, 0, 0, first->line);
    for (int lane = 1; lane < 32; lane++) {
        auto* other = (Transfer*)lanes[lane];
        if (other->tile != first->tile || other->leading != first->leading)
            refuse("wmma", "%s: all 32 lanes of a warp must pass the same pointer and leading dimension, but lane 0 "
                   "and lane %ld differ", name, lane, 0, first->line);
    }
    long off = (long)((uintptr_t)first->tile % 32);
    if (off)
        refuse("misaligned", "%s: the pointer to the tile must be a multiple of 32 bytes; it is %ld bytes off", name,
               off, 0, first->line);
    long unit = (long)(16 / bytes);
    if (first->leading * bytes % 16)
        refuse("misaligned", "%s: the leading dimension %ld must be a multiple of %ld elements (16 bytes)", name,
               (long)first->leading, unit, first->line);
    if ((long)first->leading < length)
        refuse("wmma", "%s: the leading dimension %ld is smaller than a row or column of the tile (%ld elements)", name,
               (long)first->leading, length, first->line);
    for (int i = 0; i < lines; i++)
        emulated_check((const char*)first->tile + (size_t)i * first->leading * bytes, (size_t)length * bytes, write,
                       first->line);
}

template <class Use, int M, int N, int K, class T, class Layout>
EMULATED_UNSEEN void load_lanes(void** lanes, unsigned mask) {
    typedef fragment<Use, M, N, K, T, Layout> Fragment;
    typedef typename Stored<T>::type Element;
    constexpr int rows = rows_of<Use, M, N, K>, columns = columns_of<Use, M, N, K>;
    auto* first = (Transfer*)lanes[__builtin_ctz(mask)];
    bool by_column = first->column_major;
    check_transfer(lanes, mask, "load_matrix_sync", sizeof(Element), by_column ? columns : rows,
                   by_column ? rows : columns, false);
    const Element* tile = (const Element*)first->tile;
    size_t leading = first->leading;
    Element whole[rows * columns];
    if (by_column) {
        for (int c = 0; c < columns; c++)
            for (int r = 0; r < rows; r++) whole[r * columns + c] = tile[c * leading + r];
    } else {
        for (int r = 0; r < rows; r++) memcpy(whole + r * columns, tile + r * leading, columns * sizeof(Element));
    }
    for (int lane = 0; lane < 32; lane++) {
        auto* f = (Fragment*)((Transfer*)lanes[lane])->fragment;
        for (int i = 0; i < Fragment::num_elements; i++) f->x[i] = whole[position<Use, M, N, K>(lane, i)];
    }
}

template <int M, int N, int K, class T>
EMULATED_UNSEEN void store_lanes(void** lanes, unsigned mask) {
    typedef fragment<accumulator, M, N, K, T> Fragment;
    auto* first = (Transfer*)lanes[__builtin_ctz(mask)];
    bool by_column = first->column_major;
    check_transfer(lanes, mask, "store_matrix_sync", sizeof(T), by_column ? N : M, by_column ? M : N, true);
    T* tile = (T*)first->tile;
    size_t leading = first->leading;
    for (int lane = 0; lane < 32; lane++) {
        auto* f = (Fragment*)((Transfer*)lanes[lane])->fragment;
        for (int i = 0; i < Fragment::num_elements; i++) {
            int at = position<accumulator, M, N, K>(lane, i), r = at / N, c = at % N;
            tile[by_column ? c * leading + r : r * leading + c] = f->x[i];
        }
    }
}

template <class Use, int M, int N, int K, class T, class Layout>
static inline void load_matrix_sync(fragment<Use, M, N, K, T, Layout>& f, const typename Stored<T>::type* tile,
                                    unsigned leading, EMULATED_LINE) {
    static_assert(!std::is_same<Layout, void>::value,
                  "loading an accumulator needs its layout as last argument: wmma::mem_row_major or mem_col_major");
    Transfer mine{tile, leading, std::is_same<Layout, col_major>::value, line, &f};
    emulated_warp("wmma::load_matrix_sync", line, ~0u, &mine, load_lanes<Use, M, N, K, T, Layout>);
}
template <int M, int N, int K, class T>
static inline void load_matrix_sync(fragment<accumulator, M, N, K, T>& f, const T* tile, unsigned leading,
                                    layout_t layout, EMULATED_LINE) {
    Transfer mine{tile, leading, layout == mem_col_major, line, &f};
    emulated_warp("wmma::load_matrix_sync", line, ~0u, &mine, load_lanes<accumulator, M, N, K, T, void>);
}
template <int M, int N, int K, class T>
static inline void store_matrix_sync(T* tile, const fragment<accumulator, M, N, K, T>& f, unsigned leading,
                                     layout_t layout, EMULATED_LINE) {
    Transfer mine{tile, leading, layout == mem_col_major, line, (void*)&f};
    emulated_warp("wmma::store_matrix_sync", line, ~0u, &mine, store_lanes<M, N, K, T>);
}

// One lane's arguments of a product.
struct Product {
    const void *a, *b, *c;
    void* d;
    int line;
};

// Products are exact and sums are in float (int for bytes), as from a tensor core with fp32 accumulation; the order of
// the hardware's sums differs. With fp16 accumulation each 16-deep sum is rounded once.
template <int M, int N, int K, class Sum>
EMULATED_UNSEEN __attribute__((optimize("O3"))) void multiply(const Sum* __restrict a, const Sum* __restrict b,
                                                              Sum* __restrict c) {
    for (int i = 0; i < M; i++) {
        Sum row[N];
        for (int j = 0; j < N; j++) row[j] = c[i * N + j];
        for (int k = 0; k < K; k++) {
            Sum factor = a[i * K + k];
            for (int j = 0; j < N; j++) row[j] += factor * b[k * N + j];
        }
        for (int j = 0; j < N; j++) c[i * N + j] = row[j];
    }
}

template <int M, int N, int K, class D, class A, class B, class C>
EMULATED_UNSEEN void multiply_lanes(void** lanes, unsigned mask) {
    typedef typename std::conditional<is_byte<typename A::element_type>, int, float>::type Sum;
    if (mask != 0xffffffffu)
        refuse("wmma", "%s needs all 32 lanes of the warp: make the block size a multiple of 32", "mma_sync", 0, 0,
               ((Product*)lanes[__builtin_ctz(mask)])->line);
    Sum a[M * K], b[K * N], c[M * N];
    for (int lane = 0; lane < 32; lane++) {
        auto* mine = (Product*)lanes[lane];
        for (int i = 0; i < A::once; i++) a[position<matrix_a, M, N, K>(lane, i)] = (Sum)((const A*)mine->a)->x[i];
        for (int i = 0; i < B::once; i++) b[position<matrix_b, M, N, K>(lane, i)] = (Sum)((const B*)mine->b)->x[i];
        for (int i = 0; i < C::once; i++) c[position<accumulator, M, N, K>(lane, i)] = (Sum)((const C*)mine->c)->x[i];
    }
    multiply<M, N, K, Sum>(a, b, c);
    for (int lane = 0; lane < 32; lane++) {
        auto* d = (D*)((Product*)lanes[lane])->d;
        for (int i = 0; i < D::once; i++) d->x[i] = c[position<accumulator, M, N, K>(lane, i)];
    }
}

template <int M, int N, int K, class TD, class TA, class TB, class LA, class LB, class TC>
static inline void mma_sync(fragment<accumulator, M, N, K, TD>& d, const fragment<matrix_a, M, N, K, TA, LA>& a,
                            const fragment<matrix_b, M, N, K, TB, LB>& b, const fragment<accumulator, M, N, K, TC>& c,
                            EMULATED_LINE) {
    static_assert(std::is_same<TA, TB>::value, "A and B must have the same type");
    static_assert(is_byte<TA> ? std::is_same<TC, int>::value && std::is_same<TD, int>::value
                  : is_half<TA> ? (is_half<TC> || std::is_same<TC, float>::value) &&
                                  (is_half<TD> || std::is_same<TD, float>::value)
                                : std::is_same<TC, float>::value && std::is_same<TD, float>::value,
                  "this accumulator does not go with A and B: half takes half or float, __nv_bfloat16 and tf32 take "
                  "float, bytes take int");
    Product mine{&a, &b, &c, &d, line};
    emulated_warp("wmma::mma_sync", line, ~0u, &mine,
                  multiply_lanes<M, N, K, fragment<accumulator, M, N, K, TD>, fragment<matrix_a, M, N, K, TA, LA>,
                                 fragment<matrix_b, M, N, K, TB, LB>, fragment<accumulator, M, N, K, TC>>);
}

}  // namespace emulated_wmma
