// SPDX-License-Identifier: Apache-2.0
#include "dsl/tile_ir.h"

#include <algorithm>
#include <map>

namespace sfumato::dsl::tile {

namespace {
struct OpInfo {
    std::string_view name;
    int arity;
    std::string_view doc;
};
constexpr OpInfo kOps[] = {
#define X(name, args, doc) {#name, args, doc},
    SFUMATO_TILE_OPS(X)
#undef X
};
const OpInfo& info(OpKind k) { return kOps[static_cast<std::size_t>(k)]; }
}  // namespace

std::string_view name(OpKind k) { return info(k).name; }
std::string_view doc(OpKind k) { return info(k).doc; }
int arity(OpKind k) { return info(k).arity; }

Shape tile_shape(Kernel& k, const View& v, Expr i, Expr j) {
    isa::ExprPool& e = k.frame.exprs;
    const auto valid = [&](std::int64_t tile, Expr extent, Expr index) {
        if (e.is_constant(extent, tile) && e.is_constant(index, 0)) return e.constant(tile);
        const Expr left = e.sub(extent, e.mul(index, e.constant(tile)));
        return e.max(e.min(left, e.constant(tile)), e.constant(0));
    };
    return {v.tile_rows, v.tile_cols, valid(v.tile_rows, v.rows, i), valid(v.tile_cols, v.cols, j), v.rows, v.cols};
}

bool has_tile_ops(const Region& r) {
    return std::any_of(r.nodes.begin(), r.nodes.end(), [](const Node& n) {
        if (std::holds_alternative<Op>(n.node)) return true;
        const auto* inner = std::get_if<Region>(&n.node);
        return inner && has_tile_ops(*inner);
    });
}

isa::Diagnostic diagnose(const isa::Program& p, SourceId source, isa::Code code, std::string message, std::vector<std::string> notes) {
    isa::Diagnostic d;
    d.code = code;
    d.message = std::move(message);
    d.notes = std::move(notes);
    if (source >= 0) {
        const isa::Source& s = p.sources[static_cast<std::size_t>(source)];
        d.file = s.file;
        d.line = s.line;
        d.column = s.column;
    }
    return d;
}

namespace {

/// Cells are replaced region by region: `env` holds the current value of every variable that exists at this point.
class SsaBuilder {
public:
    explicit SsaBuilder(Kernel& k) : kernel_(k) {}
    void run() {
        std::map<CellId, ValueId> env;
        rewrite(kernel_.body, env);
    }

private:
    using Env = std::map<CellId, ValueId>;

    static void cells_set(const Region& r, std::vector<CellId>& out) {
        for (const Node& n : r.nodes) {
            if (const auto* op = std::get_if<Op>(&n.node); op && op->kind == OpKind::set) out.push_back(op->cell);
            if (const auto* inner = std::get_if<Region>(&n.node)) cells_set(*inner, out);
        }
    }
    ValueId fresh(CellId c, SourceId source) {
        const Cell& cell = kernel_.cells[static_cast<std::size_t>(c)];
        kernel_.values.push_back({cell.dtype, cell.shape, source});
        return static_cast<ValueId>(kernel_.values.size() - 1);
    }
    ValueId resolve(ValueId v) const {
        const auto it = same_as_.find(v);
        return it == same_as_.end() ? v : it->second;
    }
    ValueId read(const Env& env, const Op& op) const {
        const auto it = env.find(op.cell);
        if (it != env.end()) return it->second;
        throw isa::Rejected({diagnose(kernel_.frame, op.source, isa::Code::trace,
                                      "a tile variable that was made inside a loop is read after the loop; make it before the loop")});
    }
    void rewrite_region(Region& inner, Env& env) {
        std::vector<CellId> set;
        cells_set(inner, set);
        std::sort(set.begin(), set.end());
        set.erase(std::unique(set.begin(), set.end()), set.end());
        std::erase_if(set, [&](CellId c) { return !env.count(c); });
        Env within = env;
        for (CellId c : set) {
            Carried carried;
            carried.cell = c;
            carried.init = env[c];
            if (inner.kind != Region::Kind::when) within[c] = carried.inside = fresh(c, inner.source);
            inner.carried.push_back(carried);
        }
        rewrite(inner, within);
        for (Carried& c : inner.carried) {
            c.yield = within[c.cell];
            env[c.cell] = c.result = fresh(c.cell, inner.source);
        }
    }
    void rewrite(Region& r, Env& env) {
        std::vector<Node> kept;
        for (Node& n : r.nodes) {
            if (auto* inner = std::get_if<Region>(&n.node)) rewrite_region(*inner, env);
            if (auto* op = std::get_if<Op>(&n.node)) {
                for (ValueId& a : op->args) a = resolve(a);
                if (op->kind == OpKind::get) same_as_[op->result] = read(env, *op);
                if (op->kind == OpKind::set) env[op->cell] = op->args[0];
                if (op->kind == OpKind::get || op->kind == OpKind::set) continue;
            }
            kept.push_back(std::move(n));
        }
        r.nodes = std::move(kept);
    }

