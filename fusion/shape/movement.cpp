// SPDX-License-Identifier: Apache-2.0
// Shapes of operators that move elements by a fixed rule.
#include <algorithm>

#include "fusion/rules.h"
#include "fusion/shape/rules.h"

namespace sfumato::fusion {

namespace {

void pass_content(ShapeContext& c) {
    if (auto content = c.content(0)) c.set_content(0, std::move(*content));
}

/// Number of elements of a rank-1 input, when it is constant.
std::optional<std::size_t> length_of(const ShapeContext& c, std::size_t input) {
    const Shape* s = c.shape(input);
    if (!s || s->size() != 1) return std::nullopt;
    const auto n = (*s)[0].constant();
    return n && *n >= 0 && *n <= static_cast<std::int64_t>(kMostDims) ? std::optional(static_cast<std::size_t>(*n)) : std::nullopt;
}

Shape data_shape(const ShapeContext& c, std::size_t rank) {
    Shape out;
    for (std::size_t i = 0; i < rank; ++i) out.push_back(c.fresh_data());
    return out;
}

}  // namespace

void shape_flatten(ShapeContext& c) {
    copy_type(c);
    const Shape* in = c.shape(0);
    if (!in) return;
    std::int64_t axis = c.node().integer("axis", 1);  // 0 to rank; negative ones count from the rank
    const auto rank = static_cast<std::int64_t>(in->size());
    if (axis < -rank || axis > rank) c.fail("axis " + std::to_string(axis) + " lies outside of rank " + std::to_string(rank));
    axis += axis < 0 ? rank : 0;
    const auto middle = in->begin() + axis;
    c.set_shape(0, {volume({in->begin(), middle}), volume({middle, in->end()})});
}

void shape_squeeze(ShapeContext& c) {
    copy_type(c);
    const Shape* in = c.shape(0);
    if (!in) return;
    const IntList axes = int_list(c, "axes", 1);
    if (axes.present && !axes.values) {
        if (const auto n = length_of(c, 1); n && *n <= in->size()) c.set_shape(0, data_shape(c, in->size() - *n));
        return;
    }
    const bool all = !axes.present;
    std::vector<std::size_t> gone;
    if (!all) gone = axes_of(c, *axes.values, in->size());
    Shape out;
    for (std::size_t i = 0; i < in->size(); ++i) {
        const Extent& e = (*in)[i];
        const bool wanted = std::find(gone.begin(), gone.end(), i) != gone.end();
        if (wanted && e.constant().value_or(1) != 1) c.fail("squeezes axis " + std::to_string(i) + " of " + shape_text(c.symbols(), *in) + ", which is not 1");
        if (wanted && !e.constant()) c.assume(c.symbols().to_text(e) + " = 1");
        if (all && !e.constant()) c.assume(c.symbols().to_text(e) + " is not 1");
        if (!wanted && !(all && e == Extent(1))) out.push_back(e);
    }
    const bool follow = out.size() <= 1;
    c.set_shape(0, std::move(out));
    if (follow) pass_content(c);
}

void shape_unsqueeze(ShapeContext& c) {
    copy_type(c);
    const Shape* in = c.shape(0);
    if (!in) return;
    const IntList axes = int_list(c, "axes", 1);
    if (!axes.present) c.fail("has no axes");
    if (!axes.values) {
        if (const auto n = length_of(c, 1)) c.set_shape(0, data_shape(c, in->size() + *n));
        return;
    }
    const std::size_t rank = in->size() + axes.values->size();
    if (rank > kMostDims) c.fail("a result of rank " + std::to_string(rank));
    const auto added = axes_of(c, *axes.values, rank);
    Shape out;
    std::size_t next = 0;
    for (std::size_t i = 0; i < rank; ++i) out.push_back(std::find(added.begin(), added.end(), i) != added.end() ? Extent(1) : (*in)[next++]);
    c.set_shape(0, std::move(out));
    if (rank <= 1) pass_content(c);
}

void shape_transpose(ShapeContext& c) {
    copy_type(c);
    const Shape* in = c.shape(0);
    if (!in) return;
    auto perm = c.node().integers("perm");
    if (!perm || perm->empty()) {
        perm.emplace();
        for (std::size_t i = in->size(); i-- > 0;) perm->push_back(static_cast<std::int64_t>(i));
    }
    if (perm->size() != in->size()) c.fail("its perm has " + std::to_string(perm->size()) + " entries for the shape " + shape_text(c.symbols(), *in));
    Shape out;
    for (const std::size_t p : axes_of(c, *perm, in->size())) out.push_back((*in)[p]);
    c.set_shape(0, std::move(out));
    if (in->size() <= 1) pass_content(c);
}

void shape_expand(ShapeContext& c) {
    copy_type(c);
    const Shape* in = c.shape(0);
    const auto target = c.content(1);
    if (!in) return;
    if (!target) {
        if (const auto n = length_of(c, 1)) c.set_shape(0, data_shape(c, std::max(*n, in->size())));
        return;
    }
    for (const Extent& e : *target)
        if (e.constant().value_or(0) < 0) c.fail("expands to an extent of " + std::to_string(*e.constant()));
    Shape out = broadcast_shapes(c, *in, *target);
    const std::int64_t n = out.size() == 1 ? out[0].constant().value_or(-1) : -1;
    c.set_shape(0, std::move(out));
    if (const auto content = c.content(0); content && content->size() == 1 && n >= 0 && n <= kMostContent) c.set_content(0, std::vector<Extent>(static_cast<std::size_t>(n), (*content)[0]));
}

void shape_tile(ShapeContext& c) {
    copy_type(c);
    const Shape* in = c.shape(0);
    if (!in) return;
    const auto repeats = c.content(1);
    if (!repeats) return c.set_shape(0, data_shape(c, in->size()));
    if (repeats->size() != in->size()) c.fail("has " + std::to_string(repeats->size()) + " repeats for the shape " + shape_text(c.symbols(), *in));
    Shape out;
    for (std::size_t i = 0; i < in->size(); ++i) out.push_back((*in)[i] * (*repeats)[i]);
    c.set_shape(0, std::move(out));
}

namespace {

/// Elements of all inputs in a row; an input of known length and unknown values gives new symbols.
void concat_content(ShapeContext& c) {
    const ElemType type = c.input(0)->type;
    if (!is_integer(type) && type != ElemType::boolean) return;
    std::vector<Extent> all;
    bool any = false;
    for (std::size_t i = 0; i < c.node().inputs.size(); ++i) {
        const auto length = length_of(c, i);
        auto content = c.content(i);
        any = any || content;
        if (!content && !length) return;
        if (!content) content = data_shape(c, *length);
        all.insert(all.end(), content->begin(), content->end());
    }
    if (any) c.set_content(0, std::move(all));
}

}  // namespace

void shape_concat(ShapeContext& c) {
    copy_type(c);
    const Shape* first = c.shape(0);
    if (!first) return;
    if (!c.node().has("axis")) c.fail("has no axis");
    const std::size_t axis = axis_of(c, c.node().integer("axis", 0), first->size());
    Shape out = *first;
    for (std::size_t i = 1; i < c.node().inputs.size(); ++i) {
        const Shape* s = c.shape(i);
        if (!s) return c.set_shape(0, unknown_shape(c, first->size()));
        if (s->size() != out.size()) c.fail("its inputs " + shape_text(c.symbols(), *first) + " and " + shape_text(c.symbols(), *s) + " have different ranks");
        for (std::size_t d = 0; d < out.size(); ++d) {
            if (d == axis) {
                out[d] = out[d] + (*s)[d];
                continue;
            }
            const auto a = out[d].constant(), b = (*s)[d].constant();
            if (a && b && *a != *b) c.fail("its inputs " + shape_text(c.symbols(), *first) + " and " + shape_text(c.symbols(), *s) + " differ beside axis " + std::to_string(axis));
            unify(c, out[d], (*s)[d], "extents beside the axis");
            if (b) out[d] = (*s)[d];
        }
    }
    c.set_shape(0, std::move(out));
    if (first->size() == 1) concat_content(c);
}

namespace {

std::vector<Extent> split_sizes(const ShapeContext& c, const Extent& whole, std::size_t parts) {
    Symbols& s = c.symbols();
    if (c.node().has("split") || c.node().has_input(1)) {
        std::optional<std::vector<Extent>> sizes;
        if (const auto list = c.node().integers("split")) sizes.emplace(list->begin(), list->end());
        else sizes = c.content(1);
        if (!sizes) {
            sizes.emplace();
            for (std::size_t i = 0; i < parts; ++i) sizes->push_back(c.fresh_data());
        }
        if (sizes->size() != parts) c.fail("has " + std::to_string(parts) + " outputs for " + std::to_string(sizes->size()) + " sizes");
        Extent sum;
        for (const Extent& e : *sizes) sum = sum + e;
        if (sum.constant() && whole.constant() && sum != whole) c.fail("its sizes add up to " + s.to_text(sum) + ", the axis has " + s.to_text(whole));
        if (sum != whole) c.assume(s.to_text(sum) + " = " + s.to_text(whole));
        return *sizes;
    }
    const Extent n = static_cast<std::int64_t>(parts);
    if (s.modulo(whole, n) == Extent(0)) return std::vector<Extent>(parts, s.floor_div(whole, n));
    if (c.node().version < 18) {
        if (whole.constant()) c.fail("splits " + s.to_text(whole) + " into " + std::to_string(parts) + " equal parts");
        c.assume(s.to_text(whole) + " is a multiple of " + std::to_string(parts));
        return std::vector<Extent>(parts, s.floor_div(whole, n));
    }
    const Extent part = s.ceil_div(whole, n);
    std::vector<Extent> sizes(parts, part);
    sizes.back() = whole - part * Extent(static_cast<std::int64_t>(parts) - 1);
    return sizes;
}

}  // namespace

void shape_split(ShapeContext& c) {
    const std::size_t parts = c.node().outputs.size();
    for (std::size_t i = 0; i < parts; ++i) copy_type(c, 0, i);
    const Shape* in = c.shape(0);
    if (!in) return;
    if (c.node().integer("num_outputs", static_cast<std::int64_t>(parts)) != static_cast<std::int64_t>(parts)) c.fail("num_outputs is " + std::to_string(c.node().integer("num_outputs", 0)) + ", it has " + std::to_string(parts));
    const std::size_t axis = axis_of(c, c.node().integer("axis", 0), in->size());
    const auto sizes = split_sizes(c, (*in)[axis], parts);
    const auto content = in->size() == 1 ? c.content(0) : std::nullopt;
    std::size_t at = 0;
    bool follow = content.has_value();
    for (std::size_t i = 0; i < parts; ++i) {
        Shape out = *in;
        out[axis] = sizes[i];
        c.set_shape(i, std::move(out));
        const auto n = sizes[i].constant();
        follow = follow && n && *n >= 0 && at + static_cast<std::size_t>(*n) <= content->size();
        if (!follow) continue;
        const auto from = content->begin() + static_cast<std::ptrdiff_t>(at);
        c.set_content(i, {from, from + static_cast<std::ptrdiff_t>(*n)});
        at += static_cast<std::size_t>(*n);
    }
}

void shape_depth_to_space(ShapeContext& c) {
    copy_type(c);
    const Shape* in = c.shape(0);
    if (!in) return;
    const std::int64_t b = c.node().integer("blocksize", 0);
    if (in->size() != 4 || b < 1 || b > 65536) c.fail("needs rank 4 and a positive blocksize, has " + shape_text(c.symbols(), *in) + " and " + std::to_string(b));
    const bool up = c.node().op == Op::DepthToSpace;
    Symbols& s = c.symbols();
    const auto divided = [&](const Extent& e, std::int64_t by) {
        if (e.constant() && *e.constant() % by != 0) c.fail(s.to_text(e) + " is no multiple of " + std::to_string(by));
        return s.floor_div(e, by);
    };
    if (up) c.set_shape(0, {(*in)[0], divided((*in)[1], b * b), (*in)[2] * b, (*in)[3] * b});
    else c.set_shape(0, {(*in)[0], (*in)[1] * (b * b), divided((*in)[2], b), divided((*in)[3], b)});
}

void shape_space_to_depth(ShapeContext& c) { shape_depth_to_space(c); }

}  // namespace sfumato::fusion
