// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>

#include "fusion/graph.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion {

namespace {

struct Checker {
    const Graph& g;
    std::vector<std::string> lines;

    void say(const Node& n, const std::string& what) { lines.push_back("node " + n.name + " (" + std::string(name(n.op)) + "): " + what); }

    void arity(const Node& n) {
        const OpRow& r = row(n.op);
        const auto count = [&](std::size_t have, int low, int high, const char* what) {
            if (static_cast<int>(have) < low || (high >= 0 && static_cast<int>(have) > high))
                say(n, std::to_string(have) + " " + what + ", the operator takes " + std::to_string(low) + (high < 0 ? " or more" : " to " + std::to_string(high)));
        };
        count(n.inputs.size(), r.min_inputs, r.max_inputs, "inputs");
        count(n.outputs.size(), r.min_outputs, r.max_outputs, "outputs");
        if ((n.op == Op::FusionGroup) != (n.body != nullptr)) say(n, "a fused node and only a fused node has a body");
        if (!n.body) return;
        if (n.body->inputs.size() != n.inputs.size() || n.body->outputs().size() != n.outputs.size()) say(n, "the body's inputs and outputs do not correspond to the node's");
        for (const std::string& line : verify(*n.body)) lines.push_back("in " + n.name + ": " + line);
    }

    void links() {
        std::map<ValueId, std::multiset<NodeId>> uses;
        std::map<ValueId, NodeId> producers;
        for (NodeId id = 0; id < g.node_limit(); ++id) {
            const Node& n = g.node(id);
            if (n.dead) continue;
            arity(n);
            for (const ValueId v : n.inputs)
                if (v != kNone) uses[v].insert(id);
            for (const auto& [key, v] : n.captures) uses[v].insert(id);
            for (const ValueId v : n.outputs)
                if (v != kNone && !producers.emplace(v, id).second) say(n, "its output " + g.value(v).name + " has another producer");
        }
        const std::set<ValueId> inputs(g.inputs.begin(), g.inputs.end());
        std::map<ValueId, int> outputs;
        for (const ValueId v : g.outputs()) ++outputs[v];
        for (ValueId id = 0; id < g.value_limit(); ++id) {
            const Value& v = g.value(id);
            const auto p = producers.find(id);
            if (v.producer != (p == producers.end() ? kNone : p->second)) lines.push_back("value " + v.name + ": its producer is not linked");
            const auto u = uses.find(id);
            if (std::multiset<NodeId>(v.users.begin(), v.users.end()) != (u == uses.end() ? std::multiset<NodeId>{} : u->second))
                lines.push_back("value " + v.name + ": its users are not linked");
            const auto o = outputs.find(id);
            if (v.outputs != (o == outputs.end() ? 0 : o->second)) lines.push_back("value " + v.name + ": its count of graph outputs is wrong");
            const bool captured = [&] {
                for (const auto& [outer, local] : g.captured)
                    if (local == id) return true;
                return false;
            }();
            const bool needed = u != uses.end() || o != outputs.end();
            if (needed && v.producer == kNone && !inputs.count(id) && !v.constant && !v.weight && !captured) lines.push_back("value " + v.name + ": used, and nothing produces it");
            if (v.constant && v.shape && *v.shape != Shape(v.constant->dims.begin(), v.constant->dims.end())) lines.push_back("value " + v.name + ": its constant has another shape");
        }
    }
};

}  // namespace

std::vector<std::string> verify(const Graph& g) {
    Checker c{g, {}};
    c.links();
    if (!c.lines.empty()) return c.lines;
    try {
        g.order();
    } catch (const isa::InputError& e) {
        c.lines.push_back(e.what());
    }
    return c.lines;
}

}  // namespace sfumato::fusion
