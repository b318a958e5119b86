// SPDX-License-Identifier: Apache-2.0
#pragma once
// The choice of what to fuse as a problem of its own: a small acyclic graph, a price for every set of nodes that may run as one, and a budget of
// live bytes. Solved exactly where the region is small, greedily beyond, with a bound that says how far from the best the answer can be.
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace sfumato::fusion::plan {

using NodeSet = std::uint64_t;  ///< bit i: node i of the region

struct Region {
    int size = 0;                       ///< at most 64
    std::vector<NodeSet> predecessors;  ///< direct, inside the region; node ids are a topological order
    /// Price of running the set as one; empty when it may not. Single nodes always may. Called once per set.
    std::function<std::optional<double>(NodeSet)> price;
    /// Bytes live while `group` runs after exactly the nodes of `before` have run; only asked when there is a budget.
    std::function<std::int64_t(NodeSet before, NodeSet group)> live;
    std::optional<std::int64_t> budget;
    int largest = 64;                   ///< nodes in a group
};

struct Partition {
    std::vector<NodeSet> groups;  ///< in an order that respects all dependences and the budget
    double price = 0;
    double bound = 0;             ///< no partition is cheaper; equals price when exact
    bool exact = false, feasible = true;
    double gap() const { return bound > 0 ? price / bound - 1 : 0; }
};

/// The cheapest partition whose groups can run one after another, every step within the budget: shortest path over the sets of nodes that may
/// have run. Empty when more than `effort` sets or groups were looked at. `feasible` is false when no order keeps the budget.
std::optional<Partition> solve_exact(const Region&, std::int64_t effort = 2'000'000);
/// Merges the pair of groups that saves most, again and again.
Partition solve_greedy(const Region&);
/// Exact when it can be; else windows of the topological order solved exactly, or greedy, whichever is cheaper. `bound` is of the relaxation that
/// every node costs at least its share of the cheapest group with it that was seen, given by `floor`.
Partition solve(const Region&, double floor, int exact_size = 20, std::int64_t effort = 400'000);

/// True when the groups can be put in an order, each after what it needs.
bool schedulable(const Region&, std::vector<NodeSet>& groups);

}  // namespace sfumato::fusion::plan
