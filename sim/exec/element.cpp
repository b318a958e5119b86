// SPDX-License-Identifier: Apache-2.0
#include "sim/exec/element.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "isa/diagnostic.h"

namespace sfumato::sim {

namespace {

using isa::DType;

template <class F>
decltype(auto) with_type(DType t, F&& f) {
    switch (t) {
        case DType::f16: return f(std::type_identity<Eigen::half>{});
        case DType::bf16: return f(std::type_identity<Eigen::bfloat16>{});
        case DType::f32: return f(std::type_identity<float>{});
        case DType::i8: return f(std::type_identity<std::int8_t>{});
        case DType::u8: return f(std::type_identity<std::uint8_t>{});
        case DType::i16: return f(std::type_identity<std::int16_t>{});
        case DType::u16: return f(std::type_identity<std::uint16_t>{});
        case DType::i32: return f(std::type_identity<std::int32_t>{});
        case DType::u32: return f(std::type_identity<std::uint32_t>{});
    }
    throw isa::InternalError("unknown element type");
}

// Eigen's half decodes by arithmetic on every read; a matmul tile reads each value once, so all 65,536 of them are decoded in advance.
const float* half_table() {
    static const std::vector<float> table = [] {
        std::vector<float> t(1 << 16);
        for (unsigned i = 0; i < t.size(); ++i) t[i] = static_cast<float>(Eigen::numext::bit_cast<Eigen::half>(static_cast<std::uint16_t>(i)));
        return t;
    }();
    return table.data();
}

template <class T>
T read(const std::byte* from, std::int64_t i) {
    T value;
    std::memcpy(&value, from + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    return value;
}
template <class T>
void write(std::byte* to, std::int64_t i, T value) {
    std::memcpy(to + i * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

template <class T>
T from_float(float v) {
    if constexpr (std::is_integral_v<T>) {
        if (std::isnan(v)) return 0;
        const double r = std::nearbyint(static_cast<double>(v));  // the default rounding mode is to nearest even
        return static_cast<T>(std::clamp(r, static_cast<double>(std::numeric_limits<T>::min()), static_cast<double>(std::numeric_limits<T>::max())));
    } else {
        return static_cast<T>(v);
    }
}

}  // namespace

void load_elements(DType t, const std::byte* from, std::int64_t count, float* to) {
    if (t == DType::f32) {
        std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
    } else if (t == DType::f16) {
        const float* table = half_table();
        for (std::int64_t i = 0; i < count; ++i) to[i] = table[read<std::uint16_t>(from, i)];
    } else {
        with_type(t, [&]<class T>(std::type_identity<T>) {
            for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(read<T>(from, i));
        });
    }
}

void load_elements(DType t, const std::byte* from, std::int64_t count, std::int64_t* to) {
    with_type(t, [&]<class T>(std::type_identity<T>) {
        if constexpr (std::is_integral_v<T>) {
            for (std::int64_t i = 0; i < count; ++i) to[i] = read<T>(from, i);
        } else {
            throw isa::InternalError("a float type cannot be read as integers");
        }
    });
}

void store_elements(DType t, const float* from, std::int64_t count, std::byte* to) {
    if (t == DType::f32) {
        std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
        return;
    }
    with_type(t, [&]<class T>(std::type_identity<T>) {
        for (std::int64_t i = 0; i < count; ++i) write<T>(to, i, from_float<T>(from[i]));
    });
}

void store_elements(DType t, const std::int64_t* from, std::int64_t count, std::byte* to) {
    with_type(t, [&]<class T>(std::type_identity<T>) {
        for (std::int64_t i = 0; i < count; ++i) {
            if constexpr (std::is_integral_v<T>) write<T>(to, i, static_cast<T>(static_cast<std::uint64_t>(from[i])));
            else write<T>(to, i, static_cast<T>(static_cast<float>(from[i])));
        }
    });
}

std::int64_t saturate(DType t, std::int64_t v) {
    return with_type(t, [&]<class T>(std::type_identity<T>) -> std::int64_t {
        if constexpr (std::is_integral_v<T>) return std::clamp<std::int64_t>(v, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
        else return v;
    });
}

double round_scalar(DType t, double v) {
    return with_type(t, [&]<class T>(std::type_identity<T>) -> double {
        if constexpr (std::is_integral_v<T>) return static_cast<double>(from_float<T>(static_cast<float>(v)));
        else return static_cast<double>(static_cast<float>(static_cast<T>(static_cast<float>(v))));
    });
}

}  // namespace sfumato::sim
