// SPDX-License-Identifier: Apache-2.0
// Composition of index maps: Transpose of Transpose, Reshape of Reshape, flattening moved behind linear layers, Slices of one value as a Split.
#include <algorithm>
#include <map>

#include "fusion/passes/canonical.h"
#include "fusion/passes/rewrite.h"
#include "fusion/shape.h"

namespace sfumato::fusion::canonical {

namespace {
bool reshaping(Op op) { return op == Op::Reshape || op == Op::Flatten || op == Op::Squeeze || op == Op::Unsqueeze; }
bool identity(const std::vector<std::int64_t>& perm) {
    for (std::size_t i = 0; i < perm.size(); ++i)
        if (perm[i] != static_cast<std::int64_t>(i)) return false;
    return true;
}
void drop_if_unused(Graph& g, NodeId id) {
    if (id == kNone || g.node(id).dead) return;
    for (const ValueId v : g.node(id).outputs)
        if (v != kNone && (!g.value(v).users.empty() || g.value(v).outputs > 0)) return;
    g.remove_node(id);
}
}  // namespace

void compose_transposes(PassContext& c) {
    Graph& g = c.graph;
    for (const NodeId id : g.order()) {
        if (g.node(id).dead || g.node(id).op != Op::Transpose) continue;
        const ValueId in = g.node(id).inputs[0];
        const int r = rank(g.value(in));
        if (r < 0) continue;
        auto perm = permutation(g.node(id), r);
        if (static_cast<int>(perm.size()) != r) continue;
        if (const Node* before = producer_of(g, in, Op::Transpose)) {
            const auto inner = permutation(*before, r);
            for (auto& p : perm) p = inner[static_cast<std::size_t>(p)];
            const NodeId old = g.value(in).producer;
            const ValueId from = before->inputs[0];
            g.node(id).attributes["perm"] = perm;
            g.set_input(id, 0, from);
            drop_if_unused(g, old);
            ++c.record.matched;
            ++c.record.effective;
        }
        if (!identity(perm)) continue;
        ++c.record.matched;
        if (bypass(g, id, g.node(id).inputs[0])) ++c.record.effective;
    }
}

void compose_reshapes(PassContext& c) {
    Graph& g = c.graph;
    for (const NodeId id : g.order()) {
        if (g.node(id).dead || !reshaping(g.node(id).op)) continue;
        const ValueId in = g.node(id).inputs[0], out = g.node(id).outputs[0];
        const auto &from = g.value(in).shape, &to = g.value(out).shape;
        if (!from || !to) continue;
        if (*from == *to) {
            ++c.record.matched;
            if (bypass(g, id, in)) ++c.record.effective;
            continue;
        }
        const Node* before = producer(g, in);
        if (!before || !reshaping(before->op)) continue;
        const ValueId source = before->inputs[0];
        const auto& origin = g.value(source).shape;
        if (!origin) continue;
        ++c.record.matched;
        const NodeId old = g.value(in).producer;
        if (*origin == *to) {
            if (!bypass(g, id, source)) continue;
            drop_if_unused(g, old);
            ++c.record.effective;
            continue;
        }
        const auto target = static_target(*origin, *to);
        if (!target) {
            c.refuse(id, Reason::symbol_relation_unproved, "Reshape " + shape_text(g, g.value(source)) + " -> " + shape_text(g, g.value(in)) + " -> " + shape_text(g, g.value(out)) + " needs sizes of the run", 1);
            continue;
        }
        const int version = std::max(g.node(id).version, 5);
        const ValueId shape = g.add_constant(int_tensor(*target, {static_cast<std::int64_t>(target->size())}), g.node(id).name + "/target");
        replace_node(g, id, Op::Reshape, {source, shape}, {}, version);
        drop_if_unused(g, old);
        ++c.record.effective;
    }
}

namespace {

// [..., K] -> [M, K] with the last dimension kept: what exporters put in front of a two-dimensional linear layer.
ValueId unflattened(const Graph& g, ValueId v) {
    const Node* n = producer(g, v);
    if (!n || !reshaping(n->op)) return kNone;
    const auto &from = g.value(n->inputs[0]).shape, &to = g.value(v).shape;
    if (!from || !to || to->size() != 2 || from->size() < 3 || !(from->back() == to->back())) return kNone;
    return n->inputs[0];
}

struct Linear {
    ValueId weight = kNone, bias = kNone;
    bool valid = false;
};

// x * W (+ bias) as a MatMul with a two-dimensional fixed weight.
Linear linear(Graph& g, const Node& n) {
    Linear l;
    if (n.op == Op::MatMul) {
        l.weight = n.inputs[1];
        l.valid = settled(g, l.weight) && rank(g.value(l.weight)) == 2;
        return l;
    }
    if (n.op != Op::Gemm || n.real("alpha", 1) != 1 || n.real("beta", 1) != 1 || n.integer("transA", 0) != 0) return l;
    l.weight = n.inputs[1];
    l.bias = n.has_input(2) ? n.inputs[2] : kNone;
    if (!settled(g, l.weight) || rank(g.value(l.weight)) != 2) return l;
    if (l.bias != kNone) {
        const auto& b = g.value(l.bias).shape;
        if (!b || b->size() > 2 || (b->size() == 2 && !((*b)[0] == Extent(1)))) return l;
    }
    l.valid = true;
    return l;
}

Shape with_last(const Shape& lead, const Extent& last) {
    Shape s = lead;
    s.back() = last;
    return s;
}

// op(flatten(x)) becomes flatten(op(x)); the flattening then meets the Reshape behind it.
bool sink(PassContext& c, NodeId id) {
    Graph& g = c.graph;
    const Node n = g.node(id);
    const bool add = n.op == Op::Add;
    std::size_t slot = 0;
    if (add) {
        slot = fixed(g.value(n.inputs[0])) ? 1 : 0;
        const Value& other = g.value(n.inputs[1 - slot]);
        if (!fixed(other) || rank(other) != 1) return false;
    }
    const ValueId source = unflattened(g, n.inputs[slot]);
    if (source == kNone) return false;
    const Linear l = add ? Linear{} : linear(g, n);
    if (!add && !l.valid) return false;
    const auto& result = g.value(n.outputs[0]).shape;
    if (!result || result->size() != 2) return false;
    const Shape wide = with_last(*g.value(source).shape, result->back());
    const auto target = static_target(wide, *result);
    ++c.record.matched;
    if (!target) {
        c.refuse(id, Reason::symbol_relation_unproved, "the flattened size of " + shape_text(g, g.value(source)) + " needs sizes of the run", 1);
        return false;
    }
    const int version = std::max(n.version, 7);
    ValueId out = kNone;
    if (add) {
        std::vector<ValueId> operands = n.inputs;
        operands[slot] = source;
        out = insert_node(g, n, Op::Add, operands, {}, version);
    } else {
        ValueId weight = l.weight;
        if (n.op == Op::Gemm && n.integer("transB", 0) != 0) weight = insert_node(g, n, Op::Transpose, {weight}, {{"perm", std::vector<std::int64_t>{1, 0}}}, version);
        out = insert_node(g, n, Op::MatMul, {source, weight}, {}, version);
        if (l.bias != kNone) {
            ValueId bias = l.bias;
            if (rank(g.value(bias)) == 2) {
                const ValueId flat = g.add_constant(int_tensor({-1}, {1}), n.name + "/target");
                bias = insert_node(g, n, Op::Reshape, {bias, flat}, {}, version);
            }
            out = insert_node(g, n, Op::Add, {out, bias}, {}, version);
        }
    }
    const NodeId flattening = g.value(n.inputs[slot]).producer;
    const ValueId shape = g.add_constant(int_tensor(*target, {static_cast<std::int64_t>(target->size())}), n.name + "/target");
    replace_node(g, id, Op::Reshape, {out, shape}, {}, version);
    drop_if_unused(g, flattening);
    ++c.record.effective;
    return true;
}

}  // namespace

void sink_flattening(PassContext& c) {
    for (const NodeId id : c.graph.order()) {
        const Node& n = c.graph.node(id);
        if (n.dead || (n.op != Op::MatMul && n.op != Op::Gemm && n.op != Op::Add)) continue;
        sink(c, id);
    }
}

namespace {

struct Cut {
    std::int64_t from, to;
    NodeId node;
};

// A Slice of one axis with step 1 and known ends.
bool read_cut(const Graph& g, NodeId id, std::int64_t& axis, Cut& cut) {
    const Node& n = g.node(id);
    if (n.op != Op::Slice || n.version < 10 || !g.value(n.inputs[0]).shape) return false;
    const Shape& shape = *g.value(n.inputs[0]).shape;
    const auto starts = integers(g, n.inputs[1]), ends = integers(g, n.inputs[2]);
    if (!starts || !ends || starts->size() != 1 || ends->size() != 1) return false;
    const auto axes = n.has_input(3) ? integers(g, n.inputs[3]) : std::optional(std::vector<std::int64_t>{0});
    const auto steps = n.has_input(4) ? integers(g, n.inputs[4]) : std::optional(std::vector<std::int64_t>{1});
    if (!axes || !steps || axes->size() != 1 || steps->size() != 1 || (*steps)[0] != 1) return false;
    axis = from_front((*axes)[0], static_cast<int>(shape.size()));
    if (axis < 0 || axis >= static_cast<std::int64_t>(shape.size())) return false;
    const auto extent = shape[static_cast<std::size_t>(axis)].constant();
    if (!extent) return false;
    const auto clamp = [&](std::int64_t i) { return std::clamp<std::int64_t>(i < 0 ? i + *extent : i, 0, *extent); };
    cut = {clamp((*starts)[0]), clamp((*ends)[0]), id};
    return cut.from < cut.to;
}

}  // namespace

void merge_slices(PassContext& c) {
    Graph& g = c.graph;
    std::map<std::pair<ValueId, std::int64_t>, std::vector<Cut>> by_source;
    for (const NodeId id : g.order()) {
        Cut cut{};
        std::int64_t axis = 0;
        if (read_cut(g, id, axis, cut)) by_source[{g.node(id).inputs[0], axis}].push_back(cut);
    }
    for (auto& [key, cuts] : by_source) {
        const auto [source, axis] = key;
        if (cuts.size() < 2) continue;
        ++c.record.matched;
        std::sort(cuts.begin(), cuts.end(), [](const Cut& a, const Cut& b) { return a.from < b.from; });
        std::int64_t next = 0;
        bool whole = true;
        std::vector<std::int64_t> sizes;
        std::vector<ValueId> outputs;
        for (const Cut& cut : cuts) {
            whole = whole && cut.from == next;
            next = cut.to;
            sizes.push_back(cut.to - cut.from);
            outputs.push_back(g.node(cut.node).outputs[0]);
        }
        const auto extent = (*g.value(source).shape)[static_cast<std::size_t>(axis)].constant();
        if (!whole || next != extent) {
            c.refuse(cuts[0].node, Reason::wrong_structure, "the slices of " + g.value(source).name + " do not cover its axis once", 1);
            continue;
        }
        Node split;
        const Node& first = g.node(cuts[0].node);
        split.op = Op::Split;
        split.name = first.name;
        split.version = first.version;
        split.attributes["axis"] = axis;
        split.inputs = {source};
        for (const Cut& cut : cuts) split.origins.insert(split.origins.end(), g.node(cut.node).origins.begin(), g.node(cut.node).origins.end());
        if (split.version < 13) split.attributes["split"] = sizes;
        else split.inputs.push_back(g.add_constant(int_tensor(sizes, {static_cast<std::int64_t>(sizes.size())}), first.name + "/sizes"));
        for (const Cut& cut : cuts) g.detach(cut.node);
        split.outputs = outputs;
        g.add_node(std::move(split));
        ++c.record.effective;
    }
}

}  // namespace sfumato::fusion::canonical
