// SPDX-License-Identifier: Apache-2.0
#pragma once
// 64-bit fixed point for bytes, rates and port time: sharing bandwidth must not depend on rounding modes or on the order of additions.
#include <cmath>
#include <cstdint>

#include "sim/event.h"

namespace sfumato::sim {

/// A quantity scaled by 2^16: bytes, bytes per tick, or ticks.
using Fixed = std::int64_t;
inline constexpr int kFractionBits = 16;
inline constexpr Fixed kOne = Fixed{1} << kFractionBits;

/// Chip numbers enter here and nowhere else.
inline Fixed to_fixed(double v) { return static_cast<Fixed>(std::ceil(v * static_cast<double>(kOne))); }
inline Tick to_ticks(double cycles) { return static_cast<Tick>(std::ceil(cycles)); }

/// a * b / c rounded up, for positive values whose product exceeds 64 bits.
inline std::int64_t mul_div_up(std::int64_t a, std::int64_t b, std::int64_t c) {
    return static_cast<std::int64_t>((static_cast<__int128>(a) * b + c - 1) / c);
}
inline std::int64_t div_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace sfumato::sim
