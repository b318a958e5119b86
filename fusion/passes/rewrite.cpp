// SPDX-License-Identifier: Apache-2.0
#include "fusion/passes/rewrite.h"

#include <algorithm>

#include "fusion/shape.h"

namespace sfumato::fusion {

const Node* producer(const Graph& g, ValueId v) {
    if (v == kNone || g.value(v).producer == kNone) return nullptr;
    return &g.node(g.value(v).producer);
}
const Node* producer_of(const Graph& g, ValueId v, Op op) {
    const Node* n = producer(g, v);
    return n && n->op == op ? n : nullptr;
}

std::optional<double> scalar(const Graph& g, ValueId v) {
    if (v == kNone) return std::nullopt;
    const TensorPtr& t = g.value(v).constant;
    if (!t || t->size() != 1 || std::holds_alternative<std::vector<std::string>>(t->data)) return std::nullopt;
    return t->number(0);
}

std::optional<std::vector<Extent>> content(const Graph& g, ValueId v) {
    if (v == kNone) return std::nullopt;
    const Value& value = g.value(v);
    if (!value.constant) return value.content;
    if (value.constant->rank() > 1 || value.constant->size() > 4096) return std::nullopt;
    const auto* ints = std::get_if<std::vector<std::int64_t>>(&value.constant->data);
    if (!ints) return std::nullopt;
    return std::vector<Extent>(ints->begin(), ints->end());
}

std::optional<std::vector<std::int64_t>> integers(const Graph& g, ValueId v) {
    const auto c = content(g, v);
    if (!c) return std::nullopt;
    std::vector<std::int64_t> out;
    for (const Extent& e : *c) {
        const auto n = e.constant();
        if (!n) return std::nullopt;
        out.push_back(*n);
    }
    return out;
}

int rank(const Value& v) { return v.shape ? static_cast<int>(v.shape->size()) : -1; }

std::string shape_text(const Graph& g, const Value& v) {
    if (!v.shape) return "[?]";
    std::string out = "[";
    for (std::size_t i = 0; i < v.shape->size(); ++i) out += (i ? ", " : "") + g.symbols().to_text((*v.shape)[i]);
    return out + "]";
}

bool bypass(Graph& g, NodeId id, ValueId with) {
    const ValueId out = g.node(id).outputs[0];
    if (out == with) return false;
    const Value& from = g.value(out);
    const Value& to = g.value(with);
    if (from.outputs > 0 && (to.producer == kNone || to.outputs > 0)) return false;
    for (std::size_t i = 1; i < g.node(id).outputs.size(); ++i) {
        const ValueId other = g.node(id).outputs[i];
        if (other != kNone && (!g.value(other).users.empty() || g.value(other).outputs > 0)) return false;
    }
    g.replace_uses(out, with);
    g.remove_node(id);
    return true;
}

NodeId replace_node(Graph& g, NodeId old, Op op, std::vector<ValueId> inputs, std::map<std::string, Attribute> attributes, int version) {
    Node n;
    n.op = op;
    n.name = g.node(old).name;
    n.origins = g.node(old).origins;
    n.version = version;
    n.inputs = std::move(inputs);
    n.outputs = g.node(old).outputs;
    n.attributes = std::move(attributes);
    g.detach(old);
    return g.add_node(std::move(n));
}

ValueId insert_node(Graph& g, const Node& beside, Op op, std::vector<ValueId> inputs, std::map<std::string, Attribute> attributes, int version) {
    Node n;
    n.op = op;
    n.name = beside.name + "/" + std::string(name(op));
    n.origins = beside.origins;
    n.version = version;
    n.inputs = std::move(inputs);
    n.attributes = std::move(attributes);
    Value v;
    v.name = g.fresh_name(n.name + ".out");
    const ValueId out = g.add_value(std::move(v));
    n.outputs = {out};
    infer_node(g, g.add_node(std::move(n)));
    return out;
}

bool settled(const Graph& g, ValueId v) {
    for (int depth = 0; depth < 4; ++depth) {
        if (v == kNone) return false;
        if (fixed(g.value(v))) return true;
        const Node* n = producer(g, v);
        if (!n || (n->op != Op::Transpose && n->op != Op::Cast && n->op != Op::Reshape && n->op != Op::Unsqueeze && n->op != Op::Squeeze && n->op != Op::Identity)) return false;
        v = n->inputs[0];
    }
    return false;
}

std::optional<std::vector<std::int64_t>> static_target(const Shape& from, const Shape& to) {
    std::vector<std::int64_t> target;
    int unknown = 0;
    for (std::size_t i = 0; i < to.size(); ++i) {
        if (const auto c = to[i].constant()) {
            if (*c <= 0) return std::nullopt;  // a literal 0 means "copy"
            target.push_back(*c);
        } else if (i < from.size() && from[i] == to[i]) {
            target.push_back(0);
        } else {
            target.push_back(-1);
            ++unknown;
        }
    }
    for (const Extent& e : from)
        if (e == Extent(0)) return std::nullopt;
    if (unknown > 1) return std::nullopt;
    return target;
}

std::vector<std::int64_t> permutation(const Node& n, int rank) {
    if (auto p = n.integers("perm")) return *p;
    std::vector<std::int64_t> p;
    for (int i = rank - 1; i >= 0; --i) p.push_back(i);
    return p;
}

std::string pattern_of(const Node& n) { return n.op == Op::FusionGroup ? n.text("pattern", "") : ""; }

bool convex(const Graph& g, const std::vector<NodeId>& nodes) {
    std::vector<NodeId> inside = nodes;
    std::sort(inside.begin(), inside.end());
    const auto within = [&](NodeId id) { return std::binary_search(inside.begin(), inside.end(), id); };
    std::vector<char> seen(g.node_limit(), 0);
    std::vector<NodeId> stack;
    std::size_t exits = 0;
    NodeId exit = kNone;
    const auto push_users = [&](NodeId id, bool from_inside) {
        bool leaves = false;
        for (const ValueId v : g.node(id).outputs) {
            if (v == kNone) continue;
            leaves = leaves || g.value(v).outputs > 0;
            for (const NodeId user : g.value(v).users) {
                if (from_inside && within(user)) continue;
                leaves = true;
                if (seen[user]) continue;
                seen[user] = 1;
                stack.push_back(user);
            }
        }
        return leaves;
    };
    for (const NodeId id : inside)
        if (push_users(id, true)) {
            ++exits;
            exit = id;
        }
    if (exits == 1) {  // everything inside leads to the one node that leaves: a way back would be a cycle of the graph already
        std::vector<NodeId> reached{exit};
        std::vector<char> mark(inside.size(), 0);
        const auto index = [&](NodeId id) { return static_cast<std::size_t>(std::lower_bound(inside.begin(), inside.end(), id) - inside.begin()); };
        mark[index(exit)] = 1;
        for (std::size_t i = 0; i < reached.size(); ++i)
            for (const ValueId v : g.node(reached[i]).inputs) {
                const NodeId p = v == kNone ? kNone : g.value(v).producer;
                if (p == kNone || !within(p) || mark[index(p)]) continue;
                mark[index(p)] = 1;
                reached.push_back(p);
            }
        if (reached.size() == inside.size()) return true;
    }
    while (!stack.empty()) {
        const NodeId id = stack.back();
        stack.pop_back();
        if (within(id)) return false;
        push_users(id, false);
    }
    return true;
}

}  // namespace sfumato::fusion
