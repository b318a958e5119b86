// SPDX-License-Identifier: Apache-2.0
// The ladder that fits flags to the event ids of the chip: merge flags, let flags use the same ids in turn, let fewer iterations run ahead, and at
// last a barrier. Each step is noted.
#include <algorithm>
#include <tuple>

#include "dsl/passes/order_solve.h"
#include "isa/diagnostic.h"

namespace sfumato::dsl::order {

using namespace isa;

namespace {
std::string pair_text(Pipe a, Pipe b) { return std::string(name(a)) + " > " + std::string(name(b)); }
std::string count_text(int n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }
}  // namespace

// The wait of `first` is sure to be past when `then` sets.
bool Solver::may_follow(const Flag& first, const Flag& then, int distance) const {
    Query q;
    q.from = first.dst;
    q.to = first.src;
    q.loop = first.loop;
    q.distance = q.guarded = distance;
    q.start = first.wait_at;
    q.goal = then.set_at;
    return cover_.covered(q);
}

// Flags inside one iteration whose lives follow each other use the same ids. Consecutive ones are compared, and the last with the first of
// the next round; the rest follows since a wait comes after its set.
int Solver::used(PipePair pair) {
    const auto t = taken_.find(pair);
    const int start = t == taken_.end() ? 0 : t->second;
    int next = start;
    std::vector<std::pair<int, int>> lanes;  // first and last flag that use the same ids
    std::vector<int> order = of_pair(pair);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return s_.flags[static_cast<std::size_t>(a)].set_at < s_.flags[static_cast<std::size_t>(b)].set_at; });
    for (int i : order) {
        Flag& f = s_.flags[static_cast<std::size_t>(i)];
        const bool shareable = f.distance == 0 && f.guards.empty();
        bool placed = false;
        for (auto& [first, last] : lanes) {
            const Flag &a = s_.flags[static_cast<std::size_t>(first)], &z = s_.flags[static_cast<std::size_t>(last)];
            if (!shareable || a.loop != f.loop || a.ids != f.ids || !may_follow(z, f, 0) || (f.loop >= 0 && !may_follow(f, a, f.ids))) continue;
            f.base = a.base;
            last = i;
            placed = true;
            break;
        }
        if (placed) continue;
        f.base = next;
        next += f.ids;
        if (shareable) lanes.emplace_back(i, i);
    }
    return next - start;
}

int Solver::excess(PipePair& pair) {
    for (int a = 0; a < kPipeCount; ++a)
        for (int b = 0; b < kPipeCount; ++b) {
            pair = {static_cast<Pipe>(a), static_cast<Pipe>(b)};
            if (of_pair(pair).empty()) continue;
            if (const int over = used(pair) - limit(pair); over > 0) return over;
        }
    return 0;
}

// Two flags of one pair and loop become one: set after the later, waited for before the earlier. The pair with the least added wait is taken.
bool Solver::merge(PipePair pair) {
    const std::vector<int> list = of_pair(pair);
    int best_a = -1, best_b = -1, least = 0;
    for (std::size_t i = 0; i < list.size(); ++i)
        for (std::size_t j = i + 1; j < list.size(); ++j) {
            const Flag &x = s_.flags[static_cast<std::size_t>(list[i])], &y = s_.flags[static_cast<std::size_t>(list[j])];
            if (x.loop != y.loop || x.block != y.block || x.guards != y.guards || x.distance != y.distance) continue;
            if (x.distance == 0 && std::max(x.set_at, y.set_at) >= std::min(x.wait_at, y.wait_at)) continue;
            const int cost = std::abs(x.set_at - y.set_at) + std::abs(x.wait_at - y.wait_at);
            if (best_a >= 0 && cost >= least) continue;
            best_a = list[i], best_b = list[j], least = cost;
        }
    if (best_a < 0) return false;
    Flag &x = s_.flags[static_cast<std::size_t>(best_a)], &y = s_.flags[static_cast<std::size_t>(best_b)];
    if (y.set_at > x.set_at) x.set_at = y.set_at, x.after = y.after;
    if (y.wait_at < x.wait_at) x.wait_at = y.wait_at, x.before = y.before;
    y.dropped = true;
    rename(best_b, best_a);
    s_.notes.push_back("merged two flags " + pair_text(x.src, x.dst) + " (" + describe(x) + "; " + describe(y) + "): the pair has " +
                       count_text(limit(pair), "event id"));
    return true;
}

