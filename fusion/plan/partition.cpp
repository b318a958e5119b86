// SPDX-License-Identifier: Apache-2.0
#include "fusion/plan/partition.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace sfumato::fusion::plan {

namespace {

NodeSet bit(int i) { return NodeSet{1} << i; }
int lowest(NodeSet s) { return __builtin_ctzll(s); }
NodeSet all_of(const Region& r) { return r.size >= 64 ? ~NodeSet{0} : bit(r.size) - 1; }

struct Prices {
    const Region& region;
    std::unordered_map<NodeSet, std::optional<double>> seen{};
    std::optional<double> of(NodeSet s) {
        if (__builtin_popcountll(s) > std::max(region.largest, 1)) return std::nullopt;
        const auto it = seen.find(s);
        if (it != seen.end()) return it->second;
        const auto p = region.price(s);
        seen.emplace(s, p);
        return p;
    }
};

// Every set of nodes that may run next as one group after `done`: sets closed under "what it needs has run or is in it". Grown node by node in
// topological order, so each appears once.
template <class F>
bool each_group(const Region& r, NodeSet done, F&& visit) {
    struct Frame {
        NodeSet group;
        int next;
    };
    std::vector<Frame> stack{{0, 0}};
    while (!stack.empty()) {
        const Frame f = stack.back();
        stack.pop_back();
        for (int i = f.next; i < r.size; ++i) {
            if (done & bit(i)) continue;
            if (r.predecessors[static_cast<std::size_t>(i)] & ~(done | f.group)) continue;
            const NodeSet grown = f.group | bit(i);
            if (!visit(grown)) return false;
            if (__builtin_popcountll(grown) < r.largest) stack.push_back({grown, i + 1});
        }
    }
    return true;
}

bool within(const Region& r, NodeSet before, NodeSet group) { return !r.budget || r.live(before, group) <= *r.budget; }

}  // namespace

std::optional<Partition> solve_exact(const Region& r, std::int64_t effort) {
    struct Best {
        double price;
        NodeSet group;
    };
    Prices prices{r};
    // by number of nodes done: every step goes to a larger set
    std::vector<std::map<NodeSet, Best>> by_count(static_cast<std::size_t>(r.size) + 1);
    by_count[0][0] = {0, 0};
    for (int n = 0; n < r.size; ++n)
        for (const auto& [done, best] : by_count[static_cast<std::size_t>(n)]) {
            const bool finished = each_group(r, done, [&, from = done, so_far = best.price](NodeSet group) {
                if (--effort < 0) return false;
                const auto p = prices.of(group);
                if (!p || !within(r, from, group)) return true;
                const NodeSet to = from | group;
                auto& level = by_count[static_cast<std::size_t>(__builtin_popcountll(to))];
                const auto [it, is_new] = level.try_emplace(to, Best{so_far + *p, group});
                if (!is_new && so_far + *p < it->second.price) it->second = {so_far + *p, group};
                return true;
            });
            if (!finished) return std::nullopt;
        }
    Partition out;
    out.exact = true;
    const auto& last = by_count[static_cast<std::size_t>(r.size)];
    if (last.empty()) {
        out.feasible = false;
        return out;
    }
    out.price = out.bound = last.begin()->second.price;
    for (NodeSet done = all_of(r); done != 0;) {
        const NodeSet group = by_count[static_cast<std::size_t>(__builtin_popcountll(done))].at(done).group;
        out.groups.push_back(group);
        done &= ~group;
    }
    std::reverse(out.groups.begin(), out.groups.end());
    return out;
}

bool schedulable(const Region& r, std::vector<NodeSet>& groups) {
    std::vector<NodeSet> order, waiting = groups;
    NodeSet done = 0;
    while (!waiting.empty()) {
        const auto ready = std::find_if(waiting.begin(), waiting.end(), [&](NodeSet s) {
            NodeSet needs = 0;
            for (NodeSet rest = s; rest; rest &= rest - 1) needs |= r.predecessors[static_cast<std::size_t>(lowest(rest))];
            return (needs & ~(done | s)) == 0 && within(r, done, s);
        });
        if (ready == waiting.end()) return false;
        done |= *ready;
        order.push_back(*ready);
        waiting.erase(ready);
    }
    groups = std::move(order);
    return true;
}

Partition solve_greedy(const Region& r) {
    Prices prices{r};
    Partition out;
    for (int i = 0; i < r.size; ++i) out.groups.push_back(bit(i));
    out.feasible = schedulable(r, out.groups);
    for (;;) {
        double most = 0;
        std::vector<NodeSet> best;
        for (std::size_t i = 0; i < out.groups.size(); ++i)
            for (std::size_t j = i + 1; j < out.groups.size(); ++j) {
                const auto together = prices.of(out.groups[i] | out.groups[j]);
                if (!together) continue;
                const double saved = *prices.of(out.groups[i]) + *prices.of(out.groups[j]) - *together;
                if (saved <= most) continue;
                std::vector<NodeSet> merged = out.groups;
                merged[i] |= merged[j];
                merged.erase(merged.begin() + static_cast<std::ptrdiff_t>(j));
                if (!schedulable(r, merged)) continue;
                most = saved;
                best = std::move(merged);
            }
        if (best.empty()) break;
        out.groups = std::move(best);
    }
    for (const NodeSet s : out.groups) out.price += *prices.of(s);
    return out;
}

namespace {

// Pieces of the topological order, each solved exactly; what ran before a piece has run.
std::optional<Partition> solve_windows(const Region& r, int width, std::int64_t effort) {
    Partition out;
    for (int from = 0; from < r.size; from += width) {
        const int n = std::min(width, r.size - from);
        const NodeSet before = bit(from) - 1;
        Region piece;
        piece.size = n;
        piece.largest = r.largest;
        piece.budget = r.budget;
        piece.price = [&, from](NodeSet s) { return r.price(s << from); };
        piece.live = [&, from, before](NodeSet done, NodeSet group) { return r.live(before | done << from, group << from); };
        for (int i = 0; i < n; ++i) piece.predecessors.push_back(r.predecessors[static_cast<std::size_t>(from + i)] >> from & (bit(n) - 1));
        const auto p = solve_exact(piece, effort);
        if (!p || !p->feasible) return std::nullopt;
        for (const NodeSet s : p->groups) out.groups.push_back(s << from);
        out.price += p->price;
    }
    return out;
}

}  // namespace

Partition solve(const Region& r, double floor, int exact_size, std::int64_t effort) {
    if (r.size <= exact_size)
        if (auto p = solve_exact(r, effort)) return *p;
    Partition best = solve_greedy(r);
    for (const int width : {12, 8})
        if (r.size > width)
            if (auto p = solve_windows(r, width, effort / 4); p && (!best.feasible || p->price < best.price)) {
                best = std::move(*p);
                break;
            }
    best.bound = std::min(floor, best.price);
    return best;
}

}  // namespace sfumato::fusion::plan
