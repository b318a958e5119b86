// SPDX-License-Identifier: Apache-2.0
#pragma once
// Quasi-affine integer expressions of a program: what keeps a program's size independent of trip counts and cores. An Expr is an index
// into the program's pool, where equal expressions are stored once and constants are folded on entry.
#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace sfumato::isa {

/// Handle of an expression in an ExprPool; id -1 means "absent".
struct Expr {
    std::int32_t id = -1;
    auto operator<=>(const Expr&) const = default;
    explicit operator bool() const { return id >= 0; }
};

/// Where a symbol's value comes from.
enum class SymbolKind : std::uint8_t {
    param,      ///< launch parameter (a tensor's extent, a length)
    block_id,   ///< index of the block this core works on
    block_num,  ///< number of blocks of the launch
    sub_block,  ///< 0 or 1: which vector core of a pair
    loop,       ///< counter of an enclosing loop, 0-based
    counter,    ///< running counter, starts at 0 when the section starts, advanced by a Bump statement
    load,       ///< control load: an integer read from GM by a Load statement
};

struct Symbol {
    std::string name;
    SymbolKind kind = SymbolKind::param;
};
using SymbolId = std::int32_t;

enum class ExprOp : std::uint8_t { constant, symbol, add, mul, floor_div, mod, min, max, eq, lt, le, logical_and, logical_or, logical_not };

struct ExprNode {
    ExprOp op = ExprOp::constant;
    Expr a, b;               ///< operands (b absent for logical_not)
    std::int64_t value = 0;  ///< constant, or SymbolId of a symbol
};

/// Hash-consed expression store. Division and modulo round towards minus infinity; dividing by zero yields 0 (the verifier refuses it).
class ExprPool {
public:
    Expr constant(std::int64_t);
    Expr symbol(SymbolId);
    Expr binary(ExprOp, Expr a, Expr b);
    Expr logical_not(Expr);

    Expr add(Expr a, Expr b) { return binary(ExprOp::add, a, b); }
    Expr sub(Expr a, Expr b) { return add(a, mul(b, constant(-1))); }
    Expr mul(Expr a, Expr b) { return binary(ExprOp::mul, a, b); }
    Expr floor_div(Expr a, Expr b) { return binary(ExprOp::floor_div, a, b); }
    Expr ceil_div(Expr a, std::int64_t b) { return floor_div(add(a, constant(b - 1)), constant(b)); }
    Expr round_up(Expr a, std::int64_t b) { return mul(ceil_div(a, b), constant(b)); }
    Expr mod(Expr a, Expr b) { return binary(ExprOp::mod, a, b); }
    Expr min(Expr a, Expr b) { return binary(ExprOp::min, a, b); }
    Expr max(Expr a, Expr b) { return binary(ExprOp::max, a, b); }

    const ExprNode& node(Expr e) const { return nodes_[static_cast<std::size_t>(e.id)]; }
    std::size_t size() const { return nodes_.size(); }
    bool is_constant(Expr e) const { return node(e).op == ExprOp::constant; }
    bool is_constant(Expr e, std::int64_t v) const { return is_constant(e) && node(e).value == v; }

    /// Value of `e` where `symbols[id]` is the value of symbol id. Wraps on overflow (64-bit two's complement).
    std::int64_t eval(Expr e, std::span<const std::int64_t> symbols) const;
    /// The same expression with symbols replaced where `replacement[id]` is present.
    Expr substitute(Expr e, std::span<const Expr> replacement);
    /// True when `e` mentions the symbol.
    bool uses(Expr e, SymbolId) const;

private:
    Expr intern(ExprNode);
    int compare(Expr, Expr) const;
    Expr simplify(ExprOp, Expr a, Expr b);
    std::vector<ExprNode> nodes_;
    std::map<std::tuple<ExprOp, std::int32_t, std::int32_t, std::int64_t>, std::int32_t> index_;
};

/// One arithmetic step, shared by folding and evaluation.
std::int64_t apply(ExprOp, std::int64_t a, std::int64_t b);

/// An interval [lo, hi] that surely holds the value of `e` given an interval for every symbol.
struct Interval {
    std::int64_t lo = 0, hi = 0;
    bool operator==(const Interval&) const = default;
};
Interval range(const ExprPool&, Expr e, std::span<const Interval> symbols);

/// Infix text, e.g. "min(128, m - 128*i)"; parse_expr in text.h reads it back.
std::string print(const ExprPool&, Expr, std::span<const Symbol>);

}  // namespace sfumato::isa
