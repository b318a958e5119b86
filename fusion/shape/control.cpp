// SPDX-License-Identifier: Apache-2.0
// Operators with graphs inside: what the inner graph sees is set from outside, it is inferred, and its results come back.
#include <algorithm>

#include "fusion/rules.h"
#include "fusion/shape/rules.h"

namespace sfumato::fusion {

namespace {

constexpr int kDeepestTrial = 3;  // loops deeper inside are taken to change every carried extent: no trial run for each level around

void describe(Value& inner, const Value& outer) {
    inner.kind = outer.kind;
    inner.type = outer.type;
    inner.shape = outer.shape;
    inner.content = outer.content;
}

void bind_captures(const ShapeContext& c, Graph& g) {
    for (const auto& [key, local] : g.captured) {
        const auto& all = c.node().captures;
        const auto it = std::find_if(all.begin(), all.end(), [&](const auto& entry) { return entry.first == key; });
        if (it == all.end()) c.fail("its graph " + g.name + " reads " + key + ", which the node does not capture");
        const Value& outer = c.graph.value(it->second);
        describe(g.value(local), outer);
        if (!outer.content)
            if (const auto* t = outer.constant.get()) g.value(local).content = tensor_content(*t);
    }
}

GraphPtr subgraph(const ShapeContext& c, const char* attribute) {
    const auto it = c.node().attributes.find(attribute);
    if (it == c.node().attributes.end()) c.fail("has no " + std::string(attribute));
    const auto* g = std::get_if<GraphPtr>(&it->second);
    if (!g) c.fail("its attribute " + std::string(attribute) + " is no graph");
    return *g;
}

/// Extents that are the same on both ways stay, others are any size.
std::optional<Shape> joined(const ShapeContext& c, const std::optional<Shape>& a, const std::optional<Shape>& b) {
    if (!a || !b || a->size() != b->size()) return std::nullopt;
    Shape out = *a;
    for (std::size_t i = 0; i < out.size(); ++i)
        if (out[i] != (*b)[i]) out[i] = c.fresh_data();
    return out;
}

void set_output(ShapeContext& c, std::size_t i, ValueKind kind, ElemType type, const std::optional<Shape>& shape) {
    c.set_kind(i, kind);
    c.set_type(i, type);
    if (shape) c.set_shape(i, *shape);
}

}  // namespace

void shape_if(ShapeContext& c) {
    const GraphPtr yes = subgraph(c, "then_branch"), no = subgraph(c, "else_branch");
    const std::size_t count = c.node().outputs.size();
    for (const GraphPtr& g : {yes, no}) {
        if (!g->inputs.empty()) c.fail("its branch " + g->name + " has inputs of its own; branches read outer values by name");
        if (g->outputs().size() < count) c.fail("its branch " + g->name + " has " + std::to_string(g->outputs().size()) + " outputs for " + std::to_string(count));
        bind_captures(c, *g);
        c.learned = infer_graph(*g, c.depth + 1).learned || c.learned;
    }
    const auto condition = c.content(0);
    const auto decided = condition && condition->size() == 1 ? (*condition)[0].constant() : std::nullopt;
    for (std::size_t i = 0; i < count; ++i) {
        const Value &a = yes->value(yes->outputs()[i]), &b = no->value(no->outputs()[i]);
        if (a.type != b.type && a.type != ElemType::undefined && b.type != ElemType::undefined)
            c.fail("its branches give output " + std::to_string(i) + " the types " + std::string(name(a.type)) + " and " + std::string(name(b.type)));
        const Value& one = decided == 0 ? b : a;
        set_output(c, i, one.kind, one.type == ElemType::undefined ? b.type : one.type, decided ? one.shape : joined(c, a.shape, b.shape));
        const auto &p = a.content, &q = b.content;
        if (decided && one.content) c.set_content(i, *one.content);
        else if (!decided && p && q && *p == *q) c.set_content(i, *p);
    }
}

namespace {

/// Sets the body's carried inputs: extents that every iteration hands on unchanged are those of the initial values, others any size.
void bind_carried(const ShapeContext& c, Graph& body, std::size_t carried) {
    std::vector<std::optional<Shape>> shapes(carried);
    for (std::size_t i = 0; i < carried; ++i) {
        const Value* initial = c.input(i + 2);
        Value& inner = body.value(body.inputs[i + 2]);
        if (!initial) continue;
        inner.kind = initial->kind;
        inner.type = initial->type;
        inner.content.reset();
        if (initial->shape) shapes[i] = unknown_shape(c, initial->shape->size());
        inner.shape = shapes[i];
    }
    if (c.depth >= kDeepestTrial) return;
    Graph trial = body.clone();
    infer_graph(trial, c.depth + 1);
    for (std::size_t i = 0; i < carried; ++i) {
        const auto& out = trial.value(trial.outputs()[i + 1]).shape;
        if (!shapes[i]) continue;
        auto& inner = body.value(body.inputs[i + 2]).shape;
        if (!out || out->size() != shapes[i]->size()) {
            inner.reset();
            continue;
        }
        for (std::size_t d = 0; d < out->size(); ++d)
            if ((*out)[d] == (*shapes[i])[d]) (*inner)[d] = (*c.input(i + 2)->shape)[d];
    }
}

/// The number of iterations, where a limit is known and the body never ends early.
Extent trips(const ShapeContext& c, const Graph& body) {
    const auto limit = c.content(0);
    const ValueId go = body.outputs()[0];
    const Value& v = body.value(go);
    const auto last = v.constant ? tensor_content(*v.constant) : v.content;
    bool always = last && last->size() == 1 && (*last)[0].constant().value_or(0) != 0;
    ValueId source = go;
    while (body.value(source).producer != kNone && body.node(body.value(source).producer).op == Op::Identity) source = body.node(body.value(source).producer).inputs[0];
    always = always || source == body.inputs[1];
    const auto first = c.content(1);
    const bool begins = !c.node().has_input(1) || (first && first->size() == 1 && (*first)[0].constant().value_or(0) != 0);
    if (!limit || limit->size() != 1 || !always || !begins || (*limit)[0].constant().value_or(0) < 0) return c.fresh_data();
    return (*limit)[0];
}

}  // namespace

void shape_loop(ShapeContext& c) {
    const GraphPtr body = subgraph(c, "body");
    const std::size_t carried = c.node().inputs.size() > 2 ? c.node().inputs.size() - 2 : 0, outputs = c.node().outputs.size();
    if (body->inputs.size() != carried + 2) c.fail("its body takes " + std::to_string(body->inputs.size()) + " inputs, " + std::to_string(carried + 2) + " are handed in");
    if (body->outputs().size() < outputs + 1 || body->outputs().size() < carried + 1)
        c.fail("its body gives " + std::to_string(body->outputs().size()) + " outputs, " + std::to_string(std::max(outputs, carried) + 1) + " are needed");
    Value &iteration = body->value(body->inputs[0]), &condition = body->value(body->inputs[1]);
    iteration.type = ElemType::i64;
    iteration.shape = Shape{};
    condition.type = ElemType::boolean;
    condition.shape = Shape{};
    bind_captures(c, *body);
    bind_carried(c, *body, carried);
    c.learned = infer_graph(*body, c.depth + 1).learned || c.learned;
    const Extent count = trips(c, *body);
    for (std::size_t i = 0; i < outputs; ++i) {
        const Value& v = body->value(body->outputs()[i + 1]);
        if (i < carried) {
            const Value* initial = c.input(i + 2);
            const auto out = initial ? joined(c, v.shape, initial->shape) : v.shape;
            set_output(c, i, v.kind, v.type, out);
            continue;
        }
        std::optional<Shape> stacked = v.shape;
        if (stacked) stacked->insert(stacked->begin(), count);
        set_output(c, i, ValueKind::tensor, v.type, stacked);
    }
}

namespace {

struct ScanForm {
    std::size_t first = 0, states = 0, scans = 0;
    bool batched = false;  ///< opset 8: a batch dimension in front of everything
};

std::vector<std::int64_t> scan_axes(const ShapeContext& c, const char* attribute, std::size_t count) {
    auto axes = c.node().integers(attribute).value_or(std::vector<std::int64_t>(count, 0));
    if (axes.size() != count) c.fail("its " + std::string(attribute) + " has " + std::to_string(axes.size()) + " entries for " + std::to_string(count));
    return axes;
}

ScanForm scan_form(const ShapeContext& c, const Graph& body) {
    ScanForm f;
    f.batched = c.node().version < 9;
    f.first = f.batched ? 1 : 0;
    const std::int64_t scans = c.node().integer("num_scan_inputs", 0);
    const auto given = static_cast<std::int64_t>(c.node().inputs.size() - f.first);
    if (scans < 1 || scans > given) c.fail("num_scan_inputs is " + std::to_string(scans) + " of " + std::to_string(given) + " inputs");
    f.scans = static_cast<std::size_t>(scans);
    f.states = static_cast<std::size_t>(given - scans);
    if (body.inputs.size() != f.states + f.scans) c.fail("its body takes " + std::to_string(body.inputs.size()) + " inputs, " + std::to_string(f.states + f.scans) + " are handed in");
    if (body.outputs().size() < c.node().outputs.size() || body.outputs().size() < f.states) c.fail("its body gives " + std::to_string(body.outputs().size()) + " outputs, too few");
    return f;
}

}  // namespace

void shape_scan(ShapeContext& c) {
    const GraphPtr body = subgraph(c, "body");
    const ScanForm f = scan_form(c, *body);
    const auto axes = scan_axes(c, "scan_input_axes", f.scans), out_axes = scan_axes(c, "scan_output_axes", c.node().outputs.size() > f.states ? c.node().outputs.size() - f.states : 0);
    std::optional<Extent> steps, batch;
    bind_captures(c, *body);
    for (std::size_t i = 0; i < body->inputs.size(); ++i) {
        const Value* outer = c.input(f.first + i);
        if (!outer) c.fail("its input " + std::to_string(f.first + i) + " is left out, the operator needs it");
        Value& inner = body->value(body->inputs[i]);
        inner.type = outer->type;
        inner.content.reset();
        inner.shape = outer->shape;
        if (!inner.shape) continue;
        const auto take = [&](std::size_t axis) {
            const Extent e = (*inner.shape)[axis];
            inner.shape->erase(inner.shape->begin() + static_cast<std::ptrdiff_t>(axis));
            return e;
        };
        if (f.batched) batch = take(axis_of(c, 0, inner.shape->size()));
        if (i < f.states) continue;
        const Extent n = take(axis_of(c, axes[i - f.states], inner.shape->size()));
        if (steps) unify(c, *steps, n, "lengths of the scanned inputs");
        else steps = n;
    }
    c.learned = infer_graph(*body, c.depth + 1).learned || c.learned;
    if (!steps) steps = c.fresh_data();
    for (std::size_t i = 0; i < c.node().outputs.size(); ++i) {
        const Value& v = body->value(body->outputs()[i]);
        std::optional<Shape> shape = v.shape;
        if (shape && i >= f.states) shape->insert(shape->begin() + static_cast<std::ptrdiff_t>(axis_of(c, out_axes[i - f.states], shape->size(), true)), *steps);
        if (shape && f.batched) shape->insert(shape->begin(), batch.value_or(Extent(1)));
        set_output(c, i, ValueKind::tensor, v.type, shape);
    }
}

void shape_body(ShapeContext& c) {
    const GraphPtr body = c.node().body;
    if (!body || body->inputs.size() != c.node().inputs.size() || body->outputs().size() != c.node().outputs.size()) c.fail("has no body that fits");
    for (std::size_t i = 0; i < body->inputs.size(); ++i)
        if (const Value* v = c.input(i)) describe(body->value(body->inputs[i]), *v);
    c.learned = infer_graph(*body, c.depth).learned || c.learned;
    for (std::size_t i = 0; i < c.node().outputs.size(); ++i) {
        const Value& v = body->value(body->outputs()[i]);
        set_output(c, i, v.kind, v.type, v.shape);
        if (v.content) c.set_content(i, *v.content);
    }
}

void shape_recurrent(ShapeContext& c) {
    for (std::size_t i = 0; i < 3; ++i) copy_type(c, 0, i);
    const Shape *x = c.shape(0), *r = c.shape(2);
    if (!x || x->size() != 3) {
        if (x) c.fail("its input " + shape_text(c.symbols(), *x) + " must have rank 3");
        return;
    }
    const bool batch_first = c.node().integer("layout", 0) != 0;
    const Extent steps = (*x)[batch_first ? 1 : 0], batch = (*x)[batch_first ? 0 : 1];
    const Extent directions = c.node().text("direction", "forward") == "bidirectional" ? 2 : 1;
    Extent hidden = c.node().integer("hidden_size", 0);
    if (r && r->size() == 3) {
        if (c.node().has("hidden_size")) unify(c, hidden, (*r)[2], "hidden_size and the recurrent weights");
        hidden = (*r)[2];
    }
    if (hidden == Extent(0)) hidden = c.symbols().fresh("unk");
    c.set_shape(0, batch_first ? Shape{batch, steps, directions, hidden} : Shape{steps, directions, batch, hidden});
    for (const std::size_t state : {1, 2}) c.set_shape(state, batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden});
}

}  // namespace sfumato::fusion
