// SPDX-License-Identifier: Apache-2.0
#pragma once
// The vocabulary of a Da Vinci core: pipes, memory spaces, element types and core kinds, each listed once with every name it goes by.
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace sfumato::isa {

/// In-order execution pipes of a core. `all` only appears in barriers.
enum class Pipe : std::uint8_t { s, v, m, mte1, mte2, mte3, fix, all };
inline constexpr int kPipeCount = 7;  ///< without `all`

/// One pipe has three names in the field: the core's documents, the profilers and the vendor's traces (decision: one table).
struct PipeNames {
    std::string_view isa, profiler, trace;
};
inline constexpr std::array<PipeNames, 8> kPipeNames{{{"S", "scalar", "SCALAR"},
                                                      {"V", "vec", "VECTOR"},
                                                      {"M", "mac", "CUBE"},
                                                      {"MTE1", "mte1", "MTE1"},
                                                      {"MTE2", "mte2", "MTE2"},
                                                      {"MTE3", "mte3", "MTE3"},
                                                      {"FIX", "fixpipe", "FIXP"},
                                                      {"ALL", "all", "ALL"}}};
constexpr std::string_view name(Pipe p) { return kPipeNames[static_cast<std::size_t>(p)].isa; }

/// Memory spaces. `none` marks an absent operand.
enum class Space : std::uint8_t { none, gm, l1, l0a, l0b, l0c, ub, bt, fb };
inline constexpr int kSpaceCount = 9;
inline constexpr std::array<std::string_view, kSpaceCount> kSpaceNames{"none", "GM", "L1", "L0A", "L0B", "L0C", "UB", "BT", "FB"};
constexpr std::string_view name(Space s) { return kSpaceNames[static_cast<std::size_t>(s)]; }

/// Element types with their width in bytes.
enum class DType : std::uint8_t { f16, bf16, f32, i8, u8, i16, u16, i32, u32 };
inline constexpr int kDTypeCount = 9;
struct DTypeInfo {
    std::string_view name;
    int bytes;
};
inline constexpr std::array<DTypeInfo, kDTypeCount> kDTypes{
    {{"f16", 2}, {"bf16", 2}, {"f32", 4}, {"i8", 1}, {"u8", 1}, {"i16", 2}, {"u16", 2}, {"i32", 4}, {"u32", 4}}};
constexpr std::string_view name(DType t) { return kDTypes[static_cast<std::size_t>(t)].name; }
constexpr int bytes_of(DType t) { return kDTypes[static_cast<std::size_t>(t)].bytes; }

/// Kinds of core a section of a program runs on: split cube and vector cores, or the merged core of the first generation.
enum class CoreKind : std::uint8_t { aic, aiv, merged };
inline constexpr std::array<std::string_view, 3> kCoreKindNames{"aic", "aiv", "core"};
constexpr std::string_view name(CoreKind k) { return kCoreKindNames[static_cast<std::size_t>(k)]; }

inline constexpr int kBlockBytes = 32;     ///< unit of vector strides and of UB/L1 alignment
inline constexpr int kRepeatBytes = 256;   ///< data one vector repeat touches (8 blocks)
inline constexpr int kFractalBytes = 512;  ///< 16 rows x 32 bytes
inline constexpr int kFractalRows = 16;

/// Columns of one fractal (C0): 32 bytes worth of elements.
constexpr int fractal_cols(DType t) { return kBlockBytes / bytes_of(t); }

/// Quotient rounded towards +infinity; b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b > 0); }
/// The next multiple of b > 0, or the last one there is.
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) {
    const std::int64_t most = std::numeric_limits<std::int64_t>::max() / b, n = ceil_div(a, b);
    return (n < most ? n : most) * b;
}

/// Looks a name up in one of the tables above; empty when unknown. Case-sensitive, as printed.
std::optional<Pipe> parse_pipe(std::string_view);
std::optional<Space> parse_space(std::string_view);
std::optional<DType> parse_dtype(std::string_view);
std::optional<CoreKind> parse_core_kind(std::string_view);

}  // namespace sfumato::isa
