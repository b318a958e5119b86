// SPDX-License-Identifier: Apache-2.0
#include "dsl/recording.h"

#include <map>

#include "isa/fields.h"

namespace sfumato::dsl {

namespace {

using tile::Node;
using tile::Region;

/// Things of the first recording and their counterparts in the second; a thing made before the body is its own counterpart.
class Comparison {
public:
    explicit Comparison(const tile::Kernel& k) : kernel_(k) {}
    Difference run(const Region& a, const Region& b) {
        nodes(a, b);
        return result_;
    }

private:
    enum Kind { value, view, cell, buffer, symbol };
    bool same_thing(Kind k, std::int32_t a, std::int32_t b) {
        if (a < 0 || b < 0) return a == b;
        const auto [it, fresh] = pairs_.try_emplace({k, a}, b);
        return it->second == b;
    }
    bool same(isa::Expr a, isa::Expr b) {
        if (a == b) return true;
        if (!a || !b) return false;
        const isa::ExprNode &x = kernel_.frame.exprs.node(a), &y = kernel_.frame.exprs.node(b);
        if (x.op != y.op) return false;
        if (x.op == isa::ExprOp::symbol) return same_thing(symbol, static_cast<std::int32_t>(x.value), static_cast<std::int32_t>(y.value));
        if (x.op == isa::ExprOp::constant) return x.value == y.value;
        // operands of a commutative operation are ordered by structure, in which names of loop counters may take part
        return (same(x.a, y.a) && same(x.b, y.b)) || (same(x.a, y.b) && same(x.b, y.a));
    }
    bool same(const isa::Operand& a, const isa::Operand& b) {
        const bool object = a.space == isa::Space::gm || a.space == isa::Space::none ? a.object == b.object : same_thing(buffer, a.object, b.object);
        return a.space == b.space && object && same(a.slot, b.slot) && same(a.offset, b.offset);
    }
    template <class T>
    bool same(const T& a, const T& b) {
        return a == b;
    }
    bool same(const isa::Instr& a, const isa::Instr& b) {
        if (a.op != b.op || a.operands.index() != b.operands.index()) return false;
        return std::visit(
            [&](const auto& x) {
                using Family = std::remove_cvref_t<decltype(x)>;
                const Family& y = std::get<Family>(b.operands);
                return std::apply([&](const auto&... f) { return (same(x.*(f.member), y.*(f.member)) && ...); }, Family::fields());
            },
            a.operands);
    }
    bool same(const tile::Op& a, const tile::Op& b) {
        if (a.kind != b.kind || a.args.size() != b.args.size() || a.source != b.source) return false;
        for (std::size_t i = 0; i < a.args.size(); ++i)
            if (!same_thing(value, a.args[i], b.args[i])) return false;
        const bool scalar = a.scalar == b.scalar || (a.scalar != a.scalar && b.scalar != b.scalar);
        return scalar && same_thing(view, a.view, b.view) && same_thing(cell, a.cell, b.cell) && same(a.i, b.i) && same(a.j, b.j) &&
               same_thing(value, a.result, b.result);
    }
    bool same(const isa::Bump& a, const isa::Bump& b) { return same_thing(symbol, a.counter, b.counter); }
    bool same(const isa::Load& a, const isa::Load& b) {
        return a.tensor == b.tensor && same(a.index, b.index) && same_thing(symbol, a.symbol, b.symbol);
    }
    bool same(const Region& a, const Region& b) {
        const bool heads = a.kind == b.kind && same_thing(symbol, a.counter, b.counter) && same(a.extent, b.extent) && a.stages == b.stages;
        if (heads) nodes(a, b);
        return heads && !result_.found;
    }
    static isa::SourceId source(const Node& n) {
        if (const auto* o = std::get_if<tile::Op>(&n.node)) return o->source;
        if (const auto* r = std::get_if<Region>(&n.node)) return r->source;
        if (const auto* i = std::get_if<isa::Instr>(&n.node)) return i->source;
        return -1;
    }
    void nodes(const Region& a, const Region& b) {
        for (std::size_t i = 0; i < std::max(a.nodes.size(), b.nodes.size()) && !result_.found; ++i) {
            if (i >= a.nodes.size() || i >= b.nodes.size()) {
                result_ = {true, source(i < b.nodes.size() ? b.nodes[i] : a.nodes[i])};
                return;
            }
            const auto& x = a.nodes[i].node;
            const auto& y = b.nodes[i].node;
            const bool equal = x.index() == y.index() && std::visit(
                                                             [&](const auto& v) {
                                                                 using T = std::remove_cvref_t<decltype(v)>;
                                                                 return same(v, std::get<T>(y));
                                                             },
                                                             x);
            if (!equal && !result_.found) result_ = {true, source(b.nodes[i])};
        }
    }

    const tile::Kernel& kernel_;
    std::map<std::pair<Kind, std::int32_t>, std::int32_t> pairs_;
    Difference result_;
};

}  // namespace

Difference compare_recordings(const tile::Kernel& k, const Region& first, const Region& second) { return Comparison(k).run(first, second); }

}  // namespace sfumato::dsl
