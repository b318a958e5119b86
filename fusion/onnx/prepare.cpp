// SPDX-License-Identifier: Apache-2.0
// What a file of ONNX cannot say as our graphs do is put into a form that it can, before the graph is written: a model imports one version of
// ai.onnx, so nodes of other versions (those of inlined functions) go into functions that import theirs.
#include <algorithm>

#include "fusion/onnx/onnx_io.h"

namespace sfumato::fusion::onnx_io {

namespace {

/// Calls `f` for every subgraph of the node's attributes.
template <class N, class F>
void for_subgraphs(N& n, const F& f) {
    for (auto& [key, a] : n.attributes)
        if (auto* g = std::get_if<GraphPtr>(&a)) f(**g);
}

void count_versions(const Graph& g, std::map<int, int>& counts) {
    for (NodeId id = 0; id < g.node_limit(); ++id) {
        const Node& n = g.node(id);
        if (n.dead) continue;
        if (n.op != Op::FusionGroup) ++counts[n.version];
        for_subgraphs(n, [&](const Graph& inner) { count_versions(inner, counts); });
    }
}

bool is_used(const Graph& g, const Node& n) {
    return std::any_of(n.outputs.begin(), n.outputs.end(), [&](ValueId v) { return v != kNone && (!g.value(v).users.empty() || g.value(v).outputs > 0); });
}

void wrap_versions(Graph& g, int version) {
    for (NodeId id = 0, end = static_cast<NodeId>(g.node_limit()); id < end; ++id) {
        Node& n = g.node(id);
        if (n.dead) continue;
        if (n.body) wrap_versions(*n.body, main_version(*n.body));
        if (n.op == Op::FusionGroup) continue;
        if (n.version == version) {
            for_subgraphs(n, [&](Graph& inner) { wrap_versions(inner, version); });
            continue;
        }
        if (!is_used(g, n)) {  // a function without results says nothing
            g.remove_node(id);
            continue;
        }
        const NodeId call = fuse(g, {id}, std::string(name(n.op)));
        g.node(call).attributes.clear();
        for_subgraphs(g.node(call).body->node(0), [&](Graph& inner) { wrap_versions(inner, main_version(*g.node(call).body)); });
    }
}

void unfuse_all(Graph& g) {
    for (NodeId id = 0; id < g.node_limit(); ++id) {  // grows: a body may hold fused nodes
        if (g.node(id).dead) continue;
        if (g.node(id).op == Op::FusionGroup) unfuse(g, id);
        else for_subgraphs(g.node(id), unfuse_all);
    }
}

bool one_version(const Graph& g, int version) {
    for (NodeId id = 0; id < g.node_limit(); ++id) {
        const Node& n = g.node(id);
        if (n.dead) continue;
        if (n.body && !one_version(*n.body, main_version(*n.body))) return false;
        if (n.op != Op::FusionGroup && n.version != version) return false;
        bool inside = true;
        for_subgraphs(n, [&](const Graph& inner) { inside = inside && one_version(inner, version); });
        if (!inside) return false;
    }
    return true;
}

}  // namespace

int main_version(const Graph& g) {
    std::map<int, int> counts;
    count_versions(g, counts);
    if (counts.empty()) return kNewestOpset;
    return std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second <= b.second; })->first;
}

std::optional<Graph> prepared(const Graph& g, bool keep_groups) {
    const int version = main_version(g);
    if (keep_groups && one_version(g, version)) return std::nullopt;
    Graph copy = g.clone();
    if (!keep_groups) unfuse_all(copy);
    wrap_versions(copy, main_version(copy));
    return copy;
}

}  // namespace sfumato::fusion::onnx_io