// Flags inside one iteration that no order separates: flags the other way let every half of them finish before the ids come round again.
bool Solver::share(PipePair pair) {
    if (std::find(shared_.begin(), shared_.end(), pair) != shared_.end()) return false;
    shared_.push_back(pair);
    std::map<int, std::vector<int>> by_block;
    for (int i : of_pair(pair)) {
        const Flag& f = s_.flags[static_cast<std::size_t>(i)];
        if (f.distance == 0 && f.guards.empty()) by_block[f.block].push_back(i);
    }
    bool any = false;
    for (auto& [block, list] : by_block) {
        std::sort(list.begin(), list.end(),
                  [&](int a, int b) { return s_.flags[static_cast<std::size_t>(a)].set_at < s_.flags[static_cast<std::size_t>(b)].set_at; });
        const int ids = std::max(1, s_.flags[static_cast<std::size_t>(list.front())].ids), lanes = limit(pair) / ids, half = std::max(1, lanes / 2);
        if (lanes < 1) continue;
        for (int first = 0; first + lanes < static_cast<int>(list.size()); first += half) {
            const Flag past = s_.flags[static_cast<std::size_t>(list[static_cast<std::size_t>(first + half - 1)])];
            const Flag next = s_.flags[static_cast<std::size_t>(list[static_cast<std::size_t>(first + lanes)])];
            const int set_at = m_.stmt(past.before).end, wait_at = m_.stmt(next.after).begin;
            if (set_at > wait_at) continue;
            Flag back = past;
            std::swap(back.src, back.dst);
            back.after = past.before;
            back.before = next.after;
            back.set_at = set_at;
            back.wait_at = wait_at;
            back.bounds = true;
            s_.flags.push_back(back);
            any = true;
        }
    }
    if (any)
        s_.notes.push_back("flags " + pair_text(pair.first, pair.second) + " use the same ids in turn, kept apart by flags " +
                           pair_text(pair.second, pair.first) + ": the pair has " + count_text(limit(pair), "event id"));
    return any;
}

// Fewer iterations may be outstanding: the flag, or one on the way back from its wait to its next set, gets a distance one smaller.
bool Solver::tighten(PipePair pair) {
    int best = -1;
    const auto consider = [&](int i) {
        const Flag& f = s_.flags[static_cast<std::size_t>(i)];
        if (f.distance > 1 && (best < 0 || f.distance > s_.flags[static_cast<std::size_t>(best)].distance)) best = i;
    };
    for (int i : of_pair(pair)) {
        consider(i);
        std::vector<int> way_back;
        if (ids_needed(s_.flags[static_cast<std::size_t>(i)], &way_back) > 1)
            for (int f : way_back) consider(f);
    }
    if (best < 0) return false;
    Flag& f = s_.flags[static_cast<std::size_t>(best)];
    --f.distance;
    s_.notes.push_back("flag " + pair_text(f.src, f.dst) + " (" + describe(f) + ") lets " + count_text(f.distance, "iteration") +
                       " run ahead instead of " + std::to_string(f.distance + 1) + ": " + pair_text(pair.first, pair.second) + " has " +
                       count_text(limit(pair), "event id"));
    return true;
}

void Solver::to_barrier(PipePair pair) {
    const std::vector<int> list = of_pair(pair);
    const int chosen = *std::max_element(list.begin(), list.end(), [&](int a, int b) {
        const Flag &x = s_.flags[static_cast<std::size_t>(a)], &y = s_.flags[static_cast<std::size_t>(b)];
        const int dx = x.loop < 0 ? -1 : m_.loop(x.loop).depth, dy = y.loop < 0 ? -1 : m_.loop(y.loop).depth;
        return std::tuple(-dx, x.ids) < std::tuple(-dy, y.ids);  // outside of loops first
    });
    Flag barrier = barrier_before(s_.flags[static_cast<std::size_t>(chosen)], Pipe::all);
    s_.flags[static_cast<std::size_t>(chosen)].dropped = true;
    s_.notes.push_back("barrier of all pipes instead of flag " + pair_text(pair.first, pair.second) + " (" + describe(barrier) + "): the pair has " +
                       count_text(limit(pair), "event id"));
    s_.flags.push_back(barrier);
    rename(chosen, static_cast<int>(s_.flags.size()) - 1);
}

// A flag whose sets nothing holds back gets a flag the other way round.
void Solver::bound_unbounded() {
    for (std::size_t i = 0; i < s_.flags.size(); ++i) {
        const Flag f = s_.flags[i];
        if (f.dropped || f.barrier || f.ids > 0) continue;
        if (f.ids == 0 && ids_needed(f) > 0) {
            s_.flags[i].ids = ids_needed(f);
            continue;
        }
        Flag back = f;
        std::swap(back.src, back.dst);
        std::swap(back.after, back.before);
        back.set_at = m_.stmt(back.after).end;
        back.wait_at = m_.stmt(back.before).begin;
        back.distance = f.distance == 0 ? 2 : 1;
        back.pair = f.pair;
        back.bounds = true;
        s_.flags.push_back(back);
        s_.flags[i].ids = ids_needed(s_.flags[i]);
        s_.flags.back().ids = ids_needed(s_.flags.back());
        s_.notes.push_back("flag " + pair_text(back.src, back.dst) + " bounds how far " + std::string(name(f.src)) + " runs ahead (" + describe(f) +
                           ")");
        check(s_.flags[i].ids > 0 && s_.flags.back().ids > 0, "a flag stays unbounded");
    }
}

void Solver::fit_ids() {
    PipePair pair;
    while (const int over = excess(pair)) {
        bool merged = false;
        for (int i = 0; i < std::max(1, over / 4) && merge(pair); ++i) merged = true;
        if (!merged && !share(pair) && !tighten(pair)) to_barrier(pair);
        drop_redundant();
        count_ids();
        bound_unbounded();
    }
}

}  // namespace sfumato::dsl::order
