// SPDX-License-Identifier: Apache-2.0
// Folding of what is known before a run: constants through the interpreter, and shape arithmetic through followed contents.
#include <algorithm>
#include <map>

#include "fusion/interpreter.h"
#include "fusion/passes/canonical.h"
#include "fusion/passes/rewrite.h"
#include "fusion/shape.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion::canonical {

namespace {

constexpr std::int64_t kMostFolded = std::int64_t{1} << 22;  // elements that a folded constant may have beyond its inputs'

bool random_or_control(Op op) {
    switch (op) {
        case Op::Bernoulli: case Op::Multinomial: case Op::RandomNormal: case Op::RandomNormalLike: case Op::RandomUniform: case Op::RandomUniformLike:
        case Op::If: case Op::Loop: case Op::Scan: case Op::SequenceMap: case Op::FusionGroup: return true;
        default: return false;
    }
}

bool foldable(const Graph& g, const Node& n) {
    if (random_or_control(n.op)) return false;
    std::int64_t input_size = 0;
    for (const ValueId v : n.inputs) {
        if (v == kNone) continue;
        if (!g.value(v).constant) return false;
        input_size = std::max(input_size, g.value(v).constant->size());
    }
    for (const ValueId v : n.outputs) {
        if (v == kNone) continue;
        const Value& value = g.value(v);
        if (value.kind != ValueKind::tensor) return false;
        if (!value.shape) continue;
        Extent size = 1;
        for (const Extent& e : *value.shape) size = size * e;
        if (const auto c = size.constant(); c && *c > std::max(input_size, kMostFolded)) return false;
    }
    return true;
}

void turn_into_constant(Graph& g, ValueId v, TensorPtr t) {
    // the value keeps its name: it becomes a constant itself
    Value& value = g.value(v);
    value.type = t->type;
    value.shape = Shape(t->dims.begin(), t->dims.end());
    value.constant = std::move(t);
}

std::vector<TensorPtr> evaluate_alone(const Graph& g, const Node& n) {
    if (n.op == Op::Constant)
        if (const auto it = n.attributes.find("value"); it != n.attributes.end())
            if (const auto* t = std::get_if<TensorPtr>(&it->second)) return {*t};
    Graph small(g.shared_symbols());
    Node copy = n;
    copy.inputs.clear();
    copy.outputs.clear();
    std::map<ValueId, ValueId> local;
    for (const ValueId v : n.inputs) {
        if (v == kNone) {
            copy.inputs.push_back(kNone);
            continue;
        }
        if (!local.count(v)) local[v] = small.add_constant(*g.value(v).constant);
        copy.inputs.push_back(local[v]);
    }
    std::vector<ValueId> outputs;
    for (const ValueId v : n.outputs) {
        Value value;
        if (v != kNone) value.type = g.value(v).type;
        copy.outputs.push_back(v == kNone ? kNone : small.add_value(value));
        if (v != kNone) outputs.push_back(copy.outputs.back());
    }
    small.add_node(std::move(copy));
    small.set_outputs(outputs);
    std::vector<TensorPtr> out;
    for (const Datum& d : evaluate(small, {})) {
        const auto* t = std::get_if<TensorPtr>(&d);
        if (!t) return {};
        out.push_back(*t);
    }
    return out;
}

}  // namespace

void infer_dynamic_shapes(PassContext& c) {
    const int unranked = infer_shapes(c.graph);
    c.record.matched = static_cast<int>(c.graph.node_count());
    c.record.effective = c.record.matched;
    if (unranked) c.refuse(kNone, Reason::unknown_rank, std::to_string(unranked) + " values have no rank");
}

void fold_constants(PassContext& c) {
    Graph& g = c.graph;
    for (const NodeId id : g.order()) {
        const Node& n = g.node(id);
        if (!foldable(g, n)) continue;
        ++c.record.matched;
        std::vector<TensorPtr> results;
        try {
            results = evaluate_alone(g, n);
        } catch (const isa::InputError& e) {  // it stays, and says the same when the graph runs
            c.refuse(id, Reason::op_version, e.what());
            continue;
        }
        std::vector<ValueId> outputs;
        for (const ValueId v : n.outputs)
            if (v != kNone) outputs.push_back(v);
        if (results.size() != outputs.size()) continue;
        g.detach(id);
        for (std::size_t i = 0; i < outputs.size(); ++i) turn_into_constant(g, outputs[i], results[i]);
        ++c.record.effective;
    }
}

