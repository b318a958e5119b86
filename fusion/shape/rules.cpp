// SPDX-License-Identifier: Apache-2.0
#include "fusion/shape/rules.h"

#include <algorithm>

#include "isa/diagnostic.h"

namespace sfumato::fusion {

std::size_t axis_of(const ShapeContext& c, std::int64_t axis, std::size_t rank, bool end_allowed) {
    const auto n = static_cast<std::int64_t>(rank) + (end_allowed ? 1 : 0);
    if (axis < -n || axis >= n) c.fail("axis " + std::to_string(axis) + " lies outside of rank " + std::to_string(rank) + " (allowed are " + std::to_string(-n) + " to " + std::to_string(n - 1) + ")");
    return static_cast<std::size_t>(axis < 0 ? axis + n : axis);
}

std::vector<std::size_t> axes_of(const ShapeContext& c, const std::vector<std::int64_t>& axes, std::size_t rank) {
    std::vector<std::size_t> out;
    for (const std::int64_t a : axes) {
        out.push_back(axis_of(c, a, rank));
        if (std::count(out.begin(), out.end(), out.back()) > 1) c.fail("axis " + std::to_string(a) + " stands twice");
    }
    return out;
}

IntList int_list(const ShapeContext& c, const char* attribute, std::size_t input) {
    if (*attribute)
        if (auto v = c.node().integers(attribute)) return {true, std::move(v)};
    if (!c.node().has_input(input)) return {};
    const auto content = c.content(input);
    if (!content) return {true, std::nullopt};
    std::vector<std::int64_t> values;
    for (const Extent& e : *content) {
        const auto v = e.constant();
        if (!v) return {true, std::nullopt};
        values.push_back(*v);
    }
    return {true, std::move(values)};
}

Shape broadcast_shapes(const ShapeContext& c, const Shape& a, const Shape& b) {
    const Shape &longer = a.size() >= b.size() ? a : b, &shorter = a.size() >= b.size() ? b : a;
    Shape out = longer;
    const std::size_t shift = longer.size() - shorter.size();
    for (std::size_t i = 0; i < shorter.size(); ++i) {
        const Extent &x = longer[i + shift], &y = shorter[i];
        const auto p = x.constant(), q = y.constant();
        if (p && q && *p != *q && *p != 1 && *q != 1) c.fail("shapes " + shape_text(c.symbols(), a) + " and " + shape_text(c.symbols(), b) + " do not broadcast");
        out[i + shift] = broadcast_extent(c.symbols(), x, y);
        if (x != y && p != 1 && q != 1) c.assume(c.symbols().to_text(x) + " = " + c.symbols().to_text(y) + ", or one of them is 1");
    }
    return out;
}

Shape unknown_shape(const ShapeContext& c, std::size_t rank) {
    if (rank > kMostDims) c.fail("a result of rank " + std::to_string(rank) + "; at most " + std::to_string(kMostDims) + " dimensions are supported");
    Shape out;
    for (std::size_t i = 0; i < rank; ++i) out.push_back(c.symbols().fresh("unk"));
    return out;
}

Extent volume(const Shape& shape) {
    Extent v = 1;
    for (const Extent& e : shape) v = v * e;
    return v;
}

void copy_type(ShapeContext& c, std::size_t from, std::size_t output) {
    if (const Value* v = c.input(from)) c.set_type(output, v->type);
}

void unify(const ShapeContext& c, const Extent& a, const Extent& b, const char* what) {
    const auto x = a.constant(), y = b.constant();
    if (x && y && *x != *y) c.fail(std::string(what) + " are " + std::to_string(*x) + " and " + std::to_string(*y) + ", and must be equal");
    if (a == b) return;
    c.assume(c.symbols().to_text(a) + " = " + c.symbols().to_text(b));
    c.learned = c.symbols().settle(a, b) || c.symbols().settle(b, a) || c.learned;
}

}  // namespace sfumato::fusion
