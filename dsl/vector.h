// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vector legalisation: an operation on whole UB tiles becomes instructions with repeats, strides and masks. Tiles of one pitch are processed as
// one run in counter mode, whatever their ragged edge; a row or column that is broadcast is read through a stride of 0.
#include "dsl/emit.h"
#include "isa/limits.h"

namespace sfumato::dsl {

/// A tile in UB: `rows` rows of `pitch` elements (32-byte multiples) of which `cols` are valid. A column (one element a row) is stored densely,
/// as one row.
struct UbTile {
    isa::Operand at;
    isa::DType dtype = isa::DType::f32;
    Expr rows, cols, pitch;
    std::int64_t max_rows = 1, max_pitch = 0;
};

enum class Spread : std::uint8_t { none, row, column };  ///< how the second source is repeated over the destination

/// dst = op(a, scalar), all of the extents of dst.
void vector_unary(Emitter&, isa::Op, const UbTile& dst, const UbTile& a, double scalar, isa::SourceId);
void vector_fill(Emitter&, const UbTile& dst, double scalar, isa::SourceId);
/// dst = op(a, b). With `swapped`, the broadcast operand is the first source. `scratch` (column only): 32 bytes a row of dst.
void vector_binary(Emitter&, isa::Op, const UbTile& dst, const UbTile& a, const UbTile& b, Spread, bool swapped, const UbTile* scratch,
                   isa::SourceId);

/// dst = op(valid elements of each row of a): a column, or one element when a has one row. `scratch`: row_reduction_scratch elements of a's type.
void vector_row_reduction(Emitter&, isa::Op, const UbTile& dst, const UbTile& a, UbTile scratch, isa::SourceId);
/// One level of it: every 256 bytes of a row of `from` give an element of `to`, whose rows are `pitch` elements apart.
void reduce_each_row(Emitter&, isa::Op, const UbTile& to, Expr pitch, const UbTile& from, isa::SourceId);
/// Elements that the levels of a row reduction need beside source and destination.
std::int64_t row_reduction_scratch(const UbTile& a);

/// Operands over whole tiles with the strides of a contiguous run; `count` is still 0.
isa::Vector vector_operands(Emitter&, const UbTile& dst, const UbTile* a, const UbTile* b, double scalar);
/// `elements` further on.
isa::Operand moved(Emitter&, isa::Operand, Expr elements, isa::DType);

/// What an instruction of the Vector family takes besides its destination.
constexpr int tile_sources(isa::Op op) {
    if (isa::desc(op).src == isa::Space::none) return 0;
    return isa::reads_two_sources(op) ? 2 : 1;
}
constexpr bool takes_scalar(isa::Op op) {
    using enum isa::Op;
    return op == vadds || op == vmuls || op == vmaxs || op == vmins || op == vlrelu || op == vaxpy || op == vdup;
}

/// Elements of the whole run of a tile, tails of rows included: they are zero or computed, so that a later reader of whole blocks finds them defined.
Expr run_length(Emitter&, const UbTile&);

}  // namespace sfumato::dsl