namespace {

// Shape operands whose content is known up to symbols: a Reshape's target becomes 0s and -1s, an Expand's 1s, a Slice's end the last index.
std::optional<std::vector<std::int64_t>> target_of_expand(const Graph& g, const Node& n) {
    const auto to = content(g, n.inputs[1]);
    const auto& from = g.value(n.inputs[0]).shape;
    if (!to || !from) return std::nullopt;
    std::vector<std::int64_t> target;
    for (std::size_t i = 0; i < to->size(); ++i) {
        if (const auto k = (*to)[i].constant()) {
            target.push_back(*k);
            continue;
        }
        const std::size_t missing = to->size() - std::min(to->size(), from->size());
        if (from->size() > to->size() || i < missing || !((*from)[i - missing] == (*to)[i])) return std::nullopt;
        target.push_back(1);  // gives way to the dimension that is there
    }
    return target;
}

std::optional<std::vector<std::int64_t>> ends_of_slice(const Graph& g, const Node& n) {
    if (n.inputs.size() < 3 || !n.has_input(2)) return std::nullopt;
    const auto ends = content(g, n.inputs[2]);
    const auto& from = g.value(n.inputs[0]).shape;
    const auto starts = integers(g, n.inputs[1]);
    if (!ends || !from || !starts || starts->size() != ends->size()) return std::nullopt;
    std::vector<std::int64_t> axes(ends->size()), steps(ends->size(), 1);
    for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
    if (n.has_input(3)) {
        const auto a = integers(g, n.inputs[3]);
        if (!a || a->size() != axes.size()) return std::nullopt;
        axes = *a;
    }
    if (n.has_input(4)) {
        const auto s = integers(g, n.inputs[4]);
        if (!s || s->size() != axes.size()) return std::nullopt;
        steps = *s;
    }
    std::vector<std::int64_t> out;
    for (std::size_t i = 0; i < ends->size(); ++i) {
        const auto axis = static_cast<std::size_t>(from_front(axes[i], static_cast<int>(from->size())));
        if (const auto k = (*ends)[i].constant()) out.push_back(*k);
        else if (axis < from->size() && (*from)[axis] == (*ends)[i] && steps[i] > 0 && (*starts)[i] >= 0) out.push_back(INT64_MAX);
        else return std::nullopt;
    }
    return out;
}

bool make_static(Graph& g, NodeId id) {
    Node& n = g.node(id);
    std::size_t slot = 1;
    std::optional<std::vector<std::int64_t>> known;
    if (n.op == Op::Reshape) {
        const auto &from = g.value(n.inputs[0]).shape, &to = g.value(n.outputs[0]).shape;
        if (g.value(n.inputs[1]).constant || !content(g, n.inputs[1]) || !from || !to) return false;
        known = static_target(*from, *to);
        if (known) n.attributes.erase("allowzero");
    } else if (n.op == Op::Expand && !g.value(n.inputs[1]).constant) {
        known = target_of_expand(g, n);
    } else if (n.op == Op::Slice && n.has_input(2) && !g.value(n.inputs[2]).constant) {
        slot = 2;
        known = ends_of_slice(g, n);
    }
    if (!known) return false;
    const auto rank = static_cast<std::int64_t>(known->size());
    const std::string stem = n.name + "/target";
    g.set_input(id, slot, g.add_constant(int_tensor(std::move(*known), {rank}), stem));
    return true;
}

}  // namespace

void fold_symbols(PassContext& c) {
    Graph& g = c.graph;
    std::map<std::pair<std::pair<ElemType, int>, std::vector<Extent>>, ValueId> first;
    for (const NodeId id : g.order()) {
        if (g.node(id).dead) continue;
        if (make_static(g, id)) {
            ++c.record.matched;
            ++c.record.effective;
        }
        const Node& n = g.node(id);
        if (n.outputs.size() != 1 || n.outputs[0] == kNone || random_or_control(n.op)) continue;
        const ValueId out = n.outputs[0];
        const Value& v = g.value(out);
        if (!v.content || v.constant || !v.shape || v.outputs > 0 || !is_integer(v.type)) continue;
        if (v.users.empty()) continue;
        ++c.record.matched;
        if (auto known = integers(g, out)) {
            const bool is_scalar = v.shape->empty();
            const auto size = static_cast<std::int64_t>(known->size());
            const ElemType type = v.type;
            Tensor t = int_tensor(std::move(*known), is_scalar ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{size}, type);
            g.detach(id);
            turn_into_constant(g, out, std::make_shared<const Tensor>(std::move(t)));
            ++c.record.effective;
            continue;
        }
        // the same sizes computed twice: all read the first
        const auto [it, is_new] = first.emplace(std::pair{std::pair{v.type, static_cast<int>(v.shape->size())}, *v.content}, out);
        if (is_new) continue;
        g.replace_uses(out, it->second);
        ++c.record.effective;
    }
    g.remove_unused();
}

}  // namespace sfumato::fusion::canonical
