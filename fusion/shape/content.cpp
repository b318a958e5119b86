// SPDX-License-Identifier: Apache-2.0
// Arithmetic on the elements of followed tensors. A result that cannot be told (an overflow that the machine would wrap, an unproved
// comparison) is no error: the tensor is not followed any further.
#include <algorithm>
#include <functional>

#include "fusion/shape/rules.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion {

namespace {

using Elements = std::vector<Extent>;
using Result = std::optional<Extent>;

Result truth(bool v) { return Extent(v ? 1 : 0); }

/// Quotients: of integers towards zero; of floating numbers only where they are whole.
Result quotient(const ShapeContext& c, const Extent& a, const Extent& b) {
    Symbols& s = c.symbols();
    const auto x = a.constant(), y = b.constant();
    if (y == 0) return std::nullopt;
    const bool whole = c.input(0) && is_float(c.input(0)->type);
    if (x && y) return whole && *x % *y != 0 ? Result() : y == -1 ? Result(Extent(0) - a) : Result(Extent(*x / *y));
    if (!whole && s.range(a).low >= 0 && s.range(b).low >= (y ? 1 : 0)) return s.floor_div(a, b);
    const Extent q = s.floor_div(a, b);
    return q * b == a ? Result(q) : Result();
}

Result remainder(const ShapeContext& c, const Extent& a, const Extent& b) {
    Symbols& s = c.symbols();
    if (b.constant() == 0 || s.range(a).low < 0 || s.range(b).low < (b.constant() ? 1 : 0)) return std::nullopt;
    return s.modulo(a, b);
}

Result compare(const ShapeContext& c, Op op, const Extent& a, const Extent& b) {
    const Range d = c.symbols().range(a - b);
    switch (op) {
        case Op::Equal: return a == b ? truth(true) : d.low > 0 || d.high < 0 ? truth(false) : Result();
        case Op::Greater: return d.low > 0 ? truth(true) : d.high <= 0 ? truth(false) : Result();
        case Op::GreaterOrEqual: return d.low >= 0 ? truth(true) : d.high < 0 ? truth(false) : Result();
        case Op::Less: return d.high < 0 ? truth(true) : d.low >= 0 ? truth(false) : Result();
        case Op::LessOrEqual: return d.high <= 0 ? truth(true) : d.low > 0 ? truth(false) : Result();
        default: break;
    }
    const auto x = a.constant(), y = b.constant();
    if (!x || !y) return std::nullopt;
    if (op == Op::And) return truth(*x && *y);
    return op == Op::Or ? truth(*x || *y) : truth(!*x != !*y);
}

Result combine(const ShapeContext& c, Op op, const Extent& a, const Extent& b) {
    switch (op) {
        case Op::Add:
        case Op::Sum: return a + b;
        case Op::Sub: return a - b;
        case Op::Mul: return a * b;
        case Op::Div: return quotient(c, a, b);
        case Op::Mod: return remainder(c, a, b);
        case Op::Min: return c.symbols().minimum(a, b);
        case Op::Max: return c.symbols().maximum(a, b);
        case Op::And:
        case Op::Or:
        case Op::Xor:
        case Op::Equal:
        case Op::Greater:
        case Op::GreaterOrEqual:
        case Op::Less:
        case Op::LessOrEqual: return compare(c, op, a, b);
        default: return std::nullopt;
    }
}

std::optional<Elements> zip(const Elements& a, const Elements& b, const std::function<Result(const Extent&, const Extent&)>& f) {
    if (a.size() != b.size() && a.size() != 1 && b.size() != 1) return std::nullopt;
    Elements out;
    const std::size_t n = a.empty() || b.empty() ? 0 : std::max(a.size(), b.size());
    for (std::size_t i = 0; i < n; ++i) {
        const Result r = f(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
        if (!r) return std::nullopt;
        out.push_back(*r);
    }
    return out;
}

void attempt(const std::function<void()>& follow) {
    try {
        follow();
    } catch (const isa::InputError&) {  // overflow, or an expression beyond any use
    }
}

}  // namespace

void content_binary(ShapeContext& c) {
    attempt([&] {
        std::optional<Elements> all = c.content(0);
        for (std::size_t i = 1; all && i < c.node().inputs.size(); ++i) {
            const auto next = c.content(i);
            all = next ? zip(*all, *next, [&](const Extent& a, const Extent& b) { return combine(c, c.node().op, a, b); }) : std::nullopt;
        }
        if (all) c.set_content(0, std::move(*all));
    });
}

void content_unary(ShapeContext& c) {
    attempt([&] {
        const auto in = c.content(0);
        if (!in) return;
        Elements out;
        for (const Extent& e : *in) {
            switch (c.node().op) {
                case Op::Neg: out.push_back(Extent(0) - e); break;
                case Op::Not:
                    if (!e.constant()) return;
                    out.emplace_back(*e.constant() == 0 ? 1 : 0);
                    break;
                case Op::Abs:
                    if (c.symbols().range(e).low < 0) return;
                    [[fallthrough]];
                case Op::Ceil:
                case Op::Floor:
                case Op::Round: out.push_back(e); break;
                default: return;
            }
        }
        c.set_content(0, std::move(out));
    });
}

void content_where(ShapeContext& c) {
    attempt([&] {
        const auto condition = c.content(0), yes = c.content(1), no = c.content(2);
        if (!condition || !yes || !no) return;
        const std::size_t n = std::max({condition->size(), yes->size(), no->size()});
        Elements out;
        for (std::size_t i = 0; i < n; ++i) {
            const auto at = [&](const Elements& e) -> const Extent* { return e.size() == 1 ? &e[0] : i < e.size() ? &e[i] : nullptr; };
            const Extent *test = at(*condition), *a = at(*yes), *b = at(*no);
            if (!test || !a || !b) return;
            if (*a != *b && !test->constant()) return;
            out.push_back(*a == *b || *test->constant() != 0 ? *a : *b);
        }
        c.set_content(0, std::move(out));
    });
}

void content_reduce(ShapeContext& c) {
    attempt([&] {
        const auto in = c.content(0);
        if (!in || in->empty()) return;
        Extent all = (*in)[0];
        for (std::size_t i = 1; i < in->size(); ++i) {
            switch (c.node().op) {
                case Op::ReduceSum: all = all + (*in)[i]; break;
                case Op::ReduceProd: all = all * (*in)[i]; break;
                case Op::ReduceMax: all = c.symbols().maximum(all, (*in)[i]); break;
                case Op::ReduceMin: all = c.symbols().minimum(all, (*in)[i]); break;
                default: return;
            }
        }
        if (in->size() == 1 && (c.node().op == Op::ReduceL1 || c.node().op == Op::ReduceL2 || c.node().op == Op::ReduceSumSquare || c.node().op == Op::ReduceLogSum || c.node().op == Op::ReduceLogSumExp)) return;
        c.set_content(0, {all});
    });
}

}  // namespace sfumato::fusion
