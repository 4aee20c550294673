// What every %%cpp cell finds already included, and the small `lab` namespace that binds its functions.
//
//   lab::Vector<double>, lab::Matrix<double>   NumPy arrays in C order, seen without a copy; Vector<const double> only reads
//   lab::zeros<double>(rows, columns)           a new array to return
//   lab::as_array(std::move(vector), r, c)      an std::vector turned into an array without a copy
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#if __has_include(<Eigen/Core>)
#include <nanobind/eigen/dense.h>
#endif

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace lab {

template <class T> using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T, std::size_t N> using Array = nb::ndarray<nb::numpy, T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

// A vector's memory as an array of the given sizes; the array owns it.
template <class T, class... Sizes> Array<T, sizeof...(Sizes)> as_array(std::vector<T> values, Sizes... sizes) {
    std::size_t shape[] = {static_cast<std::size_t>(sizes)...};
    std::size_t count = 1;
    for (std::size_t size : shape) count *= size;
    if (count != values.size())
        throw std::invalid_argument("as_array: " + std::to_string(values.size()) + " values do not fill an array of " +
                                    std::to_string(count));
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Array<T, sizeof...(Sizes)>(owned->data(), sizeof...(Sizes), shape, owner);
}

// A new array of zeros.
template <class T, class... Sizes> Array<T, sizeof...(Sizes)> zeros(Sizes... sizes) {
    std::size_t count = 1;
    for (std::size_t size : {static_cast<std::size_t>(sizes)...}) count *= size;
    return as_array(std::vector<T>(count), sizes...);
}

// ---- binding -------------------------------------------------------------------------------------------------------
// Whether a parameter lets the function write into the caller's array.
template <class P> struct writes : std::false_type {};
template <class... A> struct writes<nb::ndarray<A...>> : std::bool_constant<!nb::ndarray<A...>::ReadOnly> {};
#if __has_include(<Eigen/Core>)
template <class M, int O, class S> struct writes<Eigen::Map<M, O, S>> : std::bool_constant<!std::is_const_v<M>> {};
template <class M, int O, class S> struct writes<Eigen::Ref<M, O, S>> : std::bool_constant<!std::is_const_v<M>> {};
#endif

// An array that is written to must be the caller's own, so nothing may be converted for it behind the scenes.
template <class P> auto argument(const char* name) {
    if constexpr (writes<std::decay_t<P>>::value)
        return nb::arg(name).noconvert();
    else
        return nb::arg(name);
}

template <class R, class... P, std::size_t... I>
void define(nb::module_& m, const char* name, R (*f)(P...), const char* const* names, std::index_sequence<I...>) {
    m.def(name, f, argument<P>(names ? names[I] : nullptr)...);
    std::string written;
    ((written += writes<std::decay_t<P>>::value ? '1' : '0'), ...);
    m.attr((std::string("__writes_") + name).c_str()) = nb::str(written.c_str());
}

template <class R, class... P>
void bind(nb::module_& m, const char* name, R (*f)(P...), const std::vector<const char*>& names) {
    define(m, name, f, names.size() == sizeof...(P) ? names.data() : nullptr, std::index_sequence_for<P...>{});
}

template <class R, class... P>
void bind(nb::module_& m, const char* name, R (*f)(P...) noexcept, const std::vector<const char*>& names) {
    bind(m, name, static_cast<R (*)(P...)>(f), names);
}

}  // namespace lab
