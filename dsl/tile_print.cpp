// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include "dsl/tile_ir.h"

namespace sfumato::dsl::tile {

namespace {

class Printer {
public:
    explicit Printer(const Kernel& k) : kernel_(k) {}
    std::string run() {
        text_ = "kernel " + kernel_.frame.name + "\n";
        for (const View& v : kernel_.views) {
            text_ += "view " + v.name + " = " + kernel_.frame.tensors[static_cast<std::size_t>(v.tensor)].name + "[" + expr(v.rows) + " x " +
                     expr(v.cols) + "] tiles " + std::to_string(v.tile_rows) + " x " + std::to_string(v.tile_cols);
            if (!kernel_.frame.exprs.is_constant(v.base, 0)) text_ += " from " + expr(v.base);
            text_ += "\n";
        }
        nodes(kernel_.body, 0);
        return text_;
    }

private:
    std::string expr(Expr e) const { return e ? print_expr(e) : "?"; }
    std::string print_expr(Expr e) const { return isa::print(kernel_.frame.exprs, e, kernel_.frame.symbols); }
    static std::string value(ValueId v) { return "%" + std::to_string(v); }
    std::string type(ValueId v) const {
        const Value& x = kernel_.values[static_cast<std::size_t>(v)];
        return std::string(isa::name(x.dtype)) + "[" + std::to_string(x.shape.rows) + " x " + std::to_string(x.shape.cols) + "]";
    }
    static std::string number(double d) {
        char buffer[32];
        return {buffer, std::to_chars(buffer, buffer + sizeof buffer, d).ptr};
    }
    void line(int depth, const std::string& s, SourceId source) {
        text_ += std::string(static_cast<std::size_t>(depth) * 2, ' ') + s;
        const std::string at = isa::where(kernel_.frame, source);
        text_ += at.empty() ? "\n" : "  // " + at + "\n";
    }
    void op(const Op& o, int depth) {
        std::string s = o.result >= 0 ? value(o.result) + " = " : "";
        s += name(o.kind);
        for (std::size_t i = 0; i < o.args.size(); ++i) s += (i ? ", " : " ") + value(o.args[i]);
        if (o.kind == OpKind::full || name(o.kind).ends_with("_scalar")) s += (o.args.empty() ? " " : ", ") + number(o.scalar);
        if (o.cell >= 0) s += (o.args.empty() ? " " : ", ") + ("$" + std::to_string(o.cell));
        if (o.view >= 0) {
            if (!o.args.empty()) s += ",";
            s += " " + kernel_.views[static_cast<std::size_t>(o.view)].name + "(" + expr(o.i) + ", " + expr(o.j) + ")";
        }
        if (o.result >= 0) s += " : " + type(o.result);
        line(depth, s, o.source);
    }
    std::string head(const Region& r) const {
        const auto counter = [&] { return kernel_.frame.symbols[static_cast<std::size_t>(r.counter)].name; };
        switch (r.kind) {
            case Region::Kind::when:
                return "when " + expr(r.extent);
            case Region::Kind::cores:
                return "cores " + counter() + " < " + expr(r.extent);
            case Region::Kind::loop:
                return "loop " + counter() + " < " + expr(r.extent) + " stages " + std::to_string(r.stages);
            default:
                return "body";
        }
    }
    void region(const Region& r, int depth) {
        std::string s = head(r);
        for (const Carried& c : r.carried) s += " [" + (c.inside >= 0 ? value(c.inside) + " = " : "") + value(c.init) + "]";
        line(depth, s + " {", r.source);
        nodes(r, depth + 1);
        s = "}";
        for (const Carried& c : r.carried) s += " " + value(c.yield) + " -> " + value(c.result) + " : " + type(c.result);
        line(depth, s, -1);
    }
    void nodes(const Region& r, int depth) {
        for (const Node& n : r.nodes) {
            if (const auto* o = std::get_if<Op>(&n.node))
                op(*o, depth);
            else if (const auto* inner = std::get_if<Region>(&n.node))
                region(*inner, depth);
            else if (const auto* i = std::get_if<isa::Instr>(&n.node))
                line(depth, std::string(isa::desc(i->op).name), i->source);
            else
                line(depth, std::holds_alternative<isa::Bump>(n.node) ? "bump" : "load", -1);
        }
    }

    const Kernel& kernel_;
    std::string text_;
};

}  // namespace

std::string print(const Kernel& k) { return Printer(k).run(); }

}  // namespace sfumato::dsl::tile
