// SPDX-License-Identifier: Apache-2.0
#include "isa/expr.h"

#include <catch2/catch.hpp>
#include <random>

using namespace sfumato::isa;

TEST_CASE("division and modulo round towards minus infinity") {
    for (std::int64_t a = -20; a <= 20; ++a)
        for (std::int64_t b : {1, 2, 3, 7, 16}) {
            const std::int64_t q = apply(ExprOp::floor_div, a, b), r = apply(ExprOp::mod, a, b);
            CHECK(q * b + r == a);
            CHECK((r >= 0 && r < b));
        }
    CHECK(apply(ExprOp::floor_div, -7, -2) == 3);
    CHECK(apply(ExprOp::floor_div, 5, 0) == 0);
}

TEST_CASE("equal expressions are one and constants are folded") {
    ExprPool p;
    const Expr x = p.symbol(0), y = p.symbol(1);
    CHECK(p.add(x, y) == p.add(y, x));
    CHECK(p.add(p.add(x, p.constant(3)), p.constant(-3)) == x);
    CHECK(p.mul(x, p.constant(0)) == p.constant(0));
    CHECK(p.mul(p.constant(6), p.constant(7)) == p.constant(42));
    CHECK(p.min(x, x) == x);
    CHECK(p.binary(ExprOp::lt, x, x) == p.constant(0));
}

TEST_CASE("the range of an expression contains every value it takes") {
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
        ExprPool p;
        std::vector<Expr> e{p.symbol(0), p.symbol(1), p.constant(static_cast<int>(random() % 9) - 4), p.constant(1 + static_cast<int>(random() % 5))};
        for (int i = 0; i < 6; ++i) {
            static constexpr ExprOp ops[] = {ExprOp::add, ExprOp::mul, ExprOp::floor_div, ExprOp::mod,         ExprOp::min,       ExprOp::max,
                                             ExprOp::eq,  ExprOp::lt,  ExprOp::le,        ExprOp::logical_and, ExprOp::logical_or};
            const Expr a = e[random() % e.size()], b = e[random() % e.size()];
            e.push_back(random() % 8 == 0 ? p.logical_not(a) : p.binary(ops[random() % std::size(ops)], a, b));
        }
        const Interval domain[] = {{-3, 5}, {0, 4}};
        const Interval r = range(p, e.back(), domain);
        bool inside = true;
        for (std::int64_t x = -3; x <= 5; ++x)
            for (std::int64_t y = 0; y <= 4; ++y) {
                const std::int64_t s[] = {x, y}, v = p.eval(e.back(), s);
                inside = inside && r.lo <= v && v <= r.hi;
            }
        REQUIRE(inside);
    }
}

TEST_CASE("substitution replaces symbols and keeps the value") {
    ExprPool p;
    const Expr e = p.min(p.mul(p.symbol(0), p.constant(16)), p.sub(p.symbol(1), p.constant(5)));
    const Expr replaced = p.substitute(e, std::vector<Expr>{p.constant(3), p.symbol(0)});
    const std::int64_t s[] = {40};
    CHECK(p.eval(replaced, s) == 35);
}

TEST_CASE("an expression prints with only the parentheses it needs") {
    ExprPool p;
    const std::vector<Symbol> names{{"i", SymbolKind::loop}, {"m", SymbolKind::param}};
    const Expr i = p.symbol(0), m = p.symbol(1);
    CHECK(print(p, p.mul(p.add(i, p.constant(1)), p.constant(4)), names) == "(i + 1)*4");
    CHECK(print(p, p.ceil_div(m, 16), names) == "(m + 15)/16");
}
