// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <cmath>
#include <random>

#include "fusion/plan/partition.h"

using namespace sfumato::fusion::plan;

namespace {

// Every way to cut the nodes into groups, judged from the definitions: legal groups, a quotient without a cycle, an order within the budget.
struct Exhaustive {
    const Region& r;
    std::vector<std::optional<double>> price{};
    double best = INFINITY;
    std::vector<NodeSet> groups{};

    bool some_order(NodeSet done, std::uint32_t left) {  // all orders of the groups
        if (left == 0) return true;
        for (std::size_t i = 0; i < groups.size(); ++i) {
            if (!(left >> i & 1)) continue;
            bool ready = true;
            for (int n = 0; n < r.size; ++n)
                if (groups[i] >> n & 1) ready = ready && (r.predecessors[static_cast<std::size_t>(n)] & ~done & ~groups[i]) == 0;
            if (!ready || (r.budget && r.live(done, groups[i]) > *r.budget)) continue;
            if (some_order(done | groups[i], left & ~(1u << i))) return true;
            if (!r.budget) return false;  // without a budget any ready group may go first
        }
        return false;
    }
    void assign(int n) {
        if (n == r.size) {
            double sum = 0;
            for (const NodeSet s : groups) {
                const auto& p = price[s];
                if (!p) return;
                sum += *p;
            }
            if (sum < best - 1e-12 && some_order(0, (1u << groups.size()) - 1)) best = sum;
            return;
        }
        for (std::size_t i = 0; i < groups.size(); ++i) {
            groups[i] |= NodeSet{1} << n;
            assign(n + 1);
            groups[i] &= ~(NodeSet{1} << n);
        }
        groups.push_back(NodeSet{1} << n);
        assign(n + 1);
        groups.pop_back();
    }
};

// Prices are random numbers per set, so nothing about them can be guessed: bytes of edges cut, a launch, a random charge; some sets are illegal.
Region random_region(unsigned seed, int size, bool budget) {
    std::mt19937 random(seed);
    Region r;
    r.size = size;
    std::vector<double> bytes;
    std::vector<std::int64_t> out;
    for (int i = 0; i < size; ++i) {
        NodeSet p = 0;
        for (int j = 0; j < i; ++j)
            if (random() % 3 == 0 || j == i - 1) p |= (random() % 4 ? NodeSet{1} << j : 0);
        r.predecessors.push_back(p);
        bytes.push_back(1 + static_cast<double>(random() % 50));
        out.push_back(1 + static_cast<std::int64_t>(random() % 20));
    }
    const auto predecessors = r.predecessors;
    r.price = [=](NodeSet s) -> std::optional<double> {
        std::mt19937 charge(seed ^ static_cast<unsigned>(s * 2654435761u));
        const bool one = (s & (s - 1)) == 0;
        if (!one && charge() % 4 == 0) return std::nullopt;
        double p = 10 + static_cast<double>(charge() % 12);
        for (int i = 0; i < size; ++i)
            if (s >> i & 1)
                for (int j = 0; j < size; ++j)
                    if (predecessors[static_cast<std::size_t>(i)] >> j & 1 && !(s >> j & 1)) p += bytes[static_cast<std::size_t>(j)];
        return p;
    };
    r.live = [=](NodeSet before, NodeSet group) {
        std::int64_t live = 0;
        for (int i = 0; i < size; ++i) {
            bool needed = i == size - 1 || (group >> i & 1);
            for (int j = 0; j < size; ++j) needed = needed || (predecessors[static_cast<std::size_t>(j)] >> i & 1 && !(before >> j & 1));
            if (needed && ((before | group) >> i & 1)) live += out[static_cast<std::size_t>(i)];
        }
        return live;
    };
    if (budget) r.budget = 25 + static_cast<std::int64_t>(random() % 40);
    return r;
}

// Groups by letters: {"AB", "CD"}
std::vector<std::string> letters(const Partition& p) {
    std::vector<std::string> out;
    for (const NodeSet s : p.groups) {
        out.emplace_back();
        for (int i = 0; i < 26; ++i)
            if (s >> i & 1) out.back() += static_cast<char>('A' + i);
    }
    return out;
}

}  // namespace

