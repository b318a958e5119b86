// SPDX-License-Identifier: Apache-2.0
#pragma once
// Field limits of the instruction encodings, the same for every chip (chip-dependent ones, such as capacities and flag ids, are chip data).
// Each is listed once with its source; the verifier, the manual and the tests read this list.
#include <cstdint>
#include <string_view>

#include "isa/instruction_table.h"

namespace sfumato::isa {

#define SFUMATO_LIMITS(X)                                                                                                                         \
    X(kMaxRepeats, 255, "vector repeats of one instruction, mask mode normal", "Ascend C API reference: repeatTime")                              \
    X(kMaxCount, 4294967295, "elements of one instruction, mask mode counter", "Ascend C API reference: SetMaskCount")                            \
    X(kMaxBlockStrideBinary, 255, "block stride of a two-source vector instruction, in 32-byte blocks", "8-bit field, BinaryRepeatParams")        \
    X(kMaxBlockStrideUnary, 65535, "block stride of a one-source vector instruction, in 32-byte blocks", "16-bit field, UnaryRepeatParams")       \
    X(kMaxRepeatStrideBinary, 255, "repeat stride of a two-source vector instruction, in 32-byte blocks", "8-bit field, BinaryRepeatParams")      \
    X(kMaxRepeatStrideUnary, 4095, "repeat stride of a one-source vector instruction, in 32-byte blocks", "12-bit field, UnaryRepeatParams")      \
    X(kMaxCopyRows, 4095, "rows of a copy", "DataCopyParams: blockCount")                                                                         \
    X(kMaxCopyRowBytes, 65535 * 32, "bytes of a row of a copy", "DataCopyParams: blockLen in 32-byte units")                                      \
    X(kMaxCopyGapBytes, 65535 * 32, "bytes between the rows of a copy, on-chip side", "DataCopyParams: gaps in 32-byte units")                    \
    X(kMaxGmGapBytes, 4294967295, "bytes between the rows of a copy, GM side", "DataCopyExtParams: 32-bit gap in bytes")                          \
    X(kMaxNzRows, 16384, "rows of mov_gm_l1_nz", "Nd2NzParams: nValue")                                                                           \
    X(kMaxNzCols, 65535, "columns of mov_gm_l1_nz", "Nd2NzParams: dValue")                                                                        \
    X(kMaxNzSourcePitch, 65535, "source pitch of mov_gm_l1_nz, in elements", "Nd2NzParams: srcDValue")                                            \
    X(kMaxNzDestPitch, 16384, "destination pitch of mov_gm_l1_nz, in rows", "Nd2NzParams: dstNzC0Stride")                                         \
    X(kMaxLoadRepeats, 255, "fractals in one run of mov_l1_l0a or mov_l1_l0b", "LoadData2DParams: repeatTimes")                                   \
    X(kMaxLoadStride, 65535, "distance of fractals in a run, in fractals", "LoadData2DParams: srcStride")                                         \
    X(kMaxMmad, 4095, "m, n and k of mmad", "MmadParams")                                                                                         \
    X(kMaxDrainCols, 4095, "columns of a drain (in whole fractals when the destination is NZ)", "FixpipeParams: nSize")                           \
    X(kMaxDrainRowsNd, 8192, "rows of a drain to an ND destination", "FixpipeParams: mSize with NZ to ND")                                        \
    X(kMaxDrainRowsNz, 65535, "rows of a drain to an NZ destination", "FixpipeParams: mSize")                                                     \
    X(kMmadAlign, 1024, "alignment of the destination of mmad, in bytes", "Mmad address constraints")                                             \
    X(kL0Box, 512, "a slot of a buffer in L0A or L0B is a multiple of this many bytes", "one fractal")                                            \
    X(kL0cBox, 1024, "a slot of a buffer in L0C is a multiple of this many bytes", "one 16 x 16 fractal of 4-byte sums")                          \
    X(kBlockReduceElements, 8, "vcgadd, vcgmax, vcgmin: alignment of the destination, in elements", "BlockReduce: one element per 32-byte block") \
    X(kMaxCrossMode, 2, "mode of cross_set and cross_wait", "CrossCoreSetFlag: modeId")

#define X(name, value, doc, source) inline constexpr std::int64_t name = value;
SFUMATO_LIMITS(X)
#undef X

inline constexpr std::int64_t kMaxMagnitude = std::int64_t{1} << 40;  ///< of any integer field: far beyond every memory

struct Limit {
    std::string_view name;
    std::int64_t value;
    std::string_view doc, source;
};
inline constexpr Limit kLimits[] = {
#define X(name, value, doc, source) {#name, value, doc, source},
    SFUMATO_LIMITS(X)
#undef X
};

/// Types an accumulator may be converted to on its way out of L0C (FixpipeParams: quantisation modes).
constexpr TypeMask drain_types(DType acc) {
    const TypeMask common = type_bit(DType::f16) | type_bit(DType::i8) | type_bit(DType::u8);
    if (acc == DType::i32) return static_cast<TypeMask>(common | type_bit(DType::i32) | type_bit(DType::i16));
    return static_cast<TypeMask>(common | type_bit(DType::f32) | type_bit(DType::bf16));
}

/// K that the matrix unit really walks: whole fractals, for f32 with a transposed A whole 16-row boxes.
constexpr std::int64_t padded_k(DType t, bool transposed_a, std::int64_t k) {
    return round_up(k, t == DType::f32 && transposed_a ? kFractalRows : fractal_cols(t));
}

/// Pipes and memory spaces of each kind of core. Chips say how large the spaces are, not who can reach them.
constexpr bool has_pipe(CoreKind kind, Pipe p) {
    if (kind == CoreKind::aic) return p != Pipe::v;
    if (kind == CoreKind::aiv) return p != Pipe::m && p != Pipe::mte1 && p != Pipe::fix;
    return p != Pipe::fix;
}
constexpr bool has_space(CoreKind kind, Space s) {
    if (s == Space::none || s == Space::gm) return true;
    if (kind == CoreKind::aic) return s != Space::ub;
    if (kind == CoreKind::aiv) return s == Space::ub;
    return s != Space::fb;
}

/// Vector instructions that read two sources.
constexpr bool reads_two_sources(Op op) {
    const TimingClass t = desc(op).timing;
    return t == TimingClass::v_binary || t == TimingClass::v_div || t == TimingClass::v_mla || t == TimingClass::v_sel || t == TimingClass::v_cmp;
}
/// Reductions write densely, whatever the destination strides say; so does the compare with its bits.
constexpr bool is_reduction(Op op) {
    const TimingClass t = desc(op).timing;
    return t == TimingClass::v_cadd || t == TimingClass::v_cmax || t == TimingClass::v_cg;
}
constexpr bool writes_densely(Op op) { return is_reduction(op) || op == Op::vcmp; }

}  // namespace sfumato::isa
