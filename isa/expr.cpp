// SPDX-License-Identifier: Apache-2.0
#include "isa/expr.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace sfumato::isa {

namespace {

using U = std::uint64_t;
std::int64_t wrap_add(std::int64_t a, std::int64_t b) { return static_cast<std::int64_t>(static_cast<U>(a) + static_cast<U>(b)); }
std::int64_t wrap_mul(std::int64_t a, std::int64_t b) { return static_cast<std::int64_t>(static_cast<U>(a) * static_cast<U>(b)); }

std::int64_t floor_division(std::int64_t a, std::int64_t b) {
    if (b == 0) return 0;
    if (b == -1) return wrap_mul(a, -1);  // avoids the overflow of INT64_MIN / -1
    const std::int64_t q = a / b;
    return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

bool commutes(ExprOp op) {
    return op == ExprOp::add || op == ExprOp::mul || op == ExprOp::min || op == ExprOp::max || op == ExprOp::eq || op == ExprOp::logical_and ||
           op == ExprOp::logical_or;
}

}  // namespace

std::int64_t apply(ExprOp op, std::int64_t a, std::int64_t b) {
    switch (op) {
        case ExprOp::add:
            return wrap_add(a, b);
        case ExprOp::mul:
            return wrap_mul(a, b);
        case ExprOp::floor_div:
            return floor_division(a, b);
        case ExprOp::mod:
            return b == 0 ? 0 : wrap_add(a, -wrap_mul(floor_division(a, b), b));
        case ExprOp::min:
            return std::min(a, b);
        case ExprOp::max:
            return std::max(a, b);
        case ExprOp::eq:
            return a == b;
        case ExprOp::lt:
            return a < b;
        case ExprOp::le:
            return a <= b;
        case ExprOp::logical_and:
            return a != 0 && b != 0;
        case ExprOp::logical_or:
            return a != 0 || b != 0;
        case ExprOp::logical_not:
            return a == 0;
        case ExprOp::constant:
        case ExprOp::symbol:
            break;
    }
    return 0;
}

Expr ExprPool::intern(ExprNode n) {
    const auto [it, fresh] = index_.try_emplace({n.op, n.a.id, n.b.id, n.value}, static_cast<std::int32_t>(nodes_.size()));
    if (fresh) nodes_.push_back(n);
    return {it->second};
}

// Order of operands by structure rather than by handle, so that a program read back from its text has the same expressions.
int ExprPool::compare(Expr x, Expr y) const {
    if (x == y) return 0;
    if (!x || !y) return x ? 1 : -1;
    const ExprNode &a = node(x), &b = node(y);
    if (a.op != b.op) return a.op < b.op ? -1 : 1;
    if (a.value != b.value) return a.value < b.value ? -1 : 1;
    const int left = compare(a.a, b.a);
    return left != 0 ? left : compare(a.b, b.b);
}

Expr ExprPool::constant(std::int64_t v) { return intern({ExprOp::constant, {}, {}, v}); }
Expr ExprPool::symbol(SymbolId s) { return intern({ExprOp::symbol, {}, {}, s}); }

Expr ExprPool::logical_not(Expr e) {
    if (is_constant(e)) return constant(node(e).value == 0);
    return intern({ExprOp::logical_not, e, {}, 0});
}

// Identities that keep address expressions short; anything deeper is left to the reader of the expression.
Expr ExprPool::simplify(ExprOp op, Expr a, Expr b) {
    const bool cb = is_constant(b);
    const std::int64_t vb = cb ? node(b).value : 0;
    switch (op) {
        case ExprOp::add:
            if (cb && vb == 0) return a;
            if (cb && node(a).op == ExprOp::add && is_constant(node(a).b)) return add(node(a).a, constant(wrap_add(node(node(a).b).value, vb)));
            break;
        case ExprOp::mul:
            if (cb && vb == 0) return b;
            if (cb && vb == 1) return a;
            if (cb && node(a).op == ExprOp::mul && is_constant(node(a).b)) return mul(node(a).a, constant(wrap_mul(node(node(a).b).value, vb)));
            break;
        case ExprOp::floor_div:
            if (cb && vb == 1) return a;
            break;
        case ExprOp::mod:
            if (cb && vb == 1) return constant(0);
            break;
        case ExprOp::min:
        case ExprOp::max:
            if (a == b) return a;
            break;
        case ExprOp::logical_and:
            if (cb) return vb == 0 ? constant(0) : a;
            if (a == b) return a;
            break;
        case ExprOp::logical_or:
            if (cb) return vb != 0 ? constant(1) : a;
            if (a == b) return a;
            break;
        case ExprOp::eq:
        case ExprOp::le:
            if (a == b) return constant(1);
            break;
        case ExprOp::lt:
            if (a == b) return constant(0);
            break;
        default:
            break;
    }
    return {};
}

Expr ExprPool::binary(ExprOp op, Expr a, Expr b) {
    if (is_constant(a) && is_constant(b)) return constant(apply(op, node(a).value, node(b).value));
    if (commutes(op) && (is_constant(a) || (!is_constant(b) && compare(b, a) < 0))) std::swap(a, b);
    if (const Expr simple = simplify(op, a, b)) return simple;
    return intern({op, a, b, 0});
}

std::int64_t ExprPool::eval(Expr e, std::span<const std::int64_t> symbols) const {
    const ExprNode& n = node(e);
    if (n.op == ExprOp::constant) return n.value;
    if (n.op == ExprOp::symbol) return symbols[static_cast<std::size_t>(n.value)];
    return apply(n.op, eval(n.a, symbols), n.b ? eval(n.b, symbols) : 0);
}

Expr ExprPool::substitute(Expr e, std::span<const Expr> replacement) {
    const ExprNode n = node(e);  // a copy: interning may move the nodes
    if (n.op == ExprOp::constant) return e;
    if (n.op == ExprOp::symbol) {
        const auto s = static_cast<std::size_t>(n.value);
        return s < replacement.size() && replacement[s] ? replacement[s] : e;
    }
    const Expr a = substitute(n.a, replacement);
    return n.b ? binary(n.op, a, substitute(n.b, replacement)) : logical_not(a);
}

bool ExprPool::uses(Expr e, SymbolId s) const {
    if (!e) return false;
    const ExprNode& n = node(e);
    if (n.op == ExprOp::symbol) return n.value == s;
    return uses(n.a, s) || uses(n.b, s);
}

namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max(), kMin = std::numeric_limits<std::int64_t>::min();
constexpr Interval kAnything{kMin, kMax};

std::int64_t saturate(__int128 v) { return v > kMax ? kMax : v < kMin ? kMin : static_cast<std::int64_t>(v); }

Interval corners(Interval a, Interval b, __int128 (*f)(std::int64_t, std::int64_t)) {
    const __int128 v[] = {f(a.lo, b.lo), f(a.lo, b.hi), f(a.hi, b.lo), f(a.hi, b.hi)};
    return {saturate(*std::min_element(v, v + 4)), saturate(*std::max_element(v, v + 4))};
}

Interval range_mod(Interval a, Interval b) {
    if (b.lo != b.hi || b.lo <= 0) return b.lo > 0 ? Interval{0, b.hi - 1} : kAnything;
    if (floor_division(a.lo, b.lo) == floor_division(a.hi, b.lo)) return {apply(ExprOp::mod, a.lo, b.lo), apply(ExprOp::mod, a.hi, b.lo)};
    return {0, b.lo - 1};
}

Interval truth(bool can_be_false, bool can_be_true) { return {can_be_false ? 0 : 1, can_be_true ? 1 : 0}; }

Interval combine(ExprOp op, Interval a, Interval b) {
    switch (op) {
        case ExprOp::add:
            return {saturate(__int128{a.lo} + b.lo), saturate(__int128{a.hi} + b.hi)};
        case ExprOp::mul:
            return corners(a, b, [](std::int64_t x, std::int64_t y) { return __int128{x} * y; });
        case ExprOp::floor_div:
            if (b.lo <= 0) return kAnything;
            return corners(a, b, [](std::int64_t x, std::int64_t y) { return __int128{floor_division(x, y)}; });
        case ExprOp::mod:
            return range_mod(a, b);
        case ExprOp::min:
            return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
        case ExprOp::max:
            return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
        case ExprOp::eq:
            return truth(!(a.lo == a.hi && b.lo == b.hi && a.lo == b.lo), a.lo <= b.hi && b.lo <= a.hi);
        case ExprOp::lt:
            return truth(a.hi >= b.lo, a.lo < b.hi);
        case ExprOp::le:
            return truth(a.hi > b.lo, a.lo <= b.hi);
        case ExprOp::logical_and:
            return truth((a.lo <= 0 && a.hi >= 0) || (b.lo <= 0 && b.hi >= 0), (a.lo || a.hi) && (b.lo || b.hi));
        case ExprOp::logical_or:
            return truth(a.lo <= 0 && a.hi >= 0 && b.lo <= 0 && b.hi >= 0, a.lo || a.hi || b.lo || b.hi);
        default:
            return kAnything;
    }
}

}  // namespace

