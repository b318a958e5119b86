// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arithmetic on a builder's expressions with the usual signs, so that index formulas of kernels read as in their sources.
#include "isa/program_builder.h"

namespace sfumato::lab::silicon {

struct X {
    isa::ProgramBuilder* b = nullptr;
    isa::Expr e;
    operator isa::Amount() const { return e; }  // NOLINT: implicit by design
    operator isa::Expr() const { return e; }    // NOLINT
};
inline X lift(isa::ProgramBuilder& b, std::int64_t v) { return {&b, b.num(v)}; }
inline X lift(isa::ProgramBuilder& b, isa::Expr e) { return {&b, e}; }
inline X operator+(X a, X c) { return {a.b, a.b->p.exprs.add(a.e, c.e)}; }
inline X operator+(X a, std::int64_t c) { return a + lift(*a.b, c); }
inline X operator-(X a, X c) { return {a.b, a.b->p.exprs.sub(a.e, c.e)}; }
inline X operator-(X a, std::int64_t c) { return a - lift(*a.b, c); }
inline X operator-(std::int64_t c, X a) { return lift(*a.b, c) - a; }
inline X operator*(X a, X c) { return {a.b, a.b->p.exprs.mul(a.e, c.e)}; }
inline X operator*(X a, std::int64_t c) { return a * lift(*a.b, c); }
inline X operator/(X a, std::int64_t c) { return {a.b, a.b->p.exprs.floor_div(a.e, a.b->num(c))}; }
inline X operator%(X a, std::int64_t c) { return {a.b, a.b->p.exprs.mod(a.e, a.b->num(c))}; }
inline X least(X a, X c) { return {a.b, a.b->p.exprs.min(a.e, c.e)}; }
inline X most(X a, X c) { return {a.b, a.b->p.exprs.max(a.e, c.e)}; }
inline X ceil_div(X a, std::int64_t c) { return {a.b, a.b->p.exprs.ceil_div(a.e, c)}; }
/// 1 when a is 0 (or any smaller count).
inline isa::Expr is_zero(X a) { return a.b->p.exprs.binary(isa::ExprOp::eq, a.e, a.b->num(0)); }
inline isa::Expr is_negative(X a) { return a.b->p.exprs.binary(isa::ExprOp::lt, a.e, a.b->num(0)); }
inline isa::Expr positive(X a) { return a.b->p.exprs.binary(isa::ExprOp::lt, a.b->num(0), a.e); }

}  // namespace sfumato::lab::silicon
