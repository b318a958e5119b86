// SPDX-License-Identifier: Apache-2.0
#include "dsl/passes/order_solve.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "isa/diagnostic.h"

namespace sfumato::dsl::order {

using namespace isa;

Solver::Solver(const Model& m, const Chip& chip, int ids, const std::map<PipePair, int>& taken)
    : m_(m), chip_(chip), ids_(ids), taken_(taken), cover_(m, s_.flags) {}

Query Solver::query(const Pair& p) const {
    const Access &a = access(p.a), &b = access(p.b);
    const int start = m_.stmt(a.stmt).end, goal = m_.stmt(b.stmt).begin;
    return {a.pipe, b.pipe, p.loop, p.distance, p.guarded, start, goal, a.stmt, b.stmt, a.guards, b.guards, intersection(a.guards, b.guards)};
}

Flag Solver::flag_for(const Pair& p) const {
    const Access &a = access(p.a), &b = access(p.b);
    Flag f{.src = a.pipe, .dst = b.pipe, .loop = p.loop, .distance = p.distance};
    const int meet = m_.common_block(a.stmt, b.stmt), body = m_.body(p.loop);
    const bool near = m_.block(meet).loop == p.loop;
    // an unguarded flag may run further ahead than a guarded one
    f.block = near && (p.distance == 0 || p.distance <= p.guarded) ? meet : body;
    const Guards given = m_.block(f.block).guards;
    if (f.block == meet) {
        const Guards ga = difference(a.guards, given), gb = difference(b.guards, given);
        const bool same = !ga.empty() && ga == gb && std::all_of(ga.begin(), ga.end(), [&](int c) { return m_.evaluable(c, p.loop); });
        if (same) f.wrap = ga;
    }
    f.guards = united(m_.guards_within(given, p.loop), f.wrap);
    f.after = m_.child(f.block, a.stmt);
    f.before = m_.child(f.block, b.stmt);
    // a stretch the author orders stays in one piece
    const std::vector<int>& siblings = m_.block(f.block).stmts;
    const auto hand = [&](int index) { return m_.stmt(siblings[static_cast<std::size_t>(index)]).hand; };
    int last = m_.stmt(f.after).index, first = m_.stmt(f.before).index;
    if (hand(last) && !hand(first))
        while (last + 1 < static_cast<int>(siblings.size()) && hand(last + 1)) ++last;
    if (hand(first) && !hand(m_.stmt(f.after).index))
        while (first > 0 && hand(first - 1)) --first;
    f.after = siblings[static_cast<std::size_t>(last)];
    f.before = siblings[static_cast<std::size_t>(first)];
    f.set_at = m_.stmt(f.after).end;
    f.wait_at = m_.stmt(f.before).begin;
    if (f.src == f.dst) return barrier_before(f, f.src);
    return f;
}

Flag Solver::barrier_before(const Flag& f, Pipe p) const {
    Flag b = f;
    b.barrier = true;
    b.src = b.dst = p;
    b.distance = 0;
    b.after = -1;
    b.wrap.clear();
    b.guards = m_.guards_within(m_.block(b.block).guards, b.loop);
    b.set_at = b.wait_at;
    b.ids = 0;
    return b;
}

void Solver::insert() {
    std::vector<std::size_t> order(s_.pairs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto rank = [&](std::size_t i) {
        const Pair& p = s_.pairs[i];
        const Access &a = access(p.a), &b = access(p.b);
        const int depth = p.loop < 0 ? -1 : m_.loop(p.loop).depth;
        const int span = p.distance == 0 ? m_.stmt(b.stmt).begin - m_.stmt(a.stmt).end : 0;
        return std::tuple(a.pipe == b.pipe, -depth, p.distance, span, i);
    };
    std::vector<std::tuple<bool, int, int, int, std::size_t>> ranked;
    for (std::size_t i : order) ranked.push_back(rank(i));
    std::sort(ranked.begin(), ranked.end());
    for (const auto& r : ranked) {
        const Pair& p = s_.pairs[std::get<4>(r)];
        if (cover_.covered(query(p))) continue;
        Flag f = flag_for(p);
        f.pair = static_cast<int>(std::get<4>(r));
        s_.flags.push_back(f);
    }
}

void Solver::refresh_chains() {
    s_.chains.assign(s_.pairs.size(), {});
    for (std::size_t i = 0; i < s_.pairs.size(); ++i)
        check(cover_.covered(query(s_.pairs[i]), -1, &s_.chains[i]), "a conflict is not ordered by the flags inserted for it");
}

// Every pair that leans on the flag finds another way.
bool Solver::droppable(int flag) {
    std::vector<std::pair<std::size_t, std::vector<int>>> other;
    for (std::size_t i = 0; i < s_.pairs.size(); ++i) {
        const std::vector<int>& chain = s_.chains[i];
        if (std::find(chain.begin(), chain.end(), flag) == chain.end()) continue;
        std::vector<int> detour;
        if (!cover_.covered(query(s_.pairs[i]), flag, &detour)) return false;
        other.emplace_back(i, std::move(detour));
    }
    for (auto& [i, chain] : other) s_.chains[i] = std::move(chain);
    return true;
}

void Solver::rename(int from, int to) {
    for (std::vector<int>& chain : s_.chains) std::replace(chain.begin(), chain.end(), from, to);
}

void Solver::drop_redundant() {
    std::vector<std::tuple<int, int, int>> order;
    for (std::size_t i = 0; i < s_.flags.size(); ++i) {
        const Flag& f = s_.flags[i];
        if (!f.dropped && !f.bounds) order.emplace_back(-f.distance, f.distance == 0 ? f.set_at - f.wait_at : 0, static_cast<int>(i));
    }
    std::sort(order.begin(), order.end());
    for (const auto& [distance, span, i] : order)
        if (droppable(i)) s_.flags[static_cast<std::size_t>(i)].dropped = true;
}

// Sets that can be outstanding: the wait must be sure to happen before the set that uses the id again.
int Solver::ids_needed(const Flag& f, std::vector<int>* way_back) const {
    if (f.barrier) return 0;
    if (f.loop < 0) return 1;
    Query q;
    q.from = f.dst;
    q.to = f.src;
    q.loop = f.loop;
    q.start = f.wait_at;
    q.goal = f.set_at;
    q.start_guards = q.goal_guards = q.common = united(f.guards, m_.block(m_.body(f.loop)).guards);
    for (int back = f.wait_at <= f.set_at ? 0 : 1; back <= std::max(8, 4 * ids_); ++back) {
        q.distance = q.guarded = back;
        if (cover_.covered(q, -1, way_back)) return std::max(1, f.distance + back);
    }
    return 0;
}

std::vector<int> Solver::of_pair(PipePair pair) const {
    std::vector<int> out;
    for (std::size_t i = 0; i < s_.flags.size(); ++i) {
        const Flag& f = s_.flags[i];
        if (!f.dropped && !f.barrier && f.src == pair.first && f.dst == pair.second) out.push_back(static_cast<int>(i));
    }
    return out;
}

void Solver::count_ids() {
    for (Flag& f : s_.flags)
        if (!f.dropped) f.ids = ids_needed(f);
}

int Solver::limit(PipePair pair) const {
    const auto t = taken_.find(pair);
    return std::max(0, ids_ - (t == taken_.end() ? 0 : t->second));
}

std::string Solver::describe(const Flag& f, const Solution& s) const {
    if (f.pair < 0) return std::string(name(f.src)) + " > " + std::string(name(f.dst));
    const Pair& p = s.pairs[static_cast<std::size_t>(f.pair)];
    const Access &a = access(p.a), &b = access(p.b);
    const std::string object =
        a.buffer >= 0 ? m_.program.buffers[static_cast<std::size_t>(b.buffer)].name : m_.program.tensors[static_cast<std::size_t>(a.tensor)].name;
    const auto line = [&](const Access& x) {
        const std::string at = where(m_.program, x.source);
        return std::string(desc(x.op).name) + (at.empty() ? "" : " at " + at);
    };
    return line(b) + (b.writes ? " overwrites " : " reads ") + object + " after " + line(a) + (a.writes ? " wrote it" : " read it");
}

Solution Solver::run() {
    Pairs pairs = find_pairs(m_, chip_);
    s_.pairs = std::move(pairs.list);
    s_.all_pairs = pairs.all;
    insert();
    refresh_chains();
    drop_redundant();
    count_ids();
    bound_unbounded();
    fit_ids();
    refresh_chains();
    return std::move(s_);
}

}  // namespace sfumato::dsl::order
