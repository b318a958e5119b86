// SPDX-License-Identifier: Apache-2.0
// Shapes of matrix products.
#include <algorithm>
#include <map>

#include "fusion/rules.h"
#include "fusion/shape/rules.h"

namespace sfumato::fusion {

void shape_matmul(ShapeContext& c) {
    const Op op = c.node().op;
    const std::size_t second = op == Op::QLinearMatMul ? 3 : 1;
    if (op == Op::MatMulInteger) c.set_type(0, ElemType::i32);
    else copy_type(c, op == Op::QLinearMatMul ? 7 : 0);
    const Shape *a = c.shape(0), *b = c.shape(second);
    if (!a || !b) return;
    if (a->empty() || b->empty()) c.fail("its inputs " + shape_text(c.symbols(), *a) + " and " + shape_text(c.symbols(), *b) + " must have at least one dimension");
    const Value &x = *c.input(0), &y = *c.input(second);
    if (op == Op::MatMul && x.type != y.type && x.type != ElemType::undefined && y.type != ElemType::undefined)
        c.fail("its inputs are of types " + std::string(name(x.type)) + " and " + std::string(name(y.type)));
    const Extent &inner_a = a->back(), &inner_b = b->size() == 1 ? (*b)[0] : (*b)[b->size() - 2];
    const auto p = inner_a.constant(), q = inner_b.constant();
    if (p && q && *p != *q) c.fail("inner extents of " + shape_text(c.symbols(), *a) + " and " + shape_text(c.symbols(), *b) + " differ: " + std::to_string(*p) + " and " + std::to_string(*q));
    unify(c, inner_a, inner_b, "inner extents");
    const auto batch = [](const Shape& s) { return s.size() <= 2 ? Shape{} : Shape(s.begin(), s.end() - 2); };
    Shape out = broadcast_shapes(c, batch(*a), batch(*b));
    if (a->size() > 1) out.push_back((*a)[a->size() - 2]);
    if (b->size() > 1) out.push_back(b->back());
    c.set_shape(0, std::move(out));
}

void shape_gemm(ShapeContext& c) {
    copy_type(c);
    const Shape *a = c.shape(0), *b = c.shape(1);
    if (!a || !b) return;
    if (a->size() != 2 || b->size() != 2) c.fail("its inputs " + shape_text(c.symbols(), *a) + " and " + shape_text(c.symbols(), *b) + " must be matrices");
    const bool ta = c.node().integer("transA", 0) != 0, tb = c.node().integer("transB", 0) != 0;
    unify(c, (*a)[ta ? 0 : 1], (*b)[tb ? 1 : 0], "inner extents");
    const Shape out{(*a)[ta ? 1 : 0], (*b)[tb ? 0 : 1]};
    if (const Shape* bias = c.shape(2)) {
        if (bias->size() > 2) c.fail("its input C " + shape_text(c.symbols(), *bias) + " does not broadcast to " + shape_text(c.symbols(), out));
        (void)broadcast_shapes(c, out, *bias);
    }
    c.set_shape(0, out);
}

namespace {

struct Equation {
    std::vector<std::string> terms;  ///< one per input; "..." is one '.'
    std::string output;
};

Equation parse_equation(const ShapeContext& c) {
    std::string text, all = c.node().text("equation", "");
    std::erase(all, ' ');
    for (std::size_t i = 0; i < all.size(); ++i) {
        const bool dots = all.compare(i, 3, "...") == 0;
        text += dots ? '.' : all[i];
        i += dots ? 2 : 0;
    }
    const std::size_t arrow = text.find("->");
    const std::string left = text.substr(0, arrow);
    Equation e;
    e.terms.emplace_back();
    for (const char x : left) {
        if (x == ',') e.terms.emplace_back();
        else if ((x >= 'a' && x <= 'z') || (x >= 'A' && x <= 'Z') || x == '.') e.terms.back() += x;
        else c.fail("its equation '" + all.substr(0, 80) + "' cannot be read");
    }
    if (arrow != std::string::npos) {
        e.output = text.substr(arrow + 2);
        return e;
    }
    // without an arrow: the ellipsis, then letters that stand once, sorted
    std::map<char, int> count;
    for (const char x : left)
        if (x != ',') ++count[x];
    if (count.count('.')) e.output = ".";
    for (const auto& [letter, times] : count)
        if (letter != '.' && times == 1) e.output += letter;
    return e;
}

}  // namespace

void shape_einsum(ShapeContext& c) {
    copy_type(c);
    const Equation e = parse_equation(c);
    if (e.terms.size() != c.node().inputs.size()) c.fail("its equation has " + std::to_string(e.terms.size()) + " terms for " + std::to_string(c.node().inputs.size()) + " inputs");
    std::map<char, Extent> extent;
    Shape ellipsis;
    for (std::size_t i = 0; i < e.terms.size(); ++i) {
        const Shape* s = c.shape(i);
        if (!s) return;
        const std::string& term = e.terms[i];
        const auto dots = static_cast<std::size_t>(std::count(term.begin(), term.end(), '.'));
        const std::size_t letters = term.size() - dots;
        if (dots > 1 || letters > s->size() || (dots == 0 && letters != s->size())) c.fail("term " + std::to_string(i) + " of its equation does not fit the shape " + shape_text(c.symbols(), *s));
        std::size_t at = 0;
        for (const char x : term) {
            if (x == '.') {
                const std::size_t n = s->size() - letters;
                ellipsis = broadcast_shapes(c, ellipsis, Shape(s->begin() + static_cast<std::ptrdiff_t>(at), s->begin() + static_cast<std::ptrdiff_t>(at + n)));
                at += n;
                continue;
            }
            const auto [it, is_new] = extent.emplace(x, (*s)[at]);
            if (!is_new) it->second = broadcast_shapes(c, {it->second}, {(*s)[at]})[0];
            ++at;
        }
    }
    Shape out;
    for (const char x : e.output) {
        if (x == '.') out.insert(out.end(), ellipsis.begin(), ellipsis.end());
        else if (const auto it = extent.find(x); it != extent.end()) out.push_back(it->second);
        else c.fail(std::string("the output of its equation has the letter '") + (x >= ' ' && x <= '~' ? x : '?') + "', which no input has");
    }
    c.set_shape(0, std::move(out));
}

}  // namespace sfumato::fusion
