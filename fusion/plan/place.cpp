// SPDX-License-Identifier: Apache-2.0
#include "fusion/plan/place.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace sfumato::fusion::plan {

Conflicts conflicts_in_time(const std::vector<Block>& blocks) {
    Conflicts out(blocks.size());
    std::vector<int> order(blocks.size());
    std::iota(order.begin(), order.end(), 0);
    const auto at = [&](int i) -> const Block& { return blocks[static_cast<std::size_t>(i)]; };
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return at(a).first < at(b).first; });
    std::vector<int> live;
    for (const int i : order) {
        live.erase(std::remove_if(live.begin(), live.end(), [&](int j) { return at(j).last < at(i).first; }), live.end());
        for (const int j : live) {
            out[static_cast<std::size_t>(i)].push_back(j);
            out[static_cast<std::size_t>(j)].push_back(i);
        }
        live.push_back(i);
    }
    return out;
}

namespace {

enum class Fit { first, best };

// Puts blocks down in the given order, each into a gap between its conflicts that were put down before: the lowest gap or the tightest.
Placed put_down(const std::vector<Block>& blocks, const Conflicts& conflicts, const std::vector<int>& order, Fit fit) {
    Placed p;
    p.offsets.assign(blocks.size(), -1);
    std::vector<std::pair<std::int64_t, std::int64_t>> taken;  // offset, end
    for (const int index : order) {
        const auto i = static_cast<std::size_t>(index);
        taken.clear();
        for (const int other : conflicts[i]) {
            const auto j = static_cast<std::size_t>(other);
            if (p.offsets[j] >= 0 && blocks[j].bytes > 0) taken.push_back({p.offsets[j], p.offsets[j] + blocks[j].bytes});
        }
        std::sort(taken.begin(), taken.end());
        std::int64_t free_from = 0, at = -1, slack = INT64_MAX;
        for (const auto& [from, to] : taken) {
            const std::int64_t gap = from - free_from;
            if (gap >= blocks[i].bytes && gap - blocks[i].bytes < slack) {
                at = free_from;
                slack = gap - blocks[i].bytes;
                if (fit == Fit::first) break;
            }
            free_from = std::max(free_from, to);
        }
        p.offsets[i] = at >= 0 ? at : free_from;
        p.arena = std::max(p.arena, p.offsets[i] + blocks[i].bytes);
    }
    return p;
}

struct Strategy {
    const char* name;
    Fit fit;
    std::function<std::pair<std::int64_t, std::int64_t>(const Block&)> key;  ///< ascending; ties by index
};

const std::vector<Strategy>& strategies() {
    static const std::vector<Strategy> all{
        {"largest first, lowest gap", Fit::first, [](const Block& b) { return std::pair(-b.bytes, -std::int64_t{b.last - b.first}); }},
        {"largest first, tightest gap", Fit::best, [](const Block& b) { return std::pair(-b.bytes, -std::int64_t{b.last - b.first}); }},
        {"longest first, lowest gap", Fit::first, [](const Block& b) { return std::pair(-std::int64_t{b.last - b.first}, -b.bytes); }},
        {"most byte-steps first, lowest gap", Fit::first,
         [](const Block& b) { return std::pair(-static_cast<std::int64_t>(static_cast<double>(b.bytes) / 512 * (b.last - b.first + 1)), -b.bytes); }},
        {"in order of time, tightest gap", Fit::best, [](const Block& b) { return std::pair(std::int64_t{b.first}, -b.bytes); }},
        {"in order of time, lowest gap", Fit::first, [](const Block& b) { return std::pair(std::int64_t{b.first}, -b.bytes); }},
        {"in order of release, tightest gap", Fit::best, [](const Block& b) { return std::pair(-std::int64_t{b.last}, -b.bytes); }},
    };
    return all;
}

// All orders of few blocks, lowest gap: some order of this kind gives the smallest arena.
void exact(const std::vector<Block>& blocks, const Conflicts& conflicts, std::int64_t bound, Placed& best) {
    std::vector<int> order(blocks.size());
    std::iota(order.begin(), order.end(), 0);
    do {
        Placed p = put_down(blocks, conflicts, order, Fit::first);
        if (p.arena < best.arena) {
            best = std::move(p);
            best.strategy = "exact";
        }
    } while (best.arena > bound && std::next_permutation(order.begin(), order.end()));
}

// Blocks that stick out at the top are put down earlier: repairs most of what one bad place costs.
void repair(const std::vector<Block>& blocks, const Conflicts& conflicts, std::int64_t bound, std::vector<int> order, Placed& best, int rounds) {
    for (int round = 0; round < rounds && best.arena > bound; ++round) {
        Placed p = put_down(blocks, conflicts, order, Fit::first);
        if (p.arena < best.arena) {
            best = p;
            best.strategy = "largest first, repaired";
        }
        const auto top = std::find_if(order.begin(), order.end(), [&](int i) {
            return p.offsets[static_cast<std::size_t>(i)] + blocks[static_cast<std::size_t>(i)].bytes == p.arena;
        });
        const auto to = order.begin() + (top - order.begin()) / 2;
        if (top == to) return;
        std::rotate(to, top, std::next(top));
    }
}

}  // namespace

Placed place(const std::vector<Block>& blocks, const Conflicts& conflicts, std::int64_t bound) {
    Placed best;
    best.arena = INT64_MAX;
    std::vector<int> by_size;
    for (const Strategy& s : strategies()) {
        std::vector<std::pair<std::pair<std::int64_t, std::int64_t>, int>> keyed;
        for (std::size_t i = 0; i < blocks.size(); ++i) keyed.push_back({s.key(blocks[i]), static_cast<int>(i)});
        std::sort(keyed.begin(), keyed.end());
        std::vector<int> order;
        for (const auto& [key, i] : keyed) order.push_back(i);
        Placed p = put_down(blocks, conflicts, order, s.fit);
        if (by_size.empty()) by_size = order;
        if (p.arena < best.arena) {
            best = std::move(p);
            best.strategy = s.name;
        }
        if (best.arena <= bound) return best;
    }
    if (blocks.size() <= 7) exact(blocks, conflicts, bound, best);
    repair(blocks, conflicts, bound, by_size, best, blocks.size() < 2000 ? 60 : 8);
    return best;
}

}  // namespace sfumato::fusion::plan
