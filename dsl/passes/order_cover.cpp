// SPDX-License-Identifier: Apache-2.0
#include "dsl/passes/order_cover.h"

#include <utility>

namespace sfumato::dsl::order {

using namespace isa;

// One flag taken from `from` (a point of the flag's source pipe). Points are (iteration of the query's loop, position); iteration 0 is a's,
// iteration `distance` is b's.
bool Cover::step(const Query& q, const State& from, const Flag& f, State& to) const {
    const bool in_start = from.iteration == 0, before_set = from.position <= f.set_at;
    if (f.loop == q.loop) {
        if (f.guards.empty()) {
            to.iteration = from.iteration + (before_set ? 0 : 1) + f.distance;
            to.position = f.wait_at;
            return to.iteration <= q.distance;
        }
        to.position = f.wait_at;
        if (f.distance == 0) {
            if (in_start && before_set && subset(f.guards, q.start_guards)) {
                to.iteration = 0;
                return true;
            }
            to.iteration = q.distance;
            return subset(f.guards, q.goal_guards) && (from.iteration < q.distance || before_set);
        }
        // guarded iterations are counted on their own: from a's to b's there are at least `guarded` of them
        to.iteration = q.distance;
        return in_start && before_set && subset(f.guards, q.common) && q.distance > 0 && f.distance <= q.guarded;
    }
    // flags of loops inside: only within the iteration that runs a, or the one that runs b, since other executions may have no iterations
    if (f.distance != 0 || !m_.encloses(q.loop, f.loop)) return false;
    to.position = f.wait_at;
    const StmtInfo& loop_stmt = m_.stmt(m_.loop(f.loop).stmt);
    if (q.start_stmt >= 0 && in_start && m_.inside(q.start_stmt, f.loop) && from.position > loop_stmt.begin && before_set &&
        subset(f.guards, q.start_guards)) {
        to.iteration = 0;
        return true;
    }
    if (q.goal_stmt < 0 || !m_.inside(q.goal_stmt, f.loop) || !subset(f.guards, q.goal_guards)) return false;
    to.iteration = q.distance;
    return from.iteration < q.distance || before_set;
}

void Cover::index() const {
    for (; indexed_ < flags_.size(); ++indexed_) {
        const Flag& f = flags_[indexed_];
        for (std::size_t p = 0; p < by_source_.size(); ++p)
            if (f.src == Pipe::all || static_cast<std::size_t>(f.src) == p) by_source_[p].push_back(static_cast<int>(indexed_));
    }
}

// Dijkstra over the pipes: an earlier point of a pipe is never worse than a later one, so each pipe is expanded once (and once more for the start).
bool Cover::covered(const Query& q, int without, std::vector<int>* chain) const {
    index();
    std::vector<State> steps;
    std::array<int, kPipeCount> best;  // step that reached the pipe earliest, -1: none
    std::array<bool, kPipeCount> done{};
    best.fill(-1);
    const auto point = [](const State& s) { return std::pair{s.iteration, s.position}; };
    const auto expand = [&](std::size_t pipe, const State& from, int from_step) {
        for (const int i : by_source_[pipe]) {
            const Flag& f = flags_[static_cast<std::size_t>(i)];
            State to;
            if (f.dropped || i == without || !step(q, from, f, to) || point(to) > std::pair{q.distance, q.goal}) continue;
            to.flag = i;
            to.previous = from_step;
            for (std::size_t p = 0; p < kPipeCount; ++p) {
                if (f.dst != Pipe::all && p != static_cast<std::size_t>(f.dst)) continue;
                if (best[p] >= 0 && point(steps[static_cast<std::size_t>(best[p])]) <= point(to)) continue;
                best[p] = static_cast<int>(steps.size());
                steps.push_back(to);
            }
        }
    };
    expand(static_cast<std::size_t>(q.from), State{0, q.start, -1, -1}, -1);
    for (;;) {
        int next = -1;
        for (std::size_t p = 0; p < kPipeCount; ++p)
            if (best[p] >= 0 && !done[p] &&
                (next < 0 ||
                 point(steps[static_cast<std::size_t>(best[p])]) < point(steps[static_cast<std::size_t>(best[static_cast<std::size_t>(next)])])))
                next = static_cast<int>(p);
        if (next < 0 || next == static_cast<int>(q.to)) break;
        done[static_cast<std::size_t>(next)] = true;
        const int s = best[static_cast<std::size_t>(next)];
        expand(static_cast<std::size_t>(next), State(steps[static_cast<std::size_t>(s)]), s);
    }
    int s = best[static_cast<std::size_t>(q.to)];
    if (s < 0) return false;
    if (chain) {
        chain->clear();
        for (; s >= 0; s = steps[static_cast<std::size_t>(s)].previous) chain->insert(chain->begin(), steps[static_cast<std::size_t>(s)].flag);
    }
    return true;
}

}  // namespace sfumato::dsl::order
