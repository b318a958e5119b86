// SPDX-License-Identifier: Apache-2.0
#pragma once
// Records operations of the maths-like level into a kernel while it is traced. What the author can get wrong about one operation (element
// types, extents) is refused here, with the author's line.
#include "dsl/tile_ir.h"

namespace sfumato::dsl::tile {

class Builder {
public:
    Builder() = default;
    Builder(const Builder&) = delete;
    Builder& operator=(const Builder&) = delete;

    Kernel& kernel() { return kernel_; }
    isa::ExprPool& exprs() { return kernel_.frame.exprs; }
    const Value& value(ValueId v) const { return kernel_.values[static_cast<std::size_t>(v)]; }

    /// Regions nest; close() ends the innermost one.
    Region& open(Region);
    void close();
    Region& region() { return open_.empty() ? kernel_.body : *open_.back(); }
    std::size_t depth() const { return open_.size(); }
    template <class T>
    void append(T node) {
        region().nodes.push_back({std::move(node)});
    }

    std::int32_t view(View);
    ValueId load(std::int32_t view, Expr i, Expr j, SourceId);
    void store(std::int32_t view, Expr i, Expr j, ValueId, SourceId);
    ValueId full(DType, Shape, double, SourceId);
    /// One tile in, one of the same extents and type out.
    ValueId unary(OpKind, ValueId, SourceId, double scalar = 0);
    ValueId binary(OpKind, ValueId, ValueId, SourceId);
    ValueId cast(ValueId, DType, SourceId);
    ValueId transpose(ValueId, SourceId);
    ValueId dot(ValueId, ValueId, SourceId);

    CellId cell(ValueId init, SourceId);  ///< a new variable with a first value
    ValueId get(CellId, SourceId);
    void set(CellId, ValueId, SourceId);

private:
    ValueId emit(Op, DType, Shape);
    [[noreturn]] void refuse(SourceId, isa::Code, std::string message, std::vector<std::string> notes = {}) const;

    Kernel kernel_;
    std::vector<Region*> open_;
};

/// "f16[128 x 64]"
std::string describe(const Value&);

}  // namespace sfumato::dsl::tile
