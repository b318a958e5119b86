// SPDX-License-Identifier: Apache-2.0
#pragma once
// Element types as an author writes them. Kernels are traced, so f16 and bf16 are names without values; the others are the host's own types.
#include <cstdint>

#include "isa/types.h"

namespace sfumato::dsl {

struct f16 {};
struct bf16 {};
using f32 = float;
using i8 = std::int8_t;
using u8 = std::uint8_t;
using i16 = std::int16_t;
using u16 = std::uint16_t;
using i32 = std::int32_t;
using u32 = std::uint32_t;

template <class T>
struct ElementType;  // one specialisation per row of isa::kDTypes
template <isa::DType D>
struct Is {
    static constexpr isa::DType value = D;
};
template <>
struct ElementType<f16> : Is<isa::DType::f16> {};
template <>
struct ElementType<bf16> : Is<isa::DType::bf16> {};
template <>
struct ElementType<f32> : Is<isa::DType::f32> {};
template <>
struct ElementType<i8> : Is<isa::DType::i8> {};
template <>
struct ElementType<u8> : Is<isa::DType::u8> {};
template <>
struct ElementType<i16> : Is<isa::DType::i16> {};
template <>
struct ElementType<u16> : Is<isa::DType::u16> {};
template <>
struct ElementType<i32> : Is<isa::DType::i32> {};
template <>
struct ElementType<u32> : Is<isa::DType::u32> {};

template <class T>
inline constexpr isa::DType dtype_of = ElementType<T>::value;

}  // namespace sfumato::dsl
