// SPDX-License-Identifier: Apache-2.0
// Movement that moves nothing: results that are a stretch of their operand.
#include "fusion/plan/buffers.h"

namespace sfumato::fusion::plan {

namespace {

bool leading(const Shape& s, std::int64_t axis) {
    for (std::int64_t i = 0; i < axis; ++i)
        if (s[static_cast<std::size_t>(i)] != Extent(1)) return false;
    return true;
}

// bytes of one step along `axis`; empty when a step is no whole number of bytes
std::optional<Extent> row_bytes(const Value& v, std::int64_t axis) {
    if (info(v.type).bits % 8 != 0) return std::nullopt;
    Extent e = info(v.type).bits / 8;
    for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < v.shape->size(); ++i) e = e * (*v.shape)[i];
    return e;
}

std::optional<std::vector<Extent>> known(const Graph& g, const Node& n, std::size_t i) {
    if (!n.has_input(i)) return std::nullopt;
    const Value& v = g.value(n.inputs[i]);
    if (v.content) return v.content;
    if (!v.constant || !std::holds_alternative<std::vector<std::int64_t>>(v.constant->data)) return std::nullopt;
    return std::vector<Extent>(v.constant->ints().begin(), v.constant->ints().end());
}

// Operands of Slice by either form of the operator: attributes before opset 10, operands since.
std::optional<std::vector<Extent>> slice_operand(const Graph& g, const Node& n, std::size_t i, const char* attribute) {
    if (n.inputs.size() > 1) return known(g, n, i);
    const auto a = n.integers(attribute);
    return a ? std::optional(std::vector<Extent>(a->begin(), a->end())) : std::nullopt;
}

std::optional<View> slice(const Graph& g, const Node& n) {
    const Value& in = g.value(n.inputs[0]);
    const auto starts = slice_operand(g, n, 1, "starts");
    if (!starts || starts->size() != 1) return std::nullopt;  // one axis: the leading one
    std::int64_t axis = 0;
    if (n.inputs.size() > 1 ? n.has_input(3) : n.has("axes")) {
        const auto axes = slice_operand(g, n, 3, "axes");
        if (!axes || axes->size() != 1 || !(*axes)[0].constant()) return std::nullopt;
        axis = *(*axes)[0].constant();
    }
    if (n.has_input(4)) {
        const auto steps = known(g, n, 4);
        if (!steps || steps->size() != 1 || (*steps)[0] != Extent(1)) return std::nullopt;
    }
    const auto rank = static_cast<std::int64_t>(in.shape->size());
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank || !leading(*in.shape, axis)) return std::nullopt;
    const auto row = row_bytes(in, axis);
    if (!row) return std::nullopt;
    Symbols& s = g.symbols();
    const Extent dim = (*in.shape)[static_cast<std::size_t>(axis)];
    Extent start = (*starts)[0];
    if (const auto c = start.constant(); c && *c < 0)
        start = s.maximum(dim + start, 0);
    else if (s.range(start).low < 0)
        return std::nullopt;  // counted from the front or from the end: not known
    // a start behind the end leaves nothing of the value: the place of no bytes is of no matter, but stays inside
    return View{s.minimum(start, dim) * *row, false};
}

std::optional<View> split(const Graph& g, const Node& n, std::size_t index) {
    const Value& in = g.value(n.inputs[0]);
    const auto rank = static_cast<std::int64_t>(in.shape->size());
    std::int64_t axis = n.integer("axis", 0);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank || !leading(*in.shape, axis)) return std::nullopt;
    const auto row = row_bytes(in, axis);
    if (!row) return std::nullopt;
    Extent before;
    for (std::size_t i = 0; i < index; ++i) {
        if (n.outputs[i] == kNone || !g.value(n.outputs[i]).shape) return std::nullopt;
        before = before + (*g.value(n.outputs[i]).shape)[static_cast<std::size_t>(axis)];
    }
    return View{before * *row, false};
}

std::optional<View> gather_one(const Graph& g, const Node& n) {
    const Value& in = g.value(n.inputs[0]);
    const auto rank = static_cast<std::int64_t>(in.shape->size());
    std::int64_t axis = n.integer("axis", 0);
    if (axis < 0) axis += rank;
    const auto index = known(g, n, 1);
    if (axis < 0 || axis >= rank || !leading(*in.shape, axis) || !index || index->size() != 1) return std::nullopt;
    const auto row = row_bytes(in, axis);
    const auto at = (*index)[0].constant();
    if (!row || !at) return std::nullopt;
    Extent start = *at;
    if (*at < 0) start = (*in.shape)[static_cast<std::size_t>(axis)] + start;
    if (g.symbols().range(start).low < 0) return std::nullopt;
    return View{start * *row, false};
}

}  // namespace

std::optional<View> view_of(const Graph& g, NodeId id, std::size_t index) {
    const Node& n = g.node(id);
    if (!n.has_input(0) || index >= n.outputs.size() || n.outputs[index] == kNone) return std::nullopt;
    const Value &in = g.value(n.inputs[0]), &out = g.value(n.outputs[index]);
    if (in.kind != ValueKind::tensor || out.kind != ValueKind::tensor || !in.shape || !out.shape || in.type != out.type) return std::nullopt;
    if (in.type == ElemType::string || in.type == ElemType::undefined) return std::nullopt;
    switch (n.op) {
        case Op::Reshape:
        case Op::Flatten:
        case Op::Squeeze:
        case Op::Unsqueeze:
        case Op::Identity:
            return View{};
        case Op::Dropout:  // without a mask and without a training flag it hands its operand on
            if (index == 0 && !n.has_input(2) && (n.outputs.size() < 2 || n.outputs[1] == kNone)) return View{};
            return std::nullopt;
        case Op::Slice:
            return slice(g, n);
        case Op::Split:
            return split(g, n, index);
        case Op::Gather:
            return gather_one(g, n);
        default:
            return std::nullopt;
    }
}

}  // namespace sfumato::fusion::plan
