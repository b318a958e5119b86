// SPDX-License-Identifier: Apache-2.0
#pragma once
// Element types of graphs (a superset of the machine's: ONNX also has f64, i64, bool and string) and the tensors that constants and the
// interpreter hold.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "isa/types.h"

namespace sfumato::fusion {

/// Element types with ONNX's number (TensorProto.DataType), width in bits and class. One table; `undefined` is a type not known yet.
enum class ElemType : std::uint8_t { undefined, f32, u8, i8, u16, i16, i32, i64, string, boolean, f16, f64, u32, u64, complex64, complex128, bf16 };
enum class ElemClass : std::uint8_t { none, floating, signed_integer, unsigned_integer, boolean, string };
struct ElemInfo {
    std::string_view name;
    int bits;
    ElemClass kind;
};
inline constexpr int kElemTypeCount = 17;
inline constexpr std::array<ElemInfo, kElemTypeCount> kElemTypes{{
    {"undefined", 0, ElemClass::none},          {"f32", 32, ElemClass::floating},       {"u8", 8, ElemClass::unsigned_integer},
    {"i8", 8, ElemClass::signed_integer},       {"u16", 16, ElemClass::unsigned_integer}, {"i16", 16, ElemClass::signed_integer},
    {"i32", 32, ElemClass::signed_integer},     {"i64", 64, ElemClass::signed_integer}, {"string", 0, ElemClass::string},
    {"bool", 8, ElemClass::boolean},            {"f16", 16, ElemClass::floating},       {"f64", 64, ElemClass::floating},
    {"u32", 32, ElemClass::unsigned_integer},   {"u64", 64, ElemClass::unsigned_integer}, {"complex64", 64, ElemClass::none},
    {"complex128", 128, ElemClass::none},       {"bf16", 16, ElemClass::floating},
}};
constexpr const ElemInfo& info(ElemType t) { return kElemTypes[static_cast<std::size_t>(t)]; }
constexpr std::string_view name(ElemType t) { return info(t).name; }
constexpr bool is_float(ElemType t) { return info(t).kind == ElemClass::floating; }
constexpr bool is_integer(ElemType t) { return info(t).kind == ElemClass::signed_integer || info(t).kind == ElemClass::unsigned_integer; }
std::optional<ElemType> parse_elem_type(std::string_view);
/// The machine's type of the same name; empty for i64, f64, bool and the rest that a core has no vectors of.
std::optional<isa::DType> machine_type(ElemType);

/// A dense row-major tensor. Floating types are stored as float or double (a graph run in double keeps every floating value in double),
/// integers and booleans as i64 (u64 bit for bit), strings as strings; `type` says what the graph says. Values of f16 and bf16 are rounded
/// to that type after every operator when a graph runs in float, and not at all when it runs in double.
struct Tensor {
    ElemType type = ElemType::undefined;
    std::vector<std::int64_t> dims;
    std::variant<std::vector<float>, std::vector<double>, std::vector<std::int64_t>, std::vector<std::string>> data;

    std::int64_t size() const;  ///< number of elements; 1 for rank 0
    int rank() const { return static_cast<int>(dims.size()); }
    const std::vector<float>& floats() const { return std::get<std::vector<float>>(data); }
    const std::vector<double>& doubles() const { return std::get<std::vector<double>>(data); }
    const std::vector<std::int64_t>& ints() const { return std::get<std::vector<std::int64_t>>(data); }
    const std::vector<std::string>& strings() const { return std::get<std::vector<std::string>>(data); }
    /// Element i as a double, whatever numeric storage.
    double number(std::int64_t i) const;
};
using TensorPtr = std::shared_ptr<const Tensor>;

/// Rank-n integer and floating tensors from plain vectors.
Tensor int_tensor(std::vector<std::int64_t> values, std::vector<std::int64_t> dims, ElemType = ElemType::i64);
Tensor float_tensor(std::vector<float> values, std::vector<std::int64_t> dims, ElemType = ElemType::f32);

/// What a value holds at run time: nothing (an empty optional), a tensor, or a sequence of tensors.
using Datum = std::variant<std::monostate, TensorPtr, std::vector<TensorPtr>>;

}  // namespace sfumato::fusion
