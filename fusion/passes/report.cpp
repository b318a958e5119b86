// SPDX-License-Identifier: Apache-2.0
#include "fusion/passes/report.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "fusion/passes/named.h"
#include "fusion/passes/rewrite.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion {

using Json = nlohmann::ordered_json;

std::string fusion_result_json(const Graph& g, const std::vector<PassRecord>& records) {
    Json passes = Json::object();
    for (const PassRecord& r : records) {
        std::map<std::string, int> reasons;
        std::vector<Refusal> refusals = r.refusals;
        std::stable_sort(refusals.begin(), refusals.end(), [](const Refusal& a, const Refusal& b) { return a.depth > b.depth; });
        Json list = Json::array();
        for (const Refusal& f : refusals) {
            ++reasons[std::string(name(f.reason))];
            list.push_back({{"node", f.node}, {"code", code(f.reason)}, {"reason", name(f.reason)}, {"text", f.text}, {"depth", f.depth}});
        }
        passes[r.pass] = {{"match_times", r.matched}, {"effect_times", r.effective}, {"refused", reasons}, {"refusals", list}};
    }
    const Json out{{"graph", g.name}, {"graph_fusion", passes}, {"patterns", count_patterns(g)}};
    return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {
void count_into(const Graph& g, std::map<std::string, int>& counts) {
    for (NodeId id = 0; id < g.node_limit(); ++id) {
        const Node& n = g.node(id);
        if (n.dead || !n.body) continue;
        ++counts[pattern_of(n)];
        count_into(*n.body, counts);
    }
}
bool stands_for(const Node& n, const std::string& name) { return n.name == name || std::find(n.origins.begin(), n.origins.end(), name) != n.origins.end(); }
}  // namespace

std::map<std::string, int> count_patterns(const Graph& g) {
    std::map<std::string, int> counts;
    count_into(g, counts);
    return counts;
}

std::map<std::string, int> count_operators(const Graph& g) {
    std::map<std::string, int> counts;
    for (NodeId id = 0; id < g.node_limit(); ++id)
        if (!g.node(id).dead) ++counts[g.node(id).body ? pattern_of(g.node(id)) : std::string(name(g.node(id).op))];
    return counts;
}

namespace {

struct Story {
    const std::string& wanted;
    std::vector<std::string> lines;
    std::set<std::string> standing;  ///< groups that hold it, outermost last

    static const Node* find(const Graph& g, const std::string& wanted) {
        const Node* by_origin = nullptr;
        for (NodeId id = 0; id < g.node_limit(); ++id) {
            const Node& n = g.node(id);
            if (n.dead || !stands_for(n, wanted)) continue;
            if (n.body || n.name == wanted) return &n;
            by_origin = by_origin ? by_origin : &n;
        }
        return by_origin;
    }

    void after(const PassRow& row, const Graph& g, std::string& state) {
        const Node* n = find(g, wanted);
        const std::string now = !n ? "" : n->body ? pattern_of(*n) + " " + n->name : std::string(name(n->op));
        if (now == state) return;
        if (!n) lines.push_back(row.name + ": removed (" + row.summary + ")");
        else if (n->body) lines.push_back(row.name + ": taken into " + now + " of " + std::to_string(n->body->node_count()) + " nodes");
        else lines.push_back(row.name + ": stands as " + now);
        state = now;
    }
};

// Every pattern whose attempt reached the node, at the time when its pass runs.
void attempts(const Graph& g, const std::string& pass, const std::string& wanted, std::vector<std::string>& lines) {
    const auto reaches = [&](const std::vector<NodeId>& nodes) { return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) { return stands_for(g.node(id), wanted); }); };
    for (const PatternRow& row : pattern_rows()) {
        if (row.pass != pass) continue;
        Miss best;
        NodeId root = kNone;
        for (const NodeId id : g.order()) {
            if (!row.pattern.may_start_at(g.node(id))) continue;
            Miss miss;
            if (row.pattern.match(g, id, row.exported, row.guard, miss) || miss.depth <= best.depth) continue;
            if (!reaches(miss.nodes) && !stands_for(g.node(id), wanted)) continue;
            best = std::move(miss);
            root = id;
        }
        if (root == kNone) continue;
        const std::string line = "  " + row.fused + " at " + g.node(root).name + ": " + std::to_string(std::min<std::size_t>(best.nodes.size(), static_cast<std::size_t>(std::max(best.depth, 0)))) + " nodes matched, then " +
                        std::string(code(best.reason)) + " " + std::string(name(best.reason)) + ": " + best.text;
        if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);  // variants of one pattern fail alike
    }
}

