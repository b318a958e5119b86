// SPDX-License-Identifier: Apache-2.0
#include "isa/walker.h"

#include <cstring>

#include "isa/diagnostic.h"
#include "isa/fields.h"

namespace sfumato::isa {

namespace {

// Calls on_expr(expr, int64&) and on_operand(operand, bound operand&) for the parts that depend on symbols; copies the rest.
template <class OnExpr, class OnOperand>
void visit_parts(const Operands& symbolic, BoundOperands& bound, OnExpr&& on_expr, OnOperand&& on_operand) {
    const auto go = [&](auto index) {
        constexpr std::size_t i = decltype(index)::value;
        if (symbolic.index() != i) return;
        bound.emplace<i>();
        zip_fields(std::get<i>(symbolic), std::get<i>(bound), [&](const auto& s, auto& b) {
            using S = std::remove_cvref_t<decltype(s)>;
            if constexpr (std::is_same_v<S, Expr>) {
                on_expr(s, b);
            } else if constexpr (IsOperand<S>::value) {
                b.space = s.space;
                b.object = s.object;
                on_operand(s, b);
            } else {
                b = s;
            }
        });
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) { (go(std::integral_constant<std::size_t, I>{}), ...); }
    (std::make_index_sequence<std::variant_size_v<Operands>>{});
}

const Buffer* buffer_of(const Program& p, const Operand& o) {
    if (o.space == Space::none || o.space == Space::gm || o.object < 0) return nullptr;
    return &p.buffers[static_cast<std::size_t>(o.object)];
}

}  // namespace

std::vector<std::int64_t> bind_symbols(const Program& p, const WalkContext& c) {
    std::vector<std::int64_t> values(p.symbols.size(), 0);
    for (std::size_t i = 0; i < p.symbols.size(); ++i) {
        switch (p.symbols[i].kind) {
            case SymbolKind::param: {
                const auto it = c.params.find(p.symbols[i].name);
                if (it == c.params.end()) throw InputError("launch of " + p.name + " gives no value for parameter '" + p.symbols[i].name + "'");
                values[i] = it->second;
                break;
            }
            case SymbolKind::block_id:
                values[i] = c.block_id;
                break;
            case SymbolKind::block_num:
                values[i] = c.block_num;
                break;
            case SymbolKind::sub_block:
                values[i] = c.sub_block;
                break;
            default:
                break;
        }
    }
    return values;
}

BoundOperands bind_operands(const Program& p, const Instr& i, std::span<const std::int64_t> symbols) {
    BoundOperands bound;
    const auto value = [&](Expr e) { return e ? p.exprs.eval(e, symbols) : 0; };
    visit_parts(
        i.operands, bound, [&](Expr e, std::int64_t& out) { out = value(e); },
        [&](const Operand& o, BoundOperand& out) {
            out.slot = value(o.slot);
            out.offset = value(o.offset);
            if (const Buffer* b = buffer_of(p, o)) out.offset += b->base.value_or(0) + out.slot * b->slot_bytes;
        });
    return bound;
}

Walker::Walker(const Program& p, const Section& section, const WalkContext& c) : program_(p), symbols_(bind_symbols(p, c)) {
    values_.resize(p.exprs.size());
    tracked_.resize(p.exprs.size());
    dependent_.resize(p.symbols.size());
    symbol_node_.assign(p.symbols.size(), -1);
    prepare(section.body);
    settle();
    stack_.push_back({&section.body, 0, nullptr, 0});
}

void Walker::track(Expr e) {
    if (!e || tracked_[static_cast<std::size_t>(e.id)]) return;
    tracked_[static_cast<std::size_t>(e.id)] = 1;
    const ExprNode& n = program_.exprs.node(e);
    if (n.op == ExprOp::constant || n.op == ExprOp::symbol) return;
    track(n.a);
    track(n.b);
}

void Walker::settle() {
    for (std::size_t id = 0; id < tracked_.size(); ++id) {
        if (!tracked_[id]) continue;
        const Expr e{static_cast<std::int32_t>(id)};
        const ExprNode& n = program_.exprs.node(e);
        values_[id] = program_.exprs.eval(e, symbols_);
        if (n.op == ExprOp::symbol) symbol_node_[static_cast<std::size_t>(n.value)] = e.id;
        if (n.op == ExprOp::constant || n.op == ExprOp::symbol) continue;
        for (std::size_t s = 0; s < dependent_.size(); ++s)
            if (program_.exprs.uses(e, static_cast<SymbolId>(s))) dependent_[s].push_back({n.op, e.id, n.a.id, n.b ? n.b.id : n.a.id});
    }
}

void Walker::assign(SymbolId s, std::int64_t v) {
    std::int64_t& current = symbols_[static_cast<std::size_t>(s)];
    if (current == v) return;
    current = v;
    if (symbol_node_[static_cast<std::size_t>(s)] >= 0) values_[static_cast<std::size_t>(symbol_node_[static_cast<std::size_t>(s)])] = v;
    for (const Formula& f : dependent_[static_cast<std::size_t>(s)])
        values_[static_cast<std::size_t>(f.target)] = apply(f.op, values_[static_cast<std::size_t>(f.a)], values_[static_cast<std::size_t>(f.b)]);
}

void Walker::prepare(const Block& block) {
    for (const Stmt& s : block) {
        if (const Instr* i = std::get_if<Instr>(&s.node)) plan(*i);
        if (const Loop* l = std::get_if<Loop>(&s.node)) {
            track(l->trips);
            prepare(l->body);
        }
        if (const When* w = std::get_if<When>(&s.node)) {
            track(w->condition);
            prepare(w->body);
        }
        if (const Load* l = std::get_if<Load>(&s.node)) track(l->index);
    }
}

void Walker::plan(const Instr& i) {
    check(i.id >= 0, "instructions must be numbered before a walk");
    if (plans_.size() <= static_cast<std::size_t>(i.id)) plans_.resize(static_cast<std::size_t>(i.id) + 1);
    Plan& plan = plans_[static_cast<std::size_t>(i.id)];
    plan.bound.instr = &i;
    const auto offset_of = [&](const std::int64_t& field) {
        return static_cast<std::size_t>(reinterpret_cast<const char*>(&field) - reinterpret_cast<const char*>(&plan.bound.operands));
    };
    const auto& pool = program_.exprs;
    const auto settled = [&](Expr e) { return !e || pool.is_constant(e); };
    const auto constant = [&](Expr e) { return e ? pool.node(e).value : 0; };
    visit_parts(
        i.operands, plan.bound.operands,
        [&](Expr e, std::int64_t& out) {
            if (settled(e)) {
                out = constant(e);
            } else {
                track(e);
                plan.patches.push_back({offset_of(out), e, {}, 0, 0});
            }
        },
        [&](const Operand& o, BoundOperand& out) {
            const Buffer* b = buffer_of(program_, o);
            const std::int64_t base = b ? b->base.value_or(0) : 0, slot_bytes = b ? b->slot_bytes : 0;
            if (settled(o.slot)) out.slot = constant(o.slot);
            const std::int64_t start = base + out.slot * slot_bytes;
            if (settled(o.offset) && settled(o.slot)) {
                out.offset = start + constant(o.offset);
                return;
            }
            track(o.offset);
            track(o.slot);
            plan.patches.push_back({offset_of(out.offset), o.offset, settled(o.slot) ? Expr{} : o.slot, slot_bytes, start});
        });
}

const BoundInstr* Walker::bind(const Instr& i) {
    Plan& plan = plans_[static_cast<std::size_t>(i.id)];
    char* bytes = reinterpret_cast<char*>(&plan.bound.operands);
    for (const Patch& p : plan.patches) {
        std::int64_t v = p.base + (p.value ? value(p.value) : 0);
        if (p.slot) {
            const std::int64_t slot = value(p.slot);
            v += slot * p.slot_bytes;
            // the slot stands directly before the offset in an operand
            static_assert(offsetof(BoundOperand, offset) == offsetof(BoundOperand, slot) + sizeof(std::int64_t));
            std::memcpy(bytes + p.offset - sizeof(std::int64_t), &slot, sizeof slot);
        }
        std::memcpy(bytes + p.offset, &v, sizeof v);
    }
    return &plan.bound;
}

Step Walker::next() {
    while (!stack_.empty()) {
        Frame& f = stack_.back();
        if (f.position == f.block->size()) {
            if (f.loop) {
                const std::int64_t next = symbols_[static_cast<std::size_t>(f.loop->counter)] + 1;
                if (next < f.trips) {
                    assign(f.loop->counter, next);
                    f.position = 0;
                    return {StepKind::loop_iteration, nullptr, nullptr, 0};
                }
            }
            stack_.pop_back();
            continue;
        }
        const Stmt& s = (*f.block)[f.position++];
        if (const Instr* i = std::get_if<Instr>(&s.node)) return {StepKind::instr, bind(*i), nullptr, 0};
        if (const Loop* l = std::get_if<Loop>(&s.node)) {
            assign(l->counter, 0);
            const std::int64_t trips = value(l->trips);
            if (trips > 0) {
                stack_.push_back({&l->body, 0, l, trips});
                return {StepKind::loop_iteration, nullptr, nullptr, 0};
            }
        } else if (const When* w = std::get_if<When>(&s.node)) {
            if (value(w->condition) != 0) stack_.push_back({&w->body, 0, nullptr, 0});
        } else if (const Bump* b = std::get_if<Bump>(&s.node)) {
            assign(b->counter, symbols_[static_cast<std::size_t>(b->counter)] + 1);
        } else {
            pending_ = &std::get<Load>(s.node);
            return {StepKind::load, nullptr, pending_, value(pending_->index)};
        }
    }
    return {};
}

std::vector<std::int64_t> Walker::loop_vector() const {
    std::vector<std::int64_t> out;
    for (const Frame& f : stack_)
        if (f.loop) out.push_back(symbols_[static_cast<std::size_t>(f.loop->counter)]);
    return out;
}

}  // namespace sfumato::isa
