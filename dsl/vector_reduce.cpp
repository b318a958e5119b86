// SPDX-License-Identifier: Apache-2.0
// Row reductions. One instruction folds 256 bytes of a row to an element, so a long row takes several levels, each a fraction of the one before.
// Counter mode stops at the last valid element: what a ragged edge leaves behind it never enters a result, whatever it holds.
#include <limits>

#include "dsl/vector.h"

namespace sfumato::dsl {

namespace {

/// Elements that are left of a row of `width`: one for each repeat.
std::int64_t partials(std::int64_t width, isa::DType t) { return isa::ceil_div(width, isa::kRepeatBytes / isa::bytes_of(t)); }
/// Elements between the rows of a level in scratch.
std::int64_t scratch_pitch(std::int64_t width, isa::DType t) { return isa::round_up(partials(width, t), isa::kBlockBytes / isa::bytes_of(t)); }

}  // namespace

std::int64_t row_reduction_scratch(const UbTile& a) {
    std::int64_t elements = 0;
    for (std::int64_t width = a.max_pitch; partials(width, a.dtype) > 1; width = partials(width, a.dtype))
        elements += a.max_rows * scratch_pitch(width, a.dtype);
    return elements;
}

void reduce_each_row(Emitter& e, isa::Op op, const UbTile& to, Expr pitch, const UbTile& from, isa::SourceId source) {
    isa::ExprPool& x = e.exprs();
    const bool single = from.max_rows == 1;
    Expr row = e.constant(0);
    if (!single) {
        const isa::SymbolId r = e.new_loop_symbol("r");
        e.open_loop(r, from.rows, 1, source);
        row = e.program().symbol(r);
    }
    isa::Vector v = vector_operands(e, to, &from, nullptr, 0);
    v.dst = moved(e, to.at, x.mul(row, pitch), to.dtype);
    v.src0 = moved(e, from.at, x.mul(row, from.pitch), from.dtype);
    v.count = from.cols;
    e.instr(op, v, source);
    if (!single) e.close();
}

void vector_row_reduction(Emitter& e, isa::Op op, const UbTile& dst, const UbTile& a, UbTile scratch, isa::SourceId source) {
    isa::ExprPool& x = e.exprs();
    const std::int64_t lanes = isa::kRepeatBytes / isa::bytes_of(a.dtype);
    // rows without a valid element, and what later instructions on whole blocks read behind the last row
    vector_fill(e, dst, op == isa::Op::vcadd ? 0 : -std::numeric_limits<double>::infinity(), source);
    UbTile from = a;
    for (std::int64_t width = a.max_pitch; width > 0; width = partials(width, a.dtype)) {
        const bool last = partials(width, a.dtype) == 1;
        UbTile to = dst;
        Expr pitch = e.constant(1);  // a column is dense
        if (!last) {
            to = scratch;
            pitch = e.constant(scratch_pitch(width, a.dtype));
        }
        reduce_each_row(e, op, to, pitch, from, source);
        if (last) break;
        const Expr left = x.ceil_div(from.cols, lanes);
        from = scratch;
        from.cols = left;
        from.pitch = pitch;
        scratch.at = moved(e, scratch.at, e.constant(a.max_rows * scratch_pitch(width, a.dtype)), a.dtype);
    }
}

}  // namespace sfumato::dsl
