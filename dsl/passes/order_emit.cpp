// SPDX-License-Identifier: Apache-2.0
#include "dsl/passes/order_emit.h"

#include <algorithm>
#include <map>

#include "isa/diagnostic.h"

namespace sfumato::dsl::order {

using namespace isa;

namespace {

// Statements to add around one statement, in the order they stand in the text.
struct Around {
    Block sets, drains;             // behind it
    Block waits, barriers, primes;  // in front of it
    Block bumps;                    // behind everything else (last statement of a loop body)
};

class Emitter {
public:
    Emitter(Model& m, const std::vector<Flag>& flags) : m_(m), flags_(flags) {}

    void run() {
        for (const Flag& f : flags_)
            if (!f.dropped) place(f);
        rewrite(m_.section.body, 0);
    }

private:
    // The count of iterations that a flag's ids follow, as an expression before and behind a position.
    struct Index {
        SymbolId symbol = -1;
        int bump_at = -1;  // position of an existing Bump inside the body, -1: at the end
    };

    void place(const Flag& f) {
        if (f.barrier) {
            around_[f.before].barriers.push_back(sync(Op::barrier, f.src, f.src, {}, source(f.before)));
            return;
        }
        if (f.loop < 0) {
            add_set(f, m_.program.constant(f.base));
            add_wait(f, m_.program.constant(f.base));
            return;
        }
        if (f.ids == 1) {
            add_set(f, m_.program.constant(f.base));
            add_wait(f, m_.program.constant(f.base));
        } else {
            const Index index = index_for(f);
            add_set(f, id(f, index, 0, f.set_at));
            add_wait(f, id(f, index, -f.distance, f.wait_at));
            if (f.distance > 0 && f.ids > f.distance) {
                frame(f, index);
                return;
            }
        }
        if (f.distance > 0) frame(f, {});
    }

    Expr id(const Flag& f, const Index& index, int shift, int position) {
        ExprPool& e = m_.program.exprs;
        if (index.bump_at >= 0 && position > index.bump_at) --shift;
        return e.add(e.mod(e.add(m_.program.symbol(index.symbol), m_.program.constant(shift)), m_.program.constant(f.ids)),
                     m_.program.constant(f.base));
    }

    // Primes before the outermost loop, drains behind it.
    void frame(const Flag& f, const Index& index) {
        const int outer = m_.loop(m_.outermost(f.loop)).stmt;
        for (int i = 0; i < f.distance; ++i) {
            const std::int64_t first = apply(ExprOp::mod, i - f.distance, f.ids);
            around_[outer].primes.push_back(sync(Op::set_flag, f.src, f.dst, m_.program.constant(f.base + first), source(f.before)));
            Expr last = m_.program.constant(f.base + i);
            if (index.symbol >= 0) {
                ExprPool& e = m_.program.exprs;
                last = e.add(e.mod(e.add(m_.program.symbol(index.symbol), m_.program.constant(i - f.distance)), m_.program.constant(f.ids)),
                             m_.program.constant(f.base));
            }
            around_[outer].drains.push_back(sync(Op::wait_flag, f.src, f.dst, last, source(f.after)));
        }
    }

    Index index_for(const Flag& f) {
        const bool guarded = f.distance > 0 && !f.guards.empty();
        if (!guarded) {
            for (std::size_t s = 0; s < m_.counters.size(); ++s) {
                const CounterInfo& c = m_.counters[s];
                if (c.bumps == 1 && c.loop == f.loop && c.guards.empty()) return {static_cast<SymbolId>(s), m_.stmt(c.stmt).begin};
            }
            const LoopInfo& l = m_.loop(f.loop);
            if (l.parent < 0 && (f.distance == 0 || f.ids == f.distance)) return {l.counter, -1};
        }
        const std::pair<int, Guards> key{f.loop, guarded ? f.guards : Guards{}};
        if (const auto it = own_.find(key); it != own_.end()) return it->second;
        const Index index{m_.program.add_symbol("turn" + std::to_string(m_.program.symbols.size()), SymbolKind::counter), -1};
        own_[key] = index;
        const int block = guarded ? f.block : m_.body(f.loop);
        const int last = m_.block(block).stmts.back();
        around_[last].bumps.push_back(wrapped({Bump{index.symbol}}, guarded ? f.wrap : Guards{}, -1));
        return index;
    }

