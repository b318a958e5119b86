// SPDX-License-Identifier: Apache-2.0
#include "dsl/passes/order_conflicts.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "isa/pipe_order.h"

namespace sfumato::dsl::order {

using namespace isa;

namespace {

// Distances of one pair in one loop.
struct Distance {
    int plain = 0, guarded = 0;
    bool never = false;     // the two can not meet (different fixed slots)
    bool restarts = false;  // exact inside one execution of the loop only: a conflict of distance 1 remains in the loop around it
};

class Finder {
public:
    Finder(const Model& m, const Chip& chip) : m_(m), chip_(chip) {}

    Pairs run() {
        for (const std::vector<int>& group : alias_groups()) buffer_group(group);
        for (std::size_t t = 0; t < m_.program.tensors.size(); ++t) tensor(static_cast<int>(t));
        return std::move(out_);
    }

private:
    const Access& at(int i) const { return m_.accesses[static_cast<std::size_t>(i)]; }

    // Buffers that share bytes form one group.
    std::vector<std::vector<int>> alias_groups() const {
        const auto& buffers = m_.program.buffers;
        std::vector<int> root(buffers.size());
        std::iota(root.begin(), root.end(), 0);
        const auto find = [&](int x) {
            while (root[static_cast<std::size_t>(x)] != x) x = root[static_cast<std::size_t>(x)];
            return x;
        };
        for (std::size_t i = 0; i < buffers.size(); ++i)
            for (std::size_t j = 0; j < i; ++j)
                if (shares(static_cast<int>(i), static_cast<int>(j)))
                    root[static_cast<std::size_t>(find(static_cast<int>(i)))] = find(static_cast<int>(j));
        std::vector<std::vector<int>> out(buffers.size());
        for (std::size_t a = 0; a < m_.accesses.size(); ++a)
            if (m_.accesses[a].buffer >= 0) out[static_cast<std::size_t>(find(m_.accesses[a].buffer))].push_back(static_cast<int>(a));
        std::erase_if(out, [](const auto& g) { return g.empty(); });
        return out;
    }
    bool shares(int x, int y) const {
        const Buffer &a = m_.program.buffers[static_cast<std::size_t>(x)], &b = m_.program.buffers[static_cast<std::size_t>(y)];
        if (a.space != b.space || !a.base || !b.base) return false;
        return *a.base < *b.base + b.slot_bytes * b.slots && *b.base < *a.base + a.slot_bytes * a.slots;
    }

    // Accesses of one block, slot, place and guard order each other: only neighbours are needed, the rest follows.
    void buffer_group(const std::vector<int>& group) {
        using Key = std::tuple<int, int, int, int, Guards>;
        std::map<Key, std::vector<int>> classes;
        for (int i : group) {
            const Access& a = at(i);
            classes[{m_.stmt(a.stmt).block, a.buffer, a.slot.id, a.offset.id, a.guards}].push_back(i);
        }
        std::vector<std::vector<int>> lists;
        for (auto& [key, list] : classes) lists.push_back(std::move(list));
        for (std::size_t i = 0; i < lists.size(); ++i) {
            same_class(lists[i]);
            for (std::size_t j = 0; j < lists.size(); ++j)
                if (i != j)
                    for (int a : lists[i])
                        for (int b : lists[j]) pair(a, b);
        }
    }

    void same_class(const std::vector<int>& list) {
        if (list.size() <= 24) {
            for (int a : list)
                for (int b : list) pair(a, b);
            return;
        }
        out_.all += count(list);
        // forward: last writer, and for a writer all readers since; then once around the back-edge
        std::vector<int> recent;
        const auto step = [&](int b, bool emit) {
            for (int a : recent)
                if (emit && (at(a).writes || at(b).writes)) solve(a, b);
            if (at(b).writes) recent.clear();
            recent.push_back(b);
        };
        for (int b : list) step(b, true);
        for (int b : list) {
            step(b, true);
            if (at(b).writes) break;
        }
    }

    // Ordered pairs of one class, one of them writing, without accumulation steps among themselves.
    int count(const std::vector<int>& list) const {
        int readers[2] = {0, 0}, writers[2] = {0, 0};  // [on the matrix pipe]
        for (int i : list) (at(i).writes ? writers : readers)[at(i).pipe == Pipe::m]++;
        const auto pairs = [](int r, int w) { return (r + w) * (r + w) - r * r; };
        const int all = pairs(readers[0] + readers[1], writers[0] + writers[1]) - pairs(readers[1], writers[1]);
        const bool repeats = m_.block(m_.stmt(at(list.front()).stmt).block).loop >= 0;
        return repeats ? all : (all - writers[0]) / 2;
    }

