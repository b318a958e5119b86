// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vector legalisation: one element-wise operation on UB tiles becomes instructions that can be encoded (repeats <= 255, strides, masks, tails).
// Both levels of the language end here. Rows of a tile are packed (docs/decisions/0002), so equal shapes are one run of rows x pitch elements in
// counter mode, whatever the shape; a source of one row is spread over the rows of the destination.
#include "isa/program.h"

namespace sfumato::dsl {

/// rows x pitch elements from `at`; `cols` of each row are valid. `max_*`: physical extents, which say whether shapes agree.
struct UbTile {
    isa::Operand at;  ///< space none: absent
    isa::DType dtype = isa::DType::f32;
    isa::Expr rows, pitch;
    std::int64_t max_rows = 1, max_pitch = 1;
    bool present() const { return at.space != isa::Space::none; }
};
struct VectorWork {
    isa::Op op = isa::Op::vadd;
    UbTile dst, src0, src1;
    double scalar = 0;
    isa::SourceId source = -1;
    bool hand = false;
};
/// Appends the instructions of `work`. A source with max_rows 1 below a destination of more rows is a row broadcast.
void legalise(isa::Program&, isa::Block& out, const VectorWork& work);

/// What an instruction of the Vector family takes besides its destination.
constexpr int tile_sources(isa::Op op) {
    const isa::InstrDesc& d = isa::desc(op);
    using enum isa::TimingClass;
    if (d.src == isa::Space::none) return 0;
    return d.timing == v_binary || d.timing == v_div || d.timing == v_mla || d.timing == v_sel || d.timing == v_cmp ? 2 : 1;
}
constexpr bool takes_scalar(isa::Op op) {
    using enum isa::Op;
    return op == vadds || op == vmuls || op == vmaxs || op == vmins || op == vlrelu || op == vaxpy || op == vdup;
}

}  // namespace sfumato::dsl
