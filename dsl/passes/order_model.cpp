// SPDX-License-Identifier: Apache-2.0
#include "dsl/passes/order_model.h"

#include <algorithm>

#include "dsl/passes/operand_roles.h"
#include "isa/access.h"
#include "isa/diagnostic.h"

namespace sfumato::dsl::order {

using namespace isa;

namespace {
constexpr int kUnique = 1 << 28;  // condition ids from here on are statements whose condition may change within an iteration
}

bool subset(const Guards& a, const Guards& b) { return std::includes(b.begin(), b.end(), a.begin(), a.end()); }
Guards intersection(const Guards& a, const Guards& b) {
    Guards out;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
    return out;
}
Guards difference(const Guards& a, const Guards& b) {
    Guards out;
    std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
    return out;
}

Guards united(Guards a, const Guards& b) {
    a.insert(a.end(), b.begin(), b.end());
    std::sort(a.begin(), a.end());
    a.erase(std::unique(a.begin(), a.end()), a.end());
    return a;
}

namespace {

template <class F>
void for_each_symbol(const ExprPool& pool, Expr e, F&& f) {
    if (!e) return;
    const ExprNode& n = pool.node(e);
    if (n.op == ExprOp::symbol) f(static_cast<SymbolId>(n.value));
    if (n.op == ExprOp::symbol || n.op == ExprOp::constant) return;
    for_each_symbol(pool, n.a, f);
    for_each_symbol(pool, n.b, f);
}

// Numbers of the instruction other than the places of its operands are constants.
bool constant_extents(const ExprPool& pool, const Operands& operands) {
    return std::visit(
        [&]<class Family>(const Family& o) {
            bool all = true;
            std::apply(
                [&](const auto&... f) {
                    const auto look = [&](const auto& field) {
                        if constexpr (std::is_same_v<typename std::remove_cvref_t<decltype(field)>::Type, Expr>) {
                            const Expr e = o.*(field.member);
                            all = all && (!e || pool.is_constant(e));
                        }
                    };
                    (look(f), ...);
                },
                Family::fields());
            return all;
        },
        operands);
}

}  // namespace

Model::Model(Program& p, Section& s) : program(p), section(s), counters(p.symbols.size()) {
    blocks.push_back({});
    scan(section.body, 0);
    finish_rotations();
}

bool Model::stable(Expr e) const {
    bool ok = true;
    for_each_symbol(program.exprs, e, [&](SymbolId s) {
        const SymbolKind k = program.symbols[static_cast<std::size_t>(s)].kind;
        ok = ok && k != SymbolKind::counter && k != SymbolKind::load;
    });
    return ok;
}

Guards Model::conditions(Expr e, int unique) {
    Guards out;
    const auto split = [&](auto&& self, Expr c) -> void {
        const ExprNode& n = program.exprs.node(c);
        if (n.op == ExprOp::logical_and) {
            self(self, n.a);
            self(self, n.b);
        } else if (n.op != ExprOp::constant) {
            out.push_back(stable(c) ? c.id : kUnique + unique);
        }
    };
    split(split, e);
    return united({}, out);
}

bool Model::evaluable(int condition, int loop) const {
    if (condition >= kUnique) return false;
    bool ok = true;
    for_each_symbol(program.exprs, expr(condition), [&](SymbolId s) {
        if (program.symbols[static_cast<std::size_t>(s)].kind != SymbolKind::loop) return;
        bool around = false;
        for (int l = loop; l >= 0; l = this->loop(l).parent) around = around || this->loop(l).counter == s;
        ok = ok && around;
    });
    return ok;
}

void Model::scan(Block& b, int block_id) {
    for (std::size_t i = 0; i < b.size(); ++i) {
        const int me = static_cast<int>(stmts.size());
        stmts.push_back({block_id, static_cast<int>(i), next_++, 0, false});
        blocks[static_cast<std::size_t>(block_id)].stmts.push_back(me);
        auto& node = b[i].node;
        if (const Instr* in = std::get_if<Instr>(&node)) {
            stmts.back().hand = in->hand;
            scan_instr(*in, me);
        } else if (Bump* bump = std::get_if<Bump>(&node)) {
            CounterInfo& c = counters[static_cast<std::size_t>(bump->counter)];
            ++c.bumps;
            c.stmt = me;
            c.loop = block(block_id).loop;
            c.guards = guards_within(block(block_id).guards, c.loop);
        } else if (!std::holds_alternative<Load>(node)) {
            const int child_block = static_cast<int>(blocks.size());
            BlockInfo info;
            info.stmt = me;
            info.loop = block(block_id).loop;
            info.guards = block(block_id).guards;
            Block* body = nullptr;
            if (Loop* l = std::get_if<Loop>(&node)) {
                info.loop = static_cast<int>(loops.size());
                const int parent = block(block_id).loop;
                loops.push_back({parent, me, child_block, parent < 0 ? 0 : loop(parent).depth + 1, l->counter, l->source});
                body = &l->body;
            } else {
                When& w = std::get<When>(node);
                info.guards = united(info.guards, conditions(w.condition, me));
                body = &w.body;
            }
            blocks.push_back(info);
            scan(*body, child_block);
            bool any = false, all = true;
            for (int s : block(child_block).stmts) {
                const bool counts = stmt(s).hand || !std::holds_alternative<Bump>((*body)[static_cast<std::size_t>(stmt(s).index)].node);
                if (!counts) continue;
                any = true;
                all = all && stmt(s).hand;
            }
            stmts[static_cast<std::size_t>(me)].hand = any && all;
        }
        stmts[static_cast<std::size_t>(me)].end = next_++;
    }
}

void Model::scan_instr(const Instr& in, int me) {
    const std::size_t first = accesses.size();
    const bool sized = constant_extents(program.exprs, in.operands);
    isa::AccessList bound;
    std::vector<std::int64_t> zeros(program.symbols.size(), 0);
    if (sized) {
        BoundInstr b{&in, bind_operands(program, in, zeros)};
        bound = isa::accesses(b);
    }
    for_each_role(in, [&](const Operand& o, bool write, Expr condition) {
        Access a;
        (o.space == Space::gm ? a.tensor : a.buffer) = o.object;
        a.stmt = me;
        a.slot = o.slot;
        a.offset = o.offset;
        a.pipe = pipe_of(in);
        a.op = in.op;
        a.hand = in.hand;
        a.source = in.source;
        if (const Cube* c = std::get_if<Cube>(&in.operands)) a.unit_flag = c->unit_flag && o.space == Space::l0c;
        if (const Drain* d = std::get_if<Drain>(&in.operands)) a.unit_flag = d->unit_flag && o.space == Space::l0c;
        a.guards = block(stmt(me).block).guards;
        if (condition) {
            if (program.exprs.is_constant(condition, 0)) return;
            a.guards = united(a.guards, conditions(condition, me));
        }
        if (sized && (!o.offset || program.exprs.is_constant(o.offset))) {
            std::int64_t origin = 0;
            if (o.space != Space::gm) {
                const Buffer& b = program.buffers[static_cast<std::size_t>(o.object)];
                origin = b.base.value_or(0) + (o.slot ? program.exprs.eval(o.slot, zeros) * b.slot_bytes : 0);
            }
            for (const isa::Access& x : bound)
                if (x.space == o.space && x.object == o.object && x.write == write) {
                    const std::int64_t lo = x.start - origin, hi = x.end() - origin;
                    a.bytes = a.bytes ? std::pair{std::min(a.bytes->first, lo), std::max(a.bytes->second, hi)} : std::pair{lo, hi};
                }
        }
        for (std::size_t i = first; i < accesses.size(); ++i) {
            Access& seen = accesses[i];
            if (seen.buffer != a.buffer || seen.tensor != a.tensor || seen.slot != a.slot || seen.guards != a.guards || seen.offset != a.offset)
                continue;
            (write ? seen.writes : seen.reads) = true;
            if (seen.bytes && a.bytes)
                seen.bytes = std::pair{std::min(seen.bytes->first, a.bytes->first), std::max(seen.bytes->second, a.bytes->second)};
            else
                seen.bytes.reset();
            return;
        }
        (write ? a.writes : a.reads) = true;
        accesses.push_back(std::move(a));
    });
}

Rotation Model::rotation_of(Expr slot, int slots) const {
    const ExprPool& pool = program.exprs;
    Rotation r;
    if (slots <= 1 || !slot || pool.is_constant(slot)) {
        r.constant = true;
        r.slot = slots <= 1 || !slot ? 0 : pool.node(slot).value;
        return r;
    }
    const ExprNode& top = pool.node(slot);
    if (top.op != ExprOp::mod || !pool.is_constant(top.b, slots)) return r;
    Expr e = top.a;
    if (pool.node(e).op == ExprOp::add && pool.is_constant(pool.node(e).b)) {
        r.add = pool.node(pool.node(e).b).value;
        e = pool.node(e).a;
    }
    if (pool.node(e).op != ExprOp::symbol) return r;
    r.symbol = static_cast<SymbolId>(pool.node(e).value);
    r.modulus = slots;
    const SymbolKind kind = program.symbols[static_cast<std::size_t>(r.symbol)].kind;
    if (kind == SymbolKind::counter && counter(r.symbol)->bumps == 1) {
        r.loop = counter(r.symbol)->loop;
        r.guards = counter(r.symbol)->guards;
        r.running = true;
        if (r.loop < 0) r.loop = -2;
    } else if (kind == SymbolKind::loop) {
        for (std::size_t l = 0; l < loops.size(); ++l)
            if (loops[l].counter == r.symbol) r.loop = static_cast<int>(l);
        r.running = r.loop >= 0 && loop(r.loop).parent < 0;
    }
    return r;
}

void Model::finish_rotations() {
    for (Access& a : accesses) {
        if (a.buffer < 0) continue;
        a.rotation = rotation_of(a.slot, program.buffers[static_cast<std::size_t>(a.buffer)].slots);
        // behind the Bump the counter is already one further
        if (a.rotation.loop >= 0 && a.rotation.symbol >= 0 &&
            program.symbols[static_cast<std::size_t>(a.rotation.symbol)].kind == SymbolKind::counter)
            if (stmt(counter(a.rotation.symbol)->stmt).begin < stmt(a.stmt).begin) ++a.rotation.add;
    }
}

int Model::common_block(int a, int b) const {
    int x = stmt(a).block, y = stmt(b).block;
    const auto depth = [&](int block_id) {
        int d = 0;
        for (int k = block_id; block(k).stmt >= 0; k = stmt(block(k).stmt).block) ++d;
        return d;
    };
    int dx = depth(x), dy = depth(y);
    while (x != y) {
        if (dx >= dy) {
            x = stmt(block(x).stmt).block;
            --dx;
        } else {
            y = stmt(block(y).stmt).block;
            --dy;
        }
    }
    return x;
}

int Model::child(int block_id, int s) const {
    while (stmt(s).block != block_id) {
        const int owner = block(stmt(s).block).stmt;
        check(owner >= 0, "statement lies outside of the block");
        s = owner;
    }
    return s;
}

bool Model::encloses(int outer, int inner) const {
    if (outer < 0) return true;
    for (int l = inner; l >= 0; l = loop(l).parent)
        if (l == outer) return true;
    return false;
}
bool Model::inside(int s, int l) const { return encloses(l, loop_of(s)); }
int Model::outermost(int l) const {
    while (loop(l).parent >= 0) l = loop(l).parent;
    return l;
}

}  // namespace sfumato::dsl::order