Interval range(const ExprPool& pool, Expr e, std::span<const Interval> symbols) {
    const ExprNode& n = pool.node(e);
    if (n.op == ExprOp::constant) return {n.value, n.value};
    if (n.op == ExprOp::symbol) return symbols[static_cast<std::size_t>(n.value)];
    const Interval a = range(pool, n.a, symbols);
    if (n.op == ExprOp::logical_not) return truth(a.lo || a.hi, a.lo <= 0 && a.hi >= 0);
    return combine(n.op, a, range(pool, n.b, symbols));
}

namespace {

struct Printed {
    std::string text;
    int level;  ///< binding strength: 5 atom, 4 product, 3 sum, 2 comparison, 1 and, 0 or
};

std::string at_level(const Printed& p, int level) { return p.level >= level ? p.text : "(" + p.text + ")"; }

Printed print_node(const ExprPool& pool, Expr e, std::span<const Symbol> symbols) {
    const ExprNode& n = pool.node(e);
    if (n.op == ExprOp::constant) return {std::to_string(n.value), n.value < 0 ? 3 : 5};
    if (n.op == ExprOp::symbol) return {symbols[static_cast<std::size_t>(n.value)].name, 5};
    const Printed a = print_node(pool, n.a, symbols);
    if (n.op == ExprOp::logical_not) return {"!" + at_level(a, 5), 5};
    const Printed b = print_node(pool, n.b, symbols);
    const auto infix = [&](const char* op, int level) { return Printed{at_level(a, level) + op + at_level(b, level + 1), level}; };
    switch (n.op) {
        case ExprOp::add:
            return infix(" + ", 3);
        case ExprOp::mul:
            return infix("*", 4);
        case ExprOp::floor_div:
            return infix("/", 4);
        case ExprOp::mod:
            return infix("%", 4);
        case ExprOp::min:
            return {"min(" + a.text + ", " + b.text + ")", 5};
        case ExprOp::max:
            return {"max(" + a.text + ", " + b.text + ")", 5};
        case ExprOp::eq:
            return infix(" == ", 2);
        case ExprOp::lt:
            return infix(" < ", 2);
        case ExprOp::le:
            return infix(" <= ", 2);
        case ExprOp::logical_and:
            return infix(" && ", 1);
        default:
            return infix(" || ", 0);
    }
}

}  // namespace

std::string print(const ExprPool& pool, Expr e, std::span<const Symbol> symbols) { return print_node(pool, e, symbols).text; }

}  // namespace sfumato::isa
