// SPDX-License-Identifier: Apache-2.0
// Shapes of element-wise operators, with and without broadcasting.
#include "fusion/rules.h"
#include "fusion/shape/rules.h"

namespace sfumato::fusion {

namespace {

void same_shape(ShapeContext& c, std::size_t output = 0) {
    if (const Shape* s = c.shape(0)) c.set_shape(output, *s);
}

/// Inputs of one element type; those whose type is not known are not asked.
void check_types(const ShapeContext& c, std::size_t first = 0) {
    ElemType seen = ElemType::undefined;
    for (std::size_t i = first; i < c.node().inputs.size(); ++i) {
        const Value* v = c.input(i);
        if (!v || v->type == ElemType::undefined) continue;
        if (seen == ElemType::undefined) seen = v->type;
        if (v->type != seen) c.fail("its inputs are of types " + std::string(name(seen)) + " and " + std::string(name(v->type)) + "; a Cast must stand between");
    }
}

void broadcast_all(ShapeContext& c) {
    std::optional<Shape> all;
    for (std::size_t i = 0; i < c.node().inputs.size(); ++i) {
        const Shape* s = c.shape(i);
        if (!s) return;
        all = all ? broadcast_shapes(c, *all, *s) : *s;
    }
    if (all) c.set_shape(0, std::move(*all));
}

void check_axis(const ShapeContext& c) {
    const Shape* s = c.shape(0);
    if (!s) return;
    switch (c.node().op) {
        case Op::Softmax:
        case Op::LogSoftmax:
        case Op::Hardmax: (void)axis_of(c, c.node().integer("axis", c.node().version < 13 ? 1 : -1), s->size()); break;
        case Op::LpNormalization: (void)axis_of(c, c.node().integer("axis", -1), s->size()); break;
        case Op::ScatterElements:
        case Op::Scatter: (void)axis_of(c, c.node().integer("axis", 0), s->size()); break;
        default: break;
    }
}

}  // namespace

void shape_same(ShapeContext& c) {
    const Op op = c.node().op;
    const bool random = op == Op::RandomNormalLike || op == Op::RandomUniformLike || op == Op::Bernoulli;
    if (random && c.node().has("dtype")) {
        const std::int64_t t = c.node().integer("dtype", 1);
        if (t < 1 || t >= kElemTypeCount) c.fail("dtype " + std::to_string(t) + " is no element type");
        c.set_type(0, static_cast<ElemType>(t));
    } else {
        copy_type(c);
    }
    check_axis(c);
    same_shape(c);
    content_unary(c);
}

void shape_predicate(ShapeContext& c) {
    c.set_type(0, ElemType::boolean);
    same_shape(c);
}

void shape_identity(ShapeContext& c) {
    const Value* in = c.input(0);
    c.set_kind(0, in->kind);
    copy_type(c);
    same_shape(c);
    if (auto content = c.content(0)) c.set_content(0, std::move(*content));
}

void shape_cast(ShapeContext& c) {
    ElemType to = ElemType::undefined;
    if (c.node().op == Op::CastLike) {
        to = c.input(1)->type;
    } else {
        const std::int64_t t = c.node().integer("to", 0);
        if (t < 1 || t >= kElemTypeCount) c.fail("its attribute to is " + std::to_string(t) + ", no element type that is supported (1 to 16)");
        to = static_cast<ElemType>(t);
    }
    c.set_type(0, to);
    same_shape(c);
    auto content = c.content(0);
    if (!content || to == ElemType::string || to == ElemType::undefined) return;
    if (to == ElemType::boolean)
        for (Extent& e : *content) {
            const Range r = c.symbols().range(e);
            if (!e.constant() && r.low <= 0 && r.high >= 0) return;
            e = e.constant() == 0 ? 0 : 1;
        }
    c.set_content(0, std::move(*content));
}

void shape_dropout(ShapeContext& c) {
    copy_type(c);
    same_shape(c);
    c.set_type(1, c.node().version < 10 ? c.input(0)->type : ElemType::boolean);
    same_shape(c, 1);
}

void shape_quantize(ShapeContext& c) {
    if (const Value* zero = c.input(2)) c.set_type(0, zero->type);
    else c.set_type(0, ElemType::u8);
    same_shape(c);
}

void shape_dequantize(ShapeContext& c) {
    copy_type(c, 1);
    same_shape(c);
}

void shape_broadcast(ShapeContext& c) {
    if (c.node().op != Op::Pow) check_types(c);
    copy_type(c);
    broadcast_all(c);
    content_binary(c);
}

void shape_compare(ShapeContext& c) {
    check_types(c);
    c.set_type(0, ElemType::boolean);
    broadcast_all(c);
    content_binary(c);
}

void shape_where(ShapeContext& c) {
    check_types(c, 1);
    copy_type(c, 1);
    broadcast_all(c);
    content_where(c);
}

}  // namespace sfumato::fusion