    void add_set(const Flag& f, Expr id) {
        around_[f.after].sets.push_back(wrapped(sync(Op::set_flag, f.src, f.dst, id, source(f.after)), f.wrap, source(f.after)));
    }
    void add_wait(const Flag& f, Expr id) {
        around_[f.before].waits.push_back(wrapped(sync(Op::wait_flag, f.src, f.dst, id, source(f.before)), f.wrap, source(f.before)));
    }

    Stmt sync(Op op, Pipe src, Pipe dst, Expr id, SourceId at) { return {Instr{op, Sync{src, dst, id ? id : m_.program.constant(0), 0}, at}}; }
    Stmt wrapped(Stmt s, const Guards& wrap, SourceId at) {
        if (wrap.empty()) return s;
        Expr condition = m_.expr(wrap.front());
        for (std::size_t i = 1; i < wrap.size(); ++i) condition = m_.program.exprs.binary(ExprOp::logical_and, condition, m_.expr(wrap[i]));
        return {When{condition, {std::move(s)}, at}};
    }

    // Line of a statement: its own or that of its first instruction.
    SourceId source(int stmt) {
        const Stmt* s = find(stmt);
        if (const Instr* i = std::get_if<Instr>(&s->node)) return i->source;
        if (const Loop* l = std::get_if<Loop>(&s->node)) return l->source;
        if (const When* w = std::get_if<When>(&s->node)) return w->source;
        return -1;
    }
    const Stmt* find(int stmt) {
        std::vector<int> path;
        for (int s = stmt; s >= 0; s = m_.block(m_.stmt(s).block).stmt) path.push_back(s);
        const Block* b = &m_.section.body;
        const Stmt* out = nullptr;
        for (auto it = path.rbegin(); it != path.rend(); ++it) {
            out = &(*b)[static_cast<std::size_t>(m_.stmt(*it).index)];
            if (const Loop* l = std::get_if<Loop>(&out->node)) b = &l->body;
            if (const When* w = std::get_if<When>(&out->node)) b = &w->body;
        }
        return out;
    }

    void rewrite(Block& b, int block) {
        Block out;
        const auto append = [&](Block& more) {
            for (Stmt& s : more) out.push_back(std::move(s));
        };
        std::size_t next_block = 0;
        const std::vector<int> stmts = m_.block(block).stmts;
        for (std::size_t i = 0; i < b.size(); ++i) {
            const int me = stmts[i];
            Around* a = around_.contains(me) ? &around_[me] : nullptr;
            if (a) {
                append(a->waits);
                append(a->barriers);
                append(a->primes);
            }
            if (Loop* l = std::get_if<Loop>(&b[i].node))
                rewrite(l->body, block_of(me, next_block));
            else if (When* w = std::get_if<When>(&b[i].node))
                rewrite(w->body, block_of(me, next_block));
            out.push_back(std::move(b[i]));
            if (a) {
                append(a->sets);
                append(a->drains);
                append(a->bumps);
            }
        }
        b = std::move(out);
    }
    int block_of(int stmt, std::size_t& from) {
        while (m_.blocks[from].stmt != stmt) ++from;
        return static_cast<int>(from);
    }

    Model& m_;
    const std::vector<Flag>& flags_;
    std::map<int, Around> around_;
    std::map<std::pair<int, Guards>, Index> own_;
};

}  // namespace

void emit(Model& m, const std::vector<Flag>& flags) { Emitter(m, flags).run(); }

}  // namespace sfumato::dsl::order