    Kernel& kernel_;
    std::map<ValueId, ValueId> same_as_;
};

}  // namespace

void to_ssa(Kernel& k) { SsaBuilder(k).run(); }

namespace {

void collect(const Kernel& k, const Region& r, std::vector<Requirement>& out) {
    const auto require = [&](Expr a, Expr b, std::string what, SourceId source) {
        if (!a || !b || a == b) return;
        for (const Requirement& have : out)
            if (have.left == a && have.right == b) return;
        out.push_back({a, b, std::move(what), source});
    };
    const auto shape = [&](ValueId v) -> const Shape& { return k.values[static_cast<std::size_t>(v)].shape; };
    for (const Node& n : r.nodes) {
        if (const auto* inner = std::get_if<Region>(&n.node)) collect(k, *inner, out);
        const auto* op = std::get_if<Op>(&n.node);
        if (!op || op->args.empty()) continue;
        const Shape& a = shape(op->args[0]);
        const std::string what(name(op->kind));
        if (op->kind == OpKind::dot) {
            require(a.of_cols, shape(op->args[1]).of_rows, "columns of the left and rows of the right operand of dot", op->source);
        } else if (op->kind == OpKind::store) {
            const View& v = k.views[static_cast<std::size_t>(op->view)];
            if (a.rows == v.tile_rows) require(a.of_rows, v.rows, "rows of the value stored to " + v.name + " and rows of " + v.name, op->source);
            if (a.cols == v.tile_cols)
                require(a.of_cols, v.cols, "columns of the value stored to " + v.name + " and columns of " + v.name, op->source);
        } else if (op->args.size() == 2) {
            const Shape& b = shape(op->args[1]);
            if (a.rows == b.rows) require(a.of_rows, b.of_rows, "rows of both operands of " + what, op->source);
            if (a.cols == b.cols) require(a.of_cols, b.of_cols, "columns of both operands of " + what, op->source);
        }
    }
}

}  // namespace

std::vector<Requirement> requirements(const Kernel& k) {
    std::vector<Requirement> out;
    collect(k, k.body, out);
    return out;
}

std::vector<isa::Diagnostic> unmet(const isa::Program& p, const std::vector<Requirement>& all, const std::map<std::string, std::int64_t>& params) {
    std::vector<std::int64_t> symbols(p.symbols.size(), 0);
    for (std::size_t i = 0; i < symbols.size(); ++i)
        if (const auto it = params.find(p.symbols[i].name); it != params.end()) symbols[i] = it->second;
    std::vector<isa::Diagnostic> out;
    for (const Requirement& r : all) {
        const std::int64_t left = p.exprs.eval(r.left, symbols), right = p.exprs.eval(r.right, symbols);
        if (left != right)
            out.push_back(
                diagnose(p, r.source, isa::Code::shape, r.what + " must be equal, found " + std::to_string(left) + " and " + std::to_string(right)));
    }
    return out;
}

}  // namespace sfumato::dsl::tile
