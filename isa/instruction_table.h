// SPDX-License-Identifier: Apache-2.0
#pragma once
// The instruction table as constexpr data: enum Op and one InstrDesc per row of instructions.def.
#include <array>
#include <optional>
#include <string_view>

#include "isa/operands.h"

namespace sfumato::isa {

enum class Op : std::uint8_t {
#define SFUMATO_INSTR(name, ...) name,
#include "isa/instructions.def"
#undef SFUMATO_INSTR
};

/// Timing classes: how an instruction's duration is computed. Classes from v_binary on have per-type entries in every chip file.
enum class TimingClass : std::uint8_t {
    dma,
    dma_nz,
    local,
    cube,
    scalar,
    sync,
    v_binary,
    v_div,
    v_mla,
    v_sel,
    v_cmp,
    v_unary,
    v_axpy,
    v_exp,
    v_ln,
    v_sqrt,
    v_rsqrt,
    v_conv,
    v_copy,
    v_brcb,
    v_trans,
    v_dup,
    v_cadd,
    v_cmax,
    v_cg,
};
inline constexpr int kTimingClassCount = 25;
inline constexpr int kFirstVectorClass = static_cast<int>(TimingClass::v_binary);
inline constexpr std::array<std::string_view, kTimingClassCount> kTimingClassNames{
    "dma", "dma_nz", "local", "cube",  "scalar", "sync", "binary", "div",   "mla", "sel",  "cmp",  "unary", "axpy",
    "exp", "ln",     "sqrt",  "rsqrt", "conv",   "copy", "brcb",   "trans", "dup", "cadd", "cmax", "cg"};

using TypeMask = std::uint16_t;
constexpr TypeMask type_bit(DType t) { return static_cast<TypeMask>(1u << static_cast<unsigned>(t)); }
inline constexpr TypeMask kAnyType = 0x1ff;
inline constexpr TypeMask kFloatType = type_bit(DType::f16) | type_bit(DType::f32);
inline constexpr TypeMask kVectorType = kFloatType | type_bit(DType::i16) | type_bit(DType::i32);
inline constexpr TypeMask kInt16Type = type_bit(DType::i16) | type_bit(DType::u16);
inline constexpr TypeMask kWideType = kAnyType & ~(type_bit(DType::i8) | type_bit(DType::u8));
inline constexpr TypeMask kMatrixType = type_bit(DType::f16) | type_bit(DType::bf16) | type_bit(DType::f32) | type_bit(DType::i8);
inline constexpr TypeMask kAccType = type_bit(DType::f32) | type_bit(DType::i32);

struct InstrDesc {
    Op op;
    std::string_view name;
    Pipe pipe;
    Family family;
    Space dst, src;
    TypeMask types;
    TimingClass timing;
    std::string_view doc;
};

inline constexpr InstrDesc kInstructions[] = {
#define SFUMATO_INSTR(name, pipe, family, dst, src, types, timing, doc) \
    {Op::name, #name, Pipe::pipe, Family::family, Space::dst, Space::src, types, TimingClass::timing, doc},
#include "isa/instructions.def"
#undef SFUMATO_INSTR
};
inline constexpr int kOpCount = static_cast<int>(std::size(kInstructions));

constexpr const InstrDesc& desc(Op op) { return kInstructions[static_cast<std::size_t>(op)]; }
std::optional<Op> parse_op(std::string_view mnemonic);

}  // namespace sfumato::isa
