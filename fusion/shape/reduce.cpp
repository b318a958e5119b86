// SPDX-License-Identifier: Apache-2.0
// Shapes of reductions and normalisations.
#include <algorithm>

#include "fusion/rules.h"
#include "fusion/shape/rules.h"

namespace sfumato::fusion {

namespace {

Shape reduced(const Shape& in, const std::vector<std::size_t>& axes, bool keep) {
    Shape out;
    for (std::size_t i = 0; i < in.size(); ++i) {
        const bool gone = std::find(axes.begin(), axes.end(), i) != axes.end();
        if (!gone) out.push_back(in[i]);
        else if (keep) out.emplace_back(1);
    }
    return out;
}

std::optional<std::int64_t> length_of(const ShapeContext& c, std::size_t input) {
    const Shape* s = c.shape(input);
    return s && s->size() == 1 ? (*s)[0].constant() : std::nullopt;
}

}  // namespace

void shape_reduce(ShapeContext& c) {
    copy_type(c);
    const Shape* in = c.shape(0);
    if (!in) return;
    const bool keep = c.node().integer("keepdims", 1) != 0;
    const IntList axes = int_list(c, "axes", 1);
    const bool all = !axes.present || (axes.values && axes.values->empty());
    if (all && c.node().integer("noop_with_empty_axes", 0) != 0) {
        if (auto content = c.content(0)) c.set_content(0, std::move(*content));
        return c.set_shape(0, *in);
    }
    if (!all && !axes.values) {  // the axes are computed
        const auto count = length_of(c, 1);
        if (keep) return c.set_shape(0, unknown_shape(c, in->size()));
        if (count && *count >= 0 && *count <= static_cast<std::int64_t>(in->size())) c.set_shape(0, unknown_shape(c, in->size() - static_cast<std::size_t>(*count)));
        return;
    }
    std::vector<std::size_t> list;
    if (!all) list = axes_of(c, *axes.values, in->size());
    for (std::size_t i = 0; all && i < in->size(); ++i) list.push_back(i);
    c.set_shape(0, reduced(*in, list, keep));
    if (in->size() == 1 && list.size() == 1) content_reduce(c);
}

void shape_arg_reduce(ShapeContext& c) {
    c.set_type(0, ElemType::i64);
    const Shape* in = c.shape(0);
    if (!in) return;
    c.set_shape(0, reduced(*in, {axis_of(c, c.node().integer("axis", 0), in->size())}, c.node().integer("keepdims", 1) != 0));
}

void shape_layer_norm(ShapeContext& c) {
    copy_type(c);
    for (const std::size_t statistic : {1, 2}) c.set_type(statistic, ElemType::f32);
    const Shape* in = c.shape(0);
    if (!in) return;
    c.set_shape(0, *in);
    const std::size_t axis = axis_of(c, c.node().integer("axis", -1), in->size());
    for (const std::size_t parameter : {1, 2})
        if (const Shape* s = c.shape(parameter))
            if (broadcast_shapes(c, *in, *s).size() != in->size()) c.fail("scale or bias of shape " + shape_text(c.symbols(), *s) + " does not broadcast to " + shape_text(c.symbols(), *in));
    Shape statistics = *in;
    for (std::size_t i = axis; i < statistics.size(); ++i) statistics[i] = 1;
    c.set_shape(1, statistics);
    c.set_shape(2, statistics);
}

void shape_batch_norm(ShapeContext& c) {
    copy_type(c);
    for (std::size_t i = 1; i < 5; ++i) copy_type(c, std::min<std::size_t>(i + 2, 4), i);
    const Shape* in = c.shape(0);
    if (!in) return;
    c.set_shape(0, *in);
    const Extent channels = in->size() > 1 ? (*in)[1] : Extent(1);
    for (std::size_t i = 1; i < 5; ++i)
        if (const Shape* s = c.shape(i)) {
            if (s->size() == 1) unify(c, (*s)[0], channels, "channels of the input and of a parameter");
            c.set_shape(i, *s);
        }
}

void shape_global_pool(ShapeContext& c) {
    copy_type(c);
    const Shape* in = c.shape(0);
    if (!in) return;
    if (in->size() < 2) c.fail("its input " + shape_text(c.symbols(), *in) + " has no spatial dimensions; rank 3 or more is needed");
    Shape out = *in;
    for (std::size_t i = 2; i < out.size(); ++i) out[i] = 1;
    c.set_shape(0, std::move(out));
}

void shape_loss(ShapeContext& c) {
    copy_type(c);
    copy_type(c, 0, 1);
    if (c.node().text("reduction", "mean") != "none") c.set_shape(0, {});
    else if (const Shape* target = c.shape(1)) c.set_shape(0, *target);
    if (const Shape* scores = c.shape(0)) c.set_shape(1, *scores);
}

void shape_dynamic_quantize(ShapeContext& c) {
    c.set_type(0, ElemType::u8);
    c.set_type(1, ElemType::f32);
    c.set_type(2, ElemType::u8);
    if (const Shape* in = c.shape(0)) c.set_shape(0, *in);
    c.set_shape(1, {});
    c.set_shape(2, {});
}

}  // namespace sfumato::fusion
