// SPDX-License-Identifier: Apache-2.0
#pragma once
// Integers of a kernel. A Knob is known while tracing (it comes from the tile struct); an Index is symbolic: a loop counter, an extent of a
// tensor or an expression over them. An Index never becomes a C++ bool: a host `if` on it does not compile, `when` is the run-time condition.
#include <concepts>
#include <cstdint>

#include "isa/expr.h"

namespace sfumato::dsl {

struct Knob {
    std::int64_t value = 0;
    constexpr Knob() = default;
    constexpr Knob(std::integral auto v) : value(static_cast<std::int64_t>(v)) {}
    constexpr operator std::int64_t() const { return value; }
};

class Index {
public:
    Index() = default;
    Index(std::integral auto v) : value_(static_cast<std::int64_t>(v)) {}
    Index(Knob k) : value_(k.value) {}
    explicit Index(isa::Expr e) : expr_(e) {}
    explicit operator bool() const = delete;  // use when(condition, f)

    /// The expression in the pool of the running trace.
    isa::Expr expr() const;

    friend Index operator+(Index a, Index b) { return make(isa::ExprOp::add, a, b); }
    friend Index operator-(Index a, Index b) { return a + b * Index(-1); }
    friend Index operator*(Index a, Index b) { return make(isa::ExprOp::mul, a, b); }
    friend Index operator/(Index a, Index b) { return make(isa::ExprOp::floor_div, a, b); }  ///< towards minus infinity
    friend Index operator%(Index a, Index b) { return make(isa::ExprOp::mod, a, b); }
    friend Index operator==(Index a, Index b) { return make(isa::ExprOp::eq, a, b); }
    friend Index operator!=(Index a, Index b) { return !(a == b); }
    friend Index operator<(Index a, Index b) { return make(isa::ExprOp::lt, a, b); }
    friend Index operator<=(Index a, Index b) { return make(isa::ExprOp::le, a, b); }
    friend Index operator>(Index a, Index b) { return b < a; }
    friend Index operator>=(Index a, Index b) { return b <= a; }
    friend Index operator&&(Index a, Index b) { return make(isa::ExprOp::logical_and, a, b); }
    friend Index operator||(Index a, Index b) { return make(isa::ExprOp::logical_or, a, b); }
    friend Index operator!(Index a);
    friend Index min(Index a, Index b) { return make(isa::ExprOp::min, a, b); }
    friend Index max(Index a, Index b) { return make(isa::ExprOp::max, a, b); }
    friend Index ceil_div(Index a, Index b) { return (a + b - Index(1)) / b; }

private:
    static Index make(isa::ExprOp, Index, Index);
    isa::Expr expr_;  ///< absent: the constant below
    std::int64_t value_ = 0;
};

}  // namespace sfumato::dsl