TEST_CASE("the exact solver equals exhaustive search on 500 random graphs of at most 10 nodes") {
    int better_than_greedy = 0, infeasible = 0;
    for (unsigned seed = 0; seed < 500; ++seed) {
        const bool budget = seed % 2 == 1;
        const int size = seed % 100 == 0 ? 10 : budget ? 3 + static_cast<int>(seed / 2 % 5) : 3 + static_cast<int>(seed / 2 % 6);
        const Region r = random_region(seed, size, budget);
        Exhaustive all{r};
        for (NodeSet set = 0; set < (NodeSet{1} << size); ++set) all.price.push_back(set ? r.price(set) : std::nullopt);
        all.assign(0);
        const auto p = solve_exact(r);
        INFO("seed " << seed);
        REQUIRE(p);
        REQUIRE(p->feasible == std::isfinite(all.best));
        infeasible += !p->feasible;
        if (!p->feasible) continue;
        REQUIRE(p->price == Approx(all.best));
        REQUIRE(p->gap() == 0);
        NodeSet done = 0;
        double sum = 0;
        for (const NodeSet s : p->groups) {
            REQUIRE((!r.budget || r.live(done, s) <= *r.budget));
            done |= s;
            sum += *r.price(s);
        }
        REQUIRE(sum == Approx(p->price));
        const Partition greedy = solve_greedy(r);
        if (greedy.feasible) {
            REQUIRE(greedy.price >= p->price - 1e-9);
            better_than_greedy += greedy.price > p->price + 1e-9;
        }
    }
    CHECK(better_than_greedy > 25);  // the exact solver is worth its time
    CHECK(infeasible < 200);
}

TEST_CASE("on AB + CD the best partition is found where greedy merging ends at ABC + D") {
    // A -> B -> C -> D. Merging B with C saves most, then A joins; C in a group with B cannot take D.
    Region r;
    r.size = 4;
    r.predecessors = {0, 1, 2, 4};
    const auto saved = [](NodeSet s) -> std::optional<double> {
        switch (s) {
            case 0b0011: return 8;   // AB
            case 0b0110: return 10;  // BC
            case 0b1100: return 9;   // CD
            case 0b0111: return 13;  // ABC
            default: return std::nullopt;
        }
    };
    r.price = [=](NodeSet s) -> std::optional<double> {
        const int n = __builtin_popcountll(s);
        if (n == 1) return 20;
        const auto gain = saved(s);
        return gain ? std::optional(20.0 * n - *gain) : std::nullopt;
    };
    CHECK(letters(solve_greedy(r)) == std::vector<std::string>{"ABC", "D"});
    CHECK(solve_greedy(r).price == 67);
    const Partition best = solve(r, 0);
    CHECK(letters(best) == std::vector<std::string>{"AB", "CD"});
    CHECK(best.price == 63);
    CHECK(best.exact);
}

TEST_CASE("groups that need each other are never chosen although each alone is convex") {
    Region r;  // A -> D, B -> C as edges A->C', two crossing dependences: {A, D} and {B, C} would wait for each other
    r.size = 4;
    r.predecessors = {0, 0, 0b0001, 0b0010};  // A -> C, B -> D
    r.price = [](NodeSet s) -> std::optional<double> {
        if (s == 0b1001 || s == 0b0110) return 1;  // {A, D}, {B, C}: A -> C, B -> D closes a cycle between them
        return __builtin_popcountll(s) == 1 ? std::optional(10.0) : std::nullopt;
    };
    const auto p = solve_exact(r);
    REQUIRE(p);
    CHECK(p->price == 21);
    CHECK(p->groups.size() == 3);
    CHECK(solve_greedy(r).price == 21);
}

TEST_CASE("beyond the exact size the gap to the bound is stated") {
    Region r;
    r.size = 40;
    for (int i = 0; i < 40; ++i) r.predecessors.push_back(i == 0 ? 0 : NodeSet{1} << (i - 1));
    r.largest = 4;
    r.price = [](NodeSet s) -> std::optional<double> {
        const NodeSet shifted = s >> __builtin_ctzll(s);
        return (shifted & (shifted + 1)) == 0 ? std::optional(5.0 + __builtin_popcountll(s)) : std::nullopt;  // runs of the chain
    };
    const Partition p = solve(r, 10 * 5 + 40);
    CHECK_FALSE(p.exact);
    CHECK(p.price == 90);  // ten groups of four
    CHECK(p.gap() == 0);
    CHECK(solve(r, 45).gap() == Approx(1));
}