    void pair(int a, int b) {
        const Access &x = at(a), &y = at(b);
        if (!x.writes && !y.writes) return;
        if (x.pipe == y.pipe && x.pipe == Pipe::m) return;  // accumulation steps run one after the other
        if (x.unit_flag && y.unit_flag && x.pipe != y.pipe) return;
        if (apart(x, y)) return;
        const int loop = m_.block(m_.common_block(x.stmt, y.stmt)).loop;
        if (!before(x, y) && loop < 0) return;
        ++out_.all;
        solve(a, b);
    }
    bool before(const Access& x, const Access& y) const { return m_.stmt(x.stmt).begin < m_.stmt(y.stmt).begin; }
    bool apart(const Access& x, const Access& y) const {
        if (x.buffer != y.buffer || !x.bytes || !y.bytes) return false;
        return x.bytes->second <= y.bytes->first || y.bytes->second <= x.bytes->first;
    }

    // Records the pair when the machine does not order it by itself.
    void solve(int a, int b) {
        const Access &x = at(a), &y = at(b);
        if (x.hand && y.hand) return;
        if (x.pipe == y.pipe && !same_pipe_needs_barrier(chip_, x.pipe, m_.program.buffers[static_cast<std::size_t>(x.buffer)].space)) return;
        Pair p{a, b, m_.block(m_.common_block(x.stmt, y.stmt)).loop, 0, 0, {}};
        p.guards = m_.guards_within(intersection(x.guards, y.guards), p.loop);
        const Distance d = distance(x, y, p.loop, p.guards);
        if (d.never) return;
        p.distance = d.plain;
        p.guarded = d.guarded;
        if (p.loop < 0 && p.distance > 0) return;
        out_.list.push_back(p);
        if (!d.restarts) return;
        const int outer = m_.loop(p.loop).parent;
        if (outer < 0) return;
        out_.list.push_back({a, b, outer, 1, 1, m_.guards_within(intersection(x.guards, y.guards), outer)});
    }

    Distance distance(const Access& x, const Access& y, int loop, const Guards& guards) const {
        const bool forward = before(x, y);
        const Distance nearest{forward ? 0 : 1, forward ? 0 : 1, false, false};
        if (x.buffer < 0 || x.buffer != y.buffer) return nearest;
        const Rotation &r = x.rotation, &s = y.rotation;
        if (r.constant && s.constant) return {nearest.plain, nearest.guarded, r.slot != s.slot, false};
        const bool same = r.loop >= 0 && r.loop == s.loop && r.symbol == s.symbol && r.modulus == s.modulus && r.loop == loop;
        if (!same) return nearest;
        if (!subset(r.guards, guards)) return nearest;  // the counter stands still in iterations that matter
        std::int64_t steps = apply(ExprOp::mod, r.add - s.add, r.modulus);
        if (steps == 0 && !forward) steps = r.modulus;
        const int plain = static_cast<int>(steps), least = forward && plain == 0 ? 0 : 1;
        // a counter advanced under a guard counts guarded iterations, otherwise all of them
        const bool own = !r.guards.empty();
        const int guarded = own ? plain : (plain == 0 ? 0 : guards.empty() ? plain : least);
        return {plain, guarded, false, !r.running};
    }