std::vector<std::string> all_names(const Graph& g) {
    std::vector<std::string> names;
    for (NodeId id = 0; id < g.node_limit(); ++id)
        if (!g.node(id).dead) names.push_back(g.node(id).name);
    return names;
}

}  // namespace

std::string explain(const Graph& imported, const std::vector<PassRow>& rows, const Switches& switches, const isa::Chip* chip, const std::string& node) {
    const Node* found = Story::find(imported, node);
    if (!found) {
        const std::string near = isa::nearest(node, all_names(imported));
        throw isa::InputError("--explain: the model has no node called '" + node + "'" + (near.empty() ? "" : "; did you mean " + near + "?"));
    }
    Graph g = imported.clone();
    Story story{node, {}, {}};
    std::string state(name(found->op));
    std::vector<std::string> tried;
    const auto records = run_passes(g, rows, switches, chip, [&](const PassRow& row, const Graph& now, bool after) {
        if (!after && row.kind == PassKind::pattern) attempts(now, row.name, node, tried);
        if (after) story.after(row, now, state);
    });
    std::string out = "node " + node + " (" + std::string(name(found->op)) + ")\n";
    for (const std::string& line : story.lines) out += "  " + line + "\n";
    if (story.lines.empty()) out += "  no pass changed it\n";
    std::string refusals;
    for (const PassRecord& r : records)
        for (const Refusal& f : r.refusals)
            if (f.node == node) refusals += "  " + r.pass + ": " + std::string(code(f.reason)) + " " + f.text + "\n";
    if (!refusals.empty()) out += "refused\n" + refusals;
    if (!tried.empty()) out += "patterns that reached it and did not match\n";
    for (const std::string& line : tried) out += line + "\n";
    return out;
}

std::string passes_page() {
    std::string out = "# Passes of the fusion layer\n\nGenerated from the pass table (`sfumato fuse --list-passes --page`); a test compares them. Passes run in this order; a run of "
                      "canonical passes is repeated until nothing changes. A pass runs by default from its level on: `--fusion-level` 0 to 3, default 2.\n\n"
                      "| pass | kind | level | what it does | in the literature |\n| --- | --- | --- | --- | --- |\n";
    for (const PassRow& row : pass_table())
        out += "| " + row.name + " | " + std::string(name(row.kind)) + " | " + std::to_string(row.level) + " | " + row.summary + " | " + row.article_term + " |\n";
    out += "\n## Fused operators\n\nNames for lists of allowed operators (`fusion_op_type = ...`):\n\n";
    for (const std::string& op : fused_operators()) out += "- `" + op + "`\n";
    out += "\n## Why something was not fused\n\n| code | name | meaning |\n| --- | --- | --- |\n";
    const auto reasons = std::to_array<Reason>({
#define REASON(code, name, meaning) Reason::name,
#include "fusion/reasons.def"
    });
    for (const Reason r : reasons) out += "| " + std::string(code(r)) + " | " + std::string(name(r)) + " | " + std::string(meaning(r)) + " |\n";
    out += "\n## Patterns\n\nEach pattern is a text: rules, the first is the root, matched from a value backwards. `@x` is any value, `#w` a constant or weight, `%s` a constant of one\n"
           "element, a number a constant within 0.1 %; `c:` names what a term matches; `Cast?` may be missing, `Cast*` stand several times; operands of commutative\n"
           "operators are tried in both orders.\n";
    for (const PatternRow& row : pattern_rows()) {
        out += "\n### " + row.fused + " (" + row.pass + ")\n\n```\n" + (row.text[0] == '\n' ? row.text.substr(1) : row.text) + "\n```\n";
    }
    return out;
}

}  // namespace sfumato::fusion
