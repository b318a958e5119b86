// SPDX-License-Identifier: Apache-2.0
#include "dsl/index.h"

#include "dsl/trace.h"

namespace sfumato::dsl {

isa::Expr Index::expr() const { return expr_ ? expr_ : Trace::current().num(value_); }

Index Index::make(isa::ExprOp op, Index a, Index b) {
    if (!a.expr_ && !b.expr_) return Index(isa::apply(op, a.value_, b.value_));
    return Index(Trace::current().exprs().binary(op, a.expr(), b.expr()));
}

Index operator!(Index a) { return a.expr_ ? Index(Trace::current().exprs().logical_not(a.expr_)) : Index(a.value_ == 0 ? 1 : 0); }

}  // namespace sfumato::dsl
