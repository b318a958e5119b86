// SPDX-License-Identifier: Apache-2.0
#pragma once
// Element types as an author writes them. Kernels are traced, so f16 and bf16 are names without values; the others are the host's own types.
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

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

/// In the order of isa::DType.
using ElementTypes = std::tuple<f16, bf16, f32, i8, u8, i16, u16, i32, u32>;
static_assert(std::tuple_size_v<ElementTypes> == isa::kDTypeCount && static_cast<int>(isa::DType::u32) == isa::kDTypeCount - 1);

namespace detail {
template <class T, std::size_t... I>
consteval isa::DType element_type(std::index_sequence<I...>) {
    constexpr bool same[] = {std::is_same_v<T, std::tuple_element_t<I, ElementTypes>>...};
    static_assert((std::is_same_v<T, std::tuple_element_t<I, ElementTypes>> || ...), "tensors hold f16, bf16, f32 or integers of 8, 16 or 32 bits");
    std::size_t i = 0;
    while (!same[i]) ++i;
    return static_cast<isa::DType>(i);
}
}  // namespace detail

template <class T>
inline constexpr isa::DType dtype_of = detail::element_type<T>(std::make_index_sequence<isa::kDTypeCount>());

}  // namespace sfumato::dsl
