// SPDX-License-Identifier: Apache-2.0
// Slice and Pad. A slice clamps its bounds silently; where a symbolic bound is not known to lie inside, it is taken to, and said so: a mask cut
// to [seq, past + seq] keeps these names although the table it is cut from has 1024 rows.
#include <algorithm>

#include "fusion/rules.h"
#include "fusion/shape/rules.h"

namespace sfumato::fusion {

namespace {

constexpr std::int64_t kEndless = INT32_MAX;  // bounds at or beyond mean the end

struct Bounds {
    std::optional<std::vector<Extent>> starts, ends, steps;
    std::optional<std::vector<std::int64_t>> axes;
};

std::optional<std::vector<Extent>> extents(const std::optional<std::vector<std::int64_t>>& v) {
    return v ? std::optional(std::vector<Extent>(v->begin(), v->end())) : std::nullopt;
}

std::optional<Bounds> read_bounds(const ShapeContext& c, std::size_t rank) {
    Bounds b;
    if (c.node().version < 10) {
        b.starts = extents(c.node().integers("starts"));
        b.ends = extents(c.node().integers("ends"));
        b.axes = c.node().integers("axes");
        if (!b.starts || !b.ends) c.fail("has no starts or no ends");
    } else {
        b.starts = c.content(1);
        b.ends = c.content(2);
        const IntList axes = int_list(c, "", 3);
        if (axes.present && !axes.values) return std::nullopt;
        b.axes = axes.values;
        if (c.node().has_input(4)) b.steps = c.content(4);
    }
    std::size_t count = b.axes ? b.axes->size() : 0;
    for (const auto* list : {&b.starts, &b.ends, &b.steps})
        if (*list && !b.axes) count = std::max(count, (*list)->size());
    if (!b.axes && !b.starts && !b.ends) return std::nullopt;
    if (count > rank) c.fail("has " + std::to_string(count) + " bounds for rank " + std::to_string(rank));
    for (const auto* list : {&b.starts, &b.ends, &b.steps})
        if (*list && (*list)->size() != count) c.fail("has " + std::to_string((*list)->size()) + " starts, ends or steps for " + std::to_string(count) + " axes");
    if (!b.axes) {
        b.axes.emplace();
        for (std::size_t i = 0; i < count; ++i) b.axes->push_back(static_cast<std::int64_t>(i));
    }
    return b;
}

std::int64_t clamped(std::int64_t v, std::int64_t n, std::int64_t low, std::int64_t high) { return std::clamp(v < 0 ? v + n : v, low, high); }

/// All four known: the rule of ONNX by itself.
std::int64_t constant_length(std::int64_t n, std::int64_t start, std::int64_t end, std::int64_t step) {
    if (step > 0) {
        const std::int64_t s = clamped(start, n, 0, n), e = clamped(end, n, 0, n);
        return e > s ? (e - s - 1) / step + 1 : 0;
    }
    const std::int64_t s = clamped(start, n, -1, n - 1), e = clamped(end < -n ? -n - 1 : end, n, -1, n - 1);
    return s > e ? (s - e - 1) / -step + 1 : 0;  // step is not the smallest integer: the caller looks
}

/// A bound counted from the front, for a positive step.
std::optional<Extent> position(const ShapeContext& c, const Extent& bound, const Extent& n, bool is_end) {
    Symbols& s = c.symbols();
    const auto v = bound.constant();
    if (v && *v >= kEndless) return n;
    if (v && *v < -kEndless) return Extent(0);
    if (bound == n || bound == Extent(0)) return bound;
    if (v && *v < 0) {
        c.assume(s.to_text(n) + " >= " + std::to_string(-*v));
        return n + bound;
    }
    if (v && is_end) return s.minimum(bound, n);
    const Range r = s.range(bound);
    if (r.low < 0 && r.high >= 0 && is_data_dependent(s, bound)) return std::nullopt;
    if (r.high < 0) return n + bound;
    if (s.range(n - bound).low < 0) c.assume(s.to_text(bound) + " <= " + s.to_text(n));
    return bound;
}

Extent length(const ShapeContext& c, const Extent& n, const Extent& start, const Extent& end, std::int64_t step) {
    Symbols& s = c.symbols();
    const auto size = n.constant(), a = start.constant(), b = end.constant();
    if (size && a && b) return constant_length(*size, *a, *b, step);
    if (step < 0) {
        const bool whole = a && b && (*a == -1 || *a >= kEndless) && *b < -kEndless;
        return whole ? s.ceil_div(n, -step) : c.fresh_data();
    }
    const auto from = position(c, start, n, false), to = position(c, end, n, true);
    if (!from || !to) return c.fresh_data();
    Extent count = *to - *from;
    if (count.constant() && *count.constant() < 0) return 0;
    if (s.range(count).high <= 0) return 0;
    return s.ceil_div(count, step);
}

void slice_content(ShapeContext& c, const Bounds& b) {
    const auto content = c.content(0);
    if (!content || !b.starts || !b.ends || b.starts->size() != 1) return;
    const auto start = (*b.starts)[0].constant(), end = (*b.ends)[0].constant(), step = b.steps ? (*b.steps)[0].constant() : std::optional<std::int64_t>(1);
    if (!start || !end || !step || *step == 0 || *step == INT64_MIN) return;
    const auto n = static_cast<std::int64_t>(content->size());
    const std::int64_t count = constant_length(n, *start, *end, *step);
    std::vector<Extent> out;
    const std::int64_t first = clamped(*start, n, 0, *step > 0 ? n : n - 1);
    for (std::int64_t i = 0; i < count; ++i) out.push_back((*content)[static_cast<std::size_t>(first + i * *step)]);
    c.set_content(0, std::move(out));
}

}  // namespace

void shape_slice(ShapeContext& c) {
    copy_type(c);
    const Shape* in = c.shape(0);
    if (!in) return;
    Shape out = *in;
    const auto b = read_bounds(c, in->size());
    if (!b) {
        for (Extent& e : out) e = c.fresh_data();
        return c.set_shape(0, std::move(out));
    }
    const auto axes = axes_of(c, *b->axes, in->size());
    for (std::size_t i = 0; i < axes.size(); ++i) {
        Extent& e = out[axes[i]];
        const auto step = b->steps ? (*b->steps)[i].constant() : c.node().has_input(4) ? std::nullopt : std::optional<std::int64_t>(1);
        if (step == 0) c.fail("its step is 0");
        e = b->starts && b->ends && step && *step != INT64_MIN ? length(c, e, (*b->starts)[i], (*b->ends)[i], *step) : c.fresh_data();
    }
    c.set_shape(0, std::move(out));
    if (in->size() == 1 && axes.size() == 1) slice_content(c, *b);
}

void shape_pad(ShapeContext& c) {
    copy_type(c);
    const Shape* in = c.shape(0);
    if (!in) return;
    std::optional<std::vector<Extent>> pads = extents(c.node().integers("pads"));
    if (!pads && c.node().version < 11) c.fail("has no pads");
    if (!pads) pads = c.content(1);
    Shape out = *in;
    std::vector<std::size_t> axes;
    const IntList list = int_list(c, "", 3);
    if (!pads || (list.present && !list.values)) {
        for (Extent& e : out) e = c.fresh_data();
        return c.set_shape(0, std::move(out));
    }
    if (list.present) axes = axes_of(c, *list.values, in->size());
    for (std::size_t i = 0; !list.present && i < in->size(); ++i) axes.push_back(i);
    if (pads->size() != 2 * axes.size()) c.fail("has " + std::to_string(pads->size()) + " pads for " + std::to_string(axes.size()) + " axes");
    for (std::size_t i = 0; i < axes.size(); ++i) out[axes[i]] = out[axes[i]] + (*pads)[i] + (*pads)[i + axes.size()];
    c.set_shape(0, std::move(out));
}

}  // namespace sfumato::fusion
