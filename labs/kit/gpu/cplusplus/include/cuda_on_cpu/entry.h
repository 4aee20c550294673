// How the worker calls a kernel: argument by argument, with a signature that Python checks its arguments against.
#pragma once

namespace emulated {

// A NumPy type character for each type, "z" for bfloat16, "v" for void and "X" for what has none (a struct).
template <class T>
struct Code { static const char* text() { return "X"; } };
#define EMULATED_CODE(Type, Text) \
    template <>                   \
    struct Code<Type> { static const char* text() { return Text; } };
EMULATED_CODE(float, "f") EMULATED_CODE(double, "d") EMULATED_CODE(bool, "?") EMULATED_CODE(void, "v")
EMULATED_CODE(int, "i") EMULATED_CODE(unsigned, "I") EMULATED_CODE(short, "h") EMULATED_CODE(unsigned short, "H")
EMULATED_CODE(char, "b") EMULATED_CODE(signed char, "b") EMULATED_CODE(unsigned char, "B")
EMULATED_CODE(long, "q") EMULATED_CODE(long long, "q")
EMULATED_CODE(unsigned long, "Q") EMULATED_CODE(unsigned long long, "Q")
EMULATED_CODE(float2, "f") EMULATED_CODE(float3, "f") EMULATED_CODE(float4, "f")
EMULATED_CODE(double2, "d") EMULATED_CODE(double4, "d")
EMULATED_CODE(int2, "i") EMULATED_CODE(int3, "i") EMULATED_CODE(int4, "i")
EMULATED_CODE(uint2, "I") EMULATED_CODE(uint3, "I") EMULATED_CODE(uint4, "I")
EMULATED_CODE(short2, "h") EMULATED_CODE(ushort2, "H") EMULATED_CODE(short4, "h") EMULATED_CODE(ushort4, "H")
EMULATED_CODE(char2, "b") EMULATED_CODE(char4, "b") EMULATED_CODE(uchar2, "B") EMULATED_CODE(uchar3, "B")
EMULATED_CODE(uchar4, "B")
EMULATED_CODE(emulated_fp16::__half, "e") EMULATED_CODE(emulated_fp16::__half2, "e")
EMULATED_CODE(emulated_bf16::__nv_bfloat16, "z") EMULATED_CODE(emulated_bf16::__nv_bfloat162, "z")
#undef EMULATED_CODE

template <class T>
struct Parameter {
    static int put(char* out) { return sprintf(out, "S%s%d ", Code<T>::text(), (int)sizeof(T)); }
};
template <class T>
struct Parameter<T*> {
    static int put(char* out) {
        return sprintf(out, "%c%s8 ", std::is_const<T>::value ? 'C' : 'P', Code<std::remove_cv_t<T>>::text());
    }
};

template <class Function>
struct Entry;
template <class... Arguments>
struct Entry<void (*)(Arguments...)> {
    template <void (*kernel)(Arguments...), size_t... index>
    EMULATED_UNSEEN static void call(void* const* arguments, std::index_sequence<index...>) {
        (void)arguments;  // a kernel without parameters
        kernel(*(std::remove_cv_t<Arguments>*)arguments[index]...);
    }
    template <void (*kernel)(Arguments...)>
    EMULATED_UNSEEN static void invoke(void* const* arguments) {
        call<kernel>(arguments, std::index_sequence_for<Arguments...>{});
    }
    EMULATED_UNSEEN static const char* signature() {
        static char text[24 * (sizeof...(Arguments) + 1)];
        char* end = text;
        int each[] = {0, (end += Parameter<std::remove_cv_t<Arguments>>::put(end), 0)...};
        (void)each;
        *end = 0;
        return text;
    }
};

}  // namespace emulated

#define EMULATED_ENTRY(name, kernel) \
    {name, emulated::Entry<decltype(&kernel)>::template invoke<&kernel>, emulated::Entry<decltype(&kernel)>::signature}
