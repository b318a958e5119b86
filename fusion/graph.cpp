// SPDX-License-Identifier: Apache-2.0
#include "fusion/graph.h"

#include <algorithm>
#include <queue>
#include <set>
#include <utility>

#include "isa/diagnostic.h"

namespace sfumato::fusion {

using isa::check;
using isa::InputError;

namespace {
template <class T>
const T* attribute(const Node& n, std::string_view name) {
    const auto it = n.attributes.find(std::string(name));
    if (it == n.attributes.end()) return nullptr;
    const T* v = std::get_if<T>(&it->second);
    if (!v) throw InputError("node " + n.name + " (" + std::string(fusion::name(n.op)) + "): attribute " + std::string(name) + " has another type than the operator defines");
    return v;
}
}  // namespace

std::int64_t Node::integer(std::string_view key, std::int64_t fallback) const {
    const auto* v = attribute<std::int64_t>(*this, key);
    return v ? *v : fallback;
}
double Node::real(std::string_view key, double fallback) const {
    const auto* v = attribute<double>(*this, key);
    return v ? *v : fallback;
}
std::string Node::text(std::string_view key, std::string_view fallback) const {
    const auto* v = attribute<std::string>(*this, key);
    return v ? *v : std::string(fallback);
}
std::optional<std::vector<std::int64_t>> Node::integers(std::string_view key) const {
    const auto* v = attribute<std::vector<std::int64_t>>(*this, key);
    return v ? std::optional(*v) : std::nullopt;
}

std::string Graph::fresh_name(std::string_view stem) {
    std::string name(stem);
    while (name.empty() || by_name_.count(name)) name = std::string(stem) + "." + std::to_string(fresh_++);
    return name;
}

ValueId Graph::add_value(Value v) {
    if (v.name.empty()) v.name = fresh_name("v");
    const auto id = static_cast<ValueId>(values_.size());
    if (!by_name_.emplace(v.name, id).second) throw InputError("the value name " + v.name + " stands twice in graph " + name);
    values_.push_back(std::move(v));
    return id;
}

ValueId Graph::add_constant(Tensor t, std::string stem) {
    Value v;
    v.name = fresh_name(stem.empty() ? "const" : stem);
    v.type = t.type;
    v.shape = Shape(t.dims.begin(), t.dims.end());
    v.constant = std::make_shared<const Tensor>(std::move(t));
    return add_value(std::move(v));
}

NodeId Graph::add_node(Node n) {
    const auto id = static_cast<NodeId>(nodes_.size());
    for (const ValueId in : n.inputs)
        if (in != kNone) values_[in].users.push_back(id);
    for (const auto& [key, outer] : n.captures) values_[outer].users.push_back(id);
    for (const ValueId out : n.outputs) {
        if (out == kNone) continue;
        if (values_[out].producer != kNone) throw InputError("the value " + values_[out].name + " has two producers in graph " + name);
        values_[out].producer = id;
    }
    if (n.origins.empty() && !n.name.empty()) n.origins.push_back(n.name);
    nodes_.push_back(std::move(n));
    ++alive_;
    return id;
}

namespace {
void drop_one(std::vector<NodeId>& users, NodeId id) {
    const auto it = std::find(users.begin(), users.end(), id);
    check(it != users.end(), "a use is not linked");
    users.erase(it);
}
}  // namespace

void Graph::remove_node(NodeId id) {
    for (const ValueId out : nodes_[id].outputs)
        check(out == kNone || (values_[out].users.empty() && values_[out].outputs == 0), "a node whose output is used is removed");
    detach(id);
}

void Graph::detach(NodeId id) {
    Node& n = nodes_[id];
    check(!n.dead, "a node is removed twice");
    for (const ValueId out : n.outputs)
        if (out != kNone) values_[out].producer = kNone;
    for (const ValueId in : n.inputs)
        if (in != kNone) drop_one(values_[in].users, id);
    for (const auto& [key, outer] : n.captures) drop_one(values_[outer].users, id);
    n.dead = true;
    n.body.reset();
    --alive_;
}

void Graph::set_input(NodeId id, std::size_t index, ValueId to) {
    ValueId& slot = nodes_[id].inputs.at(index);
    if (slot == to) return;
    if (slot != kNone) drop_one(values_[slot].users, id);
    if (to != kNone) values_[to].users.push_back(id);
    slot = to;
}

void Graph::replace_uses(ValueId from, ValueId to) {
    check(from != to, "a value replaces itself");
    for (const NodeId user : values_[from].users) {
        for (ValueId& in : nodes_[user].inputs)
            if (in == from) in = to;
        for (auto& [key, outer] : nodes_[user].captures)
            if (outer == from) outer = to;
        values_[to].users.push_back(user);
    }
    values_[from].users.clear();
    if (values_[from].outputs == 0) return;
    for (ValueId& out : outputs_)
        if (out == from) out = to;
    values_[to].outputs += std::exchange(values_[from].outputs, 0);
    // The caller of a model knows outputs by name: the name moves along, unless the other one is an input, a constant or an output already.
    if (values_[to].producer == kNone || values_[to].outputs > 1) return;
    std::string old = values_[from].name;
    rename(from, fresh_name(old));
    rename(to, std::move(old));
}

void Graph::set_outputs(std::vector<ValueId> outputs) {
    for (const ValueId v : outputs_) --values_[v].outputs;
    outputs_ = std::move(outputs);
    for (const ValueId v : outputs_) ++values_[v].outputs;
}

void Graph::rename(ValueId id, std::string to) {
    if (values_[id].name == to) return;
    if (by_name_.count(to)) throw InputError("the value name " + to + " stands twice in graph " + name);
    by_name_.erase(values_[id].name);
    values_[id].name = to;
    by_name_.emplace(std::move(to), id);
}

std::optional<ValueId> Graph::find(std::string_view wanted) const {
    const auto it = by_name_.find(wanted);
    return it == by_name_.end() ? std::nullopt : std::optional(it->second);
}

std::vector<NodeId> Graph::order() const {
    std::vector<int> waiting(nodes_.size(), 0);
    std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
    for (NodeId id = 0; id < nodes_.size(); ++id) {
        if (nodes_[id].dead) continue;
        for (const ValueId in : nodes_[id].inputs)
            if (in != kNone && values_[in].producer != kNone) ++waiting[id];
        for (const auto& [key, outer] : nodes_[id].captures)
            if (values_[outer].producer != kNone) ++waiting[id];
        if (waiting[id] == 0) ready.push(id);
    }
    std::vector<NodeId> out;
    out.reserve(alive_);
    while (!ready.empty()) {
        const NodeId id = ready.top();
        ready.pop();
        out.push_back(id);
        for (const ValueId v : nodes_[id].outputs)
            if (v != kNone)
                for (const NodeId user : values_[v].users)
                    if (--waiting[user] == 0) ready.push(user);
    }
    if (out.size() == alive_) return out;
    std::string names;
    int shown = 0;
    for (NodeId id = 0; id < nodes_.size() && shown < 3; ++id)
        if (!nodes_[id].dead && waiting[id] > 0) names += (shown++ ? ", " : "") + nodes_[id].name;
    throw InputError("graph " + name + " has a cycle; nodes on it or behind it: " + names);
}

int Graph::remove_unused() {
    int removed = 0;
    const std::vector<NodeId> all = order();
    for (auto it = all.rbegin(); it != all.rend(); ++it) {
        const Node& n = nodes_[*it];
        const bool used = std::any_of(n.outputs.begin(), n.outputs.end(), [&](ValueId v) { return v != kNone && (!values_[v].users.empty() || values_[v].outputs > 0); });
        if (used) continue;
        remove_node(*it);
        ++removed;
    }
    return removed;
}

Graph Graph::clone() const {
    Graph copy = *this;
    for (Node& n : copy.nodes_) {
        if (n.body) n.body = std::make_shared<Graph>(n.body->clone());
        for (auto& [key, a] : n.attributes)
            if (auto* g = std::get_if<GraphPtr>(&a)) a = std::make_shared<Graph>((*g)->clone());
    }
    return copy;
}

}  // namespace sfumato::fusion