    // Stores and loads of one tensor, unless the iterations are provably apart. Same-pipe accesses reach GM in order.
    void tensor(int t) {
        std::vector<int> list;
        for (std::size_t a = 0; a < m_.accesses.size(); ++a)
            if (m_.accesses[a].tensor == t) list.push_back(static_cast<int>(a));
        for (int a : list)
            for (int b : list) {
                const Access &x = at(a), &y = at(b);
                if (x.pipe == y.pipe || (!x.writes && !y.writes) || (x.hand && y.hand) || apart_tensor(x, y)) continue;
                const int loop = m_.block(m_.common_block(x.stmt, y.stmt)).loop;
                const bool forward = before(x, y);
                if (!forward && (loop < 0 || steps_apart(x, y, loop))) continue;
                ++out_.all;
                out_.list.push_back({a, b, loop, forward ? 0 : 1, forward ? 0 : 1, m_.guards_within(intersection(x.guards, y.guards), loop)});
            }
    }
    bool apart_tensor(const Access& x, const Access& y) const {
        return x.bytes && y.bytes && (x.bytes->second <= y.bytes->first || y.bytes->second <= x.bytes->first);
    }
    // Both use the same place, which moves on with every iteration by at least what one access covers.
    bool steps_apart(const Access& x, const Access& y, int loop) const {
        if (x.offset != y.offset || !x.offset || m_.loop(loop).parent >= 0) return false;
        const std::int64_t step = least_step(x.offset, m_.loop(loop).counter);
        return step > 0 && extent(x) > 0 && extent(x) <= step && extent(y) > 0 && extent(y) <= step;
    }
    // Bytes of an access whose extents are bounded by constants; 0: unknown.
    std::int64_t extent(const Access& a) const {
        const StmtInfo& s = m_.stmt(a.stmt);
        const Instr* in = instr(s);
        if (!in) return 0;
        std::vector<Interval> any(m_.program.symbols.size(), Interval{0, std::int64_t{1} << 40});
        const auto most = [&](Expr e) { return e ? range(m_.program.exprs, e, any).hi : std::int64_t{0}; };
        std::int64_t rows = 0, cols = 0, pitch = 0, size = 0;
        if (const Copy* c = std::get_if<Copy>(&in->operands)) {
            rows = most(c->rows), cols = most(c->cols), size = bytes_of(c->dtype);
            pitch = most(c->src.space == Space::gm ? c->src_pitch : c->dst_pitch);
        } else if (const Drain* d = std::get_if<Drain>(&in->operands)) {
            rows = most(d->rows), cols = most(d->cols), size = bytes_of(d->dst_dtype), pitch = most(d->dst_pitch);
        }
        constexpr std::int64_t kLarge = std::int64_t{1} << 36;
        if (rows > kLarge || cols > kLarge || (rows > 1 && pitch > kLarge)) return 0;
        return (rows > 1 ? (rows - 1) * pitch + cols : cols) * size;
    }
    const Instr* instr(const StmtInfo& s) const {
        const int owner = m_.block(s.block).stmt;
        const Block* b = &m_.section.body;
        if (owner >= 0) {
            std::vector<int> path;
            for (int o = owner; o >= 0; o = m_.block(m_.stmt(o).block).stmt) path.push_back(o);
            for (auto it = path.rbegin(); it != path.rend(); ++it) {
                const Stmt& node = (*b)[static_cast<std::size_t>(m_.stmt(*it).index)];
                b = std::holds_alternative<Loop>(node.node) ? &std::get<Loop>(node.node).body : &std::get<When>(node.node).body;
            }
        }
        return std::get_if<Instr>(&(*b)[static_cast<std::size_t>(s.index)].node);
    }
    // Least increase of `e` when the loop counter grows by one and everything else stays; 0 when unknown. Parameters are at least 1.
    std::int64_t least_step(Expr e, SymbolId counter) const {
        const ExprPool& pool = m_.program.exprs;
        if (!pool.uses(e, counter)) return 0;
        const ExprNode& n = pool.node(e);
        if (n.op == ExprOp::symbol) return 1;
        if (n.op == ExprOp::add) {
            const std::int64_t a = least_step(n.a, counter), b = least_step(n.b, counter);
            if ((pool.uses(n.a, counter) && a <= 0) || (pool.uses(n.b, counter) && b <= 0)) return 0;
            return a + b;
        }
        if (n.op != ExprOp::mul) return 0;
        const Expr with = pool.uses(n.a, counter) ? n.a : n.b, other = with == n.a ? n.b : n.a;
        if (pool.uses(other, counter)) return 0;
        const ExprNode& f = pool.node(other);
        if (f.op == ExprOp::constant) return f.value > 0 ? least_step(with, counter) * f.value : 0;
        if (f.op != ExprOp::symbol) return 0;
        const SymbolKind k = m_.program.symbols[static_cast<std::size_t>(f.value)].kind;
        return k == SymbolKind::param || k == SymbolKind::block_num ? least_step(with, counter) : 0;
    }

    const Model& m_;
    const Chip& chip_;
    Pairs out_;
};

}  // namespace

Pairs find_pairs(const Model& m, const Chip& chip) { return Finder(m, chip).run(); }

}  // namespace sfumato::dsl::order
