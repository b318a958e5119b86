// SPDX-License-Identifier: Apache-2.0
#include "fusion/passes/named.h"

#include <algorithm>
#include <set>

#include "fusion/passes/rewrite.h"

namespace sfumato::fusion {

void run_patterns(PassContext& c, const std::vector<const PatternRow*>& rows) {
    Graph& g = c.graph;
    std::vector<NodeId> order = g.order();
    std::set<NodeId> reported;  // nodes of misses that were reported: a smaller pattern inside is the same story
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
        const NodeId root = *it;
        if (g.node(root).dead) continue;
        Miss deepest;
        const PatternRow* nearest = nullptr;
        bool found = false;
        for (const PatternRow* row : rows) {
            if (!row->pattern.may_start_at(g.node(root))) continue;
            Miss miss;
            auto match = row->pattern.match(g, root, row->exported, row->guard, miss);
            if (match && (match->nodes.size() == 1 || convex(g, match->nodes))) {
                found = true;
                ++c.record.matched;
                if (!c.allows(row->fused, root)) continue;
                const NodeId group = fuse(g, match->nodes, row->fused);
                for (const auto& [key, value] : row->attributes) g.node(group).attributes[key] = value;
                if (const auto eps = match->at("eps") == kNone ? std::nullopt : scalar(g, match->at("eps"))) g.node(group).attributes["epsilon"] = *eps;
                ++c.record.effective;
                break;
            }
            if (match) miss = {Reason::cycle, "a path leaves the pattern and enters it again", static_cast<int>(match->nodes.size()) + 1, match->nodes};
            if (miss.depth >= row->evidence && miss.depth > deepest.depth) {
                deepest = std::move(miss);
                nearest = row;
            }
        }
        if (found || !nearest || reported.count(root)) continue;
        reported.insert(deepest.nodes.begin(), deepest.nodes.end());
        c.refuse(root, deepest.reason, nearest->fused + ": " + deepest.text, deepest.depth);
    }
}

void run_pattern_pass(PassContext& c, const std::string& pass) {
    std::vector<const PatternRow*> rows;
    for (const PatternRow& row : pattern_rows())
        if (row.pass == pass) rows.push_back(&row);
    run_patterns(c, rows);
}

}  // namespace sfumato::fusion
