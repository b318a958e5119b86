// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elements of memory as numbers to compute with: floats of any width become float, integers int64. Rounding to the type happens once, when a
// result is stored. f16 and bf16 are Eigen's; nothing here knows their bits.
#include <cstddef>
#include <cstdint>

#include "isa/types.h"

namespace sfumato::sim {

constexpr bool is_float(isa::DType t) { return t == isa::DType::f16 || t == isa::DType::bf16 || t == isa::DType::f32; }

/// Reads `count` consecutive elements. C is float (float types; integers are converted) or int64_t (integer types only).
void load_elements(isa::DType, const std::byte* from, std::int64_t count, float* to);
void load_elements(isa::DType, const std::byte* from, std::int64_t count, std::int64_t* to);

/// Stores `count` consecutive elements. From float: round to nearest even, integers saturate and NaN becomes 0. From int64: integers keep their
/// low bits as two's complement arithmetic does, float types round to nearest even.
void store_elements(isa::DType, const float* from, std::int64_t count, std::byte* to);
void store_elements(isa::DType, const std::int64_t* from, std::int64_t count, std::byte* to);

/// Clamps to the range of an integer type.
std::int64_t saturate(isa::DType, std::int64_t);
/// The scalar operand of a vector instruction as its element type holds it.
double round_scalar(isa::DType, double);

}  // namespace sfumato::sim
