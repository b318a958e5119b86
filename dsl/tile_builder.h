// SPDX-License-Identifier: Apache-2.0
#pragma once
// Records operations of the maths-like level into a kernel while it is traced. What the author can get wrong about one operation (element
// types, extents) is refused here, with the author's line.
#include "dsl/tile_ir.h"

namespace sfumato::dsl::tile {

class Builder {
public:
    /// Operations are appended to `region`, which lies in `kernel` or is about to be put there.
    Builder(Kernel& kernel, Region& region) : kernel_(kernel), region_(region) {}

    const Value& value(ValueId v) const { return kernel_.values[static_cast<std::size_t>(v)]; }

    std::int32_t view(View);
    ValueId load(std::int32_t view, Expr i, Expr j, SourceId);
    void store(std::int32_t view, Expr i, Expr j, ValueId, SourceId);
    ValueId full(DType, Shape, double, SourceId);
    /// One tile in, one of the same extents and type out.
    ValueId unary(OpKind, ValueId, SourceId, double scalar = 0);
    ValueId binary(OpKind, ValueId, ValueId, SourceId);
    ValueId cast(ValueId, DType, SourceId);
    ValueId transpose(ValueId, SourceId);
    ValueId row_reduction(OpKind, ValueId, SourceId);
    ValueId dot(ValueId, ValueId, SourceId);

    CellId cell(ValueId init, SourceId);  ///< a new variable with a first value
    ValueId get(CellId, SourceId);
    void set(CellId, ValueId, SourceId);

private:
    ValueId emit(Op, DType, Shape);
    [[noreturn]] void refuse(SourceId, isa::Code, std::string message, std::vector<std::string> notes = {}) const;

    void append(Op op) { region_.nodes.push_back({std::move(op)}); }

    Kernel& kernel_;
    Region& region_;
};

/// "f16[128 x 64]"
std::string describe(const Value&);

}  // namespace sfumato::dsl::tile
