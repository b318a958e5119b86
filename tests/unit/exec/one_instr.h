// SPDX-License-Identifier: Apache-2.0
#pragma once
// Executes single bound instructions on a machine with one small core of every kind, with typed access to its memories. Elements are encoded and
// decoded here from their bit patterns, not by the code under test.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "sim/exec/machine.h"
#include "tests/support/test_chip.h"

namespace sfumato::testing {

using I = std::int64_t;
using isa::CoreKind, isa::DType, isa::Op, isa::Pipe, isa::Space;

/// Value of an IEEE-like pattern with `exponent` and `fraction` bits, from the definition of the format.
inline double decode_bits(std::uint32_t bits, int exponent, int fraction) {
    const std::uint32_t e = (bits >> fraction) & ((1u << exponent) - 1), f = bits & ((1u << fraction) - 1);
    const int bias = (1 << (exponent - 1)) - 1;
    const double sign = (bits >> (exponent + fraction)) & 1 ? -1 : 1;
    if (e == (1u << exponent) - 1) return f ? std::nan("") : sign * INFINITY;
    return e ? sign * std::ldexp(1 + std::ldexp(f, -fraction), static_cast<int>(e) - bias) : sign * std::ldexp(f, 1 - bias - fraction);
}
/// The value that a format with so many fraction bits, least exponent and largest value holds after rounding to nearest even.
inline double round_to(double v, int fraction, int least_exponent, double largest) {
    if (std::isnan(v) || std::isinf(v) || v == 0) return v;
    const int e = std::max(std::ilogb(v), least_exponent);
    const double unit = std::ldexp(1, e - fraction), rounded = std::nearbyint(v / unit) * unit;
    return std::fabs(rounded) > largest ? std::copysign(INFINITY, v) : rounded;
}
inline double as_f16(double v) { return round_to(v, 10, -14, 65504); }
inline double as_bf16(double v) { return round_to(v, 7, -126, std::ldexp(255.0 / 128, 127)); }
inline double as_f32(double v) { return round_to(v, 23, -126, std::ldexp(2 - std::ldexp(1, -23), 127)); }
inline double as_type(isa::DType t, double v) {
    return t == isa::DType::f16 ? as_f16(v) : t == isa::DType::bf16 ? as_bf16(v) : t == isa::DType::f32 ? as_f32(v) : std::nearbyint(v);
}

inline double get(isa::DType t, const std::byte* at) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, at, static_cast<std::size_t>(isa::bytes_of(t)));
    switch (t) {
        case isa::DType::f16:
            return decode_bits(bits, 5, 10);
        case isa::DType::bf16:
            return decode_bits(bits, 8, 7);
        case isa::DType::f32:
            return decode_bits(bits, 8, 23);
        case isa::DType::i8:
            return static_cast<std::int8_t>(bits);
        case isa::DType::i16:
            return static_cast<std::int16_t>(bits);
        case isa::DType::i32:
            return static_cast<std::int32_t>(bits);
        default:
            return bits;
    }
}
/// Stores a value that the type holds exactly, found by searching the format's patterns (integers: two's complement).
inline void put(isa::DType t, std::byte* at, double v) {
    std::uint32_t bits = 0;
    if (t == isa::DType::f32) {
        const float f = static_cast<float>(v);
        std::memcpy(&bits, &f, 4);
    } else if (t == isa::DType::f16 || t == isa::DType::bf16) {
        const int exponent = t == isa::DType::f16 ? 5 : 8, fraction = 15 - exponent;
        std::uint32_t lo = 0, hi = ((1u << exponent) - 1) << fraction;  // non-negative patterns are ordered by value
        if (std::isnan(v)) lo = hi + 1;
        while (!std::isnan(v) && lo < hi) {
            const std::uint32_t mid = (lo + hi) / 2;
            if (decode_bits(mid, exponent, fraction) < std::fabs(v))
                lo = mid + 1;
            else
                hi = mid;
        }
        bits = lo | (std::signbit(v) ? 0x8000u : 0u);
    } else {
        bits = static_cast<std::uint32_t>(static_cast<std::int64_t>(v));
    }
    std::memcpy(at, &bits, static_cast<std::size_t>(isa::bytes_of(t)));
}

