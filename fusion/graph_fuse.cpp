// SPDX-License-Identifier: Apache-2.0
// Taking a set of nodes out into the body of one fused node, and putting it back.
#include <algorithm>
#include <map>
#include <set>

#include "fusion/graph.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion {

using isa::check;

namespace {

// A path that leaves the set and enters it again would make the fused node its own ancestor.
void check_convex(const Graph& g, const std::set<NodeId>& inside) {
    std::set<NodeId> seen;
    std::vector<NodeId> stack;
    const auto push_users = [&](NodeId id) {
        for (const ValueId v : g.node(id).outputs)
            if (v != kNone)
                for (const NodeId user : g.value(v).users)
                    if (seen.insert(user).second) stack.push_back(user);
    };
    for (const NodeId id : inside)
        for (const ValueId v : g.node(id).outputs)
            if (v != kNone)
                for (const NodeId user : g.value(v).users)
                    if (!inside.count(user) && seen.insert(user).second) stack.push_back(user);
    while (!stack.empty()) {
        const NodeId id = stack.back();
        stack.pop_back();
        check(!inside.count(id), "a set of nodes that is not convex is fused");
        push_users(id);
    }
}

Value description(const Value& v) {
    Value copy = v;
    copy.producer = kNone;
    copy.users.clear();
    copy.outputs = 0;
    return copy;
}

Node detached(const Node& n) {
    Node copy = n;
    copy.inputs.clear();
    copy.outputs.clear();
    return copy;
}

}  // namespace

NodeId fuse(Graph& g, const std::vector<NodeId>& nodes, const std::string& pattern) {
    const std::set<NodeId> inside(nodes.begin(), nodes.end());
    check(!inside.empty(), "an empty set of nodes is fused");
    check_convex(g, inside);
    std::vector<NodeId> ordered;
    for (const NodeId id : inside) ordered.push_back(id);
    // ids grow with creation, not with data flow after rewrites: sort by dependence within the set
    std::map<NodeId, int> depth;
    const auto level = [&](auto&& self, NodeId id) -> int {
        if (const auto it = depth.find(id); it != depth.end()) return it->second;
        int d = 0;
        for (const ValueId v : g.node(id).inputs)
            if (v != kNone && g.value(v).producer != kNone && inside.count(g.value(v).producer)) d = std::max(d, self(self, g.value(v).producer) + 1);
        return depth[id] = d;
    };
    std::stable_sort(ordered.begin(), ordered.end(), [&](NodeId a, NodeId b) { return level(level, a) < level(level, b); });

    auto body = std::make_shared<Graph>(g.shared_symbols());
    body->name = pattern;
    Node group;
    group.op = Op::FusionGroup;
    group.version = 1;
    group.attributes["pattern"] = pattern;
    std::map<ValueId, ValueId> local;
    std::vector<ValueId> results;
    const auto inner = [&](ValueId v) {
        if (v == kNone) return kNone;
        auto it = local.find(v);
        if (it == local.end()) {
            it = local.emplace(v, body->add_value(description(g.value(v)))).first;
            if (!g.value(v).constant) {  // constants go along; everything else comes in
                body->inputs.push_back(it->second);
                group.inputs.push_back(v);
            }
        }
        return it->second;
    };
    for (const NodeId id : ordered) {
        Node copy = detached(g.node(id));
        for (const ValueId v : g.node(id).inputs) copy.inputs.push_back(inner(v));
        for (auto& [key, v] : copy.captures) v = inner(v);
        for (const ValueId v : g.node(id).outputs) {
            copy.outputs.push_back(v == kNone ? kNone : local.emplace(v, body->add_value(description(g.value(v)))).first->second);
            if (v == kNone) continue;
            const Value& value = g.value(v);
            if (value.outputs > 0 || std::any_of(value.users.begin(), value.users.end(), [&](NodeId u) { return !inside.count(u); })) results.push_back(v);
        }
        group.origins.insert(group.origins.end(), copy.origins.begin(), copy.origins.end());
        body->add_node(std::move(copy));
    }
    check(!results.empty(), "a fused set of nodes has no result");
    std::vector<ValueId> body_outputs;
    for (const ValueId v : results) body_outputs.push_back(local.at(v));
    body->set_outputs(std::move(body_outputs));
    group.name = g.node(ordered.back()).name;
    group.body = std::move(body);

    // unlink the old nodes: their results lose the producer and get the group
    for (auto it = ordered.rbegin(); it != ordered.rend(); ++it) g.detach(*it);
    group.outputs = results;
    return g.add_node(std::move(group));
}

void unfuse(Graph& g, NodeId id) {
    check(g.node(id).op == Op::FusionGroup, "a node that is not fused is unfused");
    const GraphPtr body = g.node(id).body;
    const std::vector<ValueId> inputs = g.node(id).inputs, outputs = g.node(id).outputs;
    g.detach(id);
    std::map<ValueId, ValueId> outer;
    for (std::size_t i = 0; i < inputs.size(); ++i) outer[body->inputs[i]] = inputs[i];
    for (std::size_t i = 0; i < outputs.size(); ++i) outer[body->outputs()[i]] = outputs[i];
    const auto map = [&](ValueId v) {
        if (v == kNone) return kNone;
        const auto it = outer.find(v);
        if (it != outer.end()) return it->second;
        Value copy = description(body->value(v));
        copy.name = g.fresh_name(copy.name);
        return outer[v] = g.add_value(std::move(copy));
    };
    for (const NodeId inner : body->order()) {
        Node copy = detached(body->node(inner));
        for (const ValueId v : body->node(inner).inputs) copy.inputs.push_back(map(v));
        for (auto& [key, v] : copy.captures) v = map(v);
        for (const ValueId v : body->node(inner).outputs) copy.outputs.push_back(map(v));
        g.add_node(std::move(copy));
    }
}

}  // namespace sfumato::fusion