/// One cube core and two vector cores with the memories of dav-c220.
inline isa::Chip small_chip() {
    isa::Chip c = plain_chip();
    c.name = "small";
    c.cores.aic = 1;
    c.cores.aiv = 2;
    const auto space = [&](isa::Space s, I bytes, I align) {
        c.capacity[static_cast<std::size_t>(s)] = bytes;
        c.alignment[static_cast<std::size_t>(s)] = align;
    };
    space(isa::Space::gm, I{1} << 30, 1);
    space(isa::Space::l1, 524288, 32);
    space(isa::Space::l0a, 65536, 512);
    space(isa::Space::l0b, 65536, 512);
    space(isa::Space::l0c, 131072, 64);
    space(isa::Space::ub, 196608, 32);
    space(isa::Space::bt, 1024, 64);
    space(isa::Space::fb, 7168, 64);
    return c;
}

/// One core's memories and a few tensors.
class Bench {
public:
    explicit Bench(std::vector<I> tensor_bytes = {}) {
        for (const I bytes : tensor_bytes) {
            memory.tensors.push_back({"t" + std::to_string(map.size()), bytes, {}, -1});
            map.push_back(static_cast<int>(map.size()));
        }
        machine = std::make_unique<sim::Machine>(chip, 3, memory);
    }
    std::byte* gm(int t) { return memory.tensors[static_cast<std::size_t>(t)].bytes.data(); }
    std::byte* at(isa::Space s, I offset = 0) { return machine->space(0, s) + offset; }
    void fill(isa::Space s, isa::DType t, I offset, const std::vector<double>& values) {
        for (std::size_t i = 0; i < values.size(); ++i) put(t, at(s, offset) + static_cast<I>(i) * isa::bytes_of(t), values[i]);
    }
    std::vector<double> read(isa::Space s, isa::DType t, I offset, I count) {
        std::vector<double> out;
        for (I i = 0; i < count; ++i) out.push_back(get(t, at(s, offset) + i * isa::bytes_of(t)));
        return out;
    }
    template <class T>
    void run(isa::Op op, const T& operands) {
        instr.op = op;
        machine->apply(0, map, {&instr, operands});
    }

    isa::Chip chip = small_chip();
    sim::DeviceMemory memory;
    std::vector<int> map;
    std::unique_ptr<sim::Machine> machine;
    isa::Instr instr;
};

/// Deterministic values for tests, exactly representable in every float type.
inline std::vector<double> some_values(I count, unsigned seed = 1, double scale = 1.0 / 8) {
    std::vector<double> out;
    std::uint32_t s = seed * 2654435761u + 12345u;
    for (I i = 0; i < count; ++i) {
        s = s * 1664525u + 1013904223u;
        out.push_back((static_cast<int>((s >> 16) % 127) - 63) * scale);
    }
    return out;
}

inline isa::BoundOperand in(isa::Space s, I offset = 0, int object = -1) { return {s, object, 0, offset}; }

/// Where vector tests keep their operands.
inline constexpr I kSrc0 = 0, kSrc1 = 32768, kDst = 65536;

inline isa::VectorT<I> contiguous(DType t, I count) {
    isa::VectorT<I> v;
    v.dst = in(Space::ub, kDst);
    v.src0 = in(Space::ub, kSrc0);
    v.src1 = in(Space::ub, kSrc1);
    v.dtype = v.dst_dtype = t;
    v.count = count;
    v.dst_block = v.src0_block = v.src1_block = 1;
    v.dst_repeat = v.src0_repeat = v.src1_repeat = 8;
    return v;
}

}  // namespace sfumato::testing
