// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "dsl/tile_ir.h"

namespace sfumato::dsl::tile {

namespace {

class Verifier {
public:
    explicit Verifier(const Kernel& k) : kernel_(k) {}
    std::vector<isa::Diagnostic> run() {
        std::set<ValueId> defined;
        region(kernel_.body, defined);
        return std::move(found_);
    }

private:
    using Scope = std::set<ValueId>;

    void report(SourceId source, isa::Code code, const std::string& message) { found_.push_back(diagnose(kernel_.frame, source, code, message)); }
    const Value& value(ValueId v) const { return kernel_.values[static_cast<std::size_t>(v)]; }
    bool exists(ValueId v) const { return v >= 0 && static_cast<std::size_t>(v) < kernel_.values.size(); }
    static std::string extents(const Shape& s) { return std::to_string(s.rows) + " x " + std::to_string(s.cols); }

    bool usable(ValueId v, const Scope& defined, SourceId source, const std::string& who) {
        if (exists(v) && defined.count(v)) return true;
        report(source, isa::Code::trace, who + " uses %" + std::to_string(v) + ", which is not defined there");
        return false;
    }
    bool define(ValueId v, Scope& defined, SourceId source, const std::string& who) {
        if (exists(v) && !assigned_.count(v)) {
            assigned_.insert(v);
            defined.insert(v);
            return true;
        }
        report(source, isa::Code::trace, who + " defines %" + std::to_string(v) + ", which is " + (exists(v) ? "defined already" : "no value"));
        return false;
    }

    void region(const Region& r, Scope defined) {
        for (const Node& n : r.nodes) {
            if (const auto* o = std::get_if<Op>(&n.node)) op(*o, defined);
            const auto* inner = std::get_if<Region>(&n.node);
            if (!inner) continue;
            Scope within = defined;
            for (const Carried& c : inner->carried) {
                usable(c.init, defined, inner->source, "a carried value");
                if (inner->kind != Region::Kind::when) define(c.inside, within, inner->source, "a carried value");
            }
            inner_region(*inner, std::move(within));
            for (const Carried& c : inner->carried)
                if (define(c.result, defined, inner->source, "a carried value") && exists(c.init)) same(c.init, c.result, inner->source);
        }
        for (const Carried& c : r.carried) usable(c.yield, defined, r.source, "the end of a loop");
    }
    void inner_region(const Region& r, Scope within) {
        if (!r.extent) report(r.source, isa::Code::trace, "a region has neither trips nor a condition");
        if (r.stages < 0) report(r.source, isa::Code::range, "a loop has " + std::to_string(r.stages) + " stages, at least 1 is allowed");
        region(r, std::move(within));
    }
    void same(ValueId a, ValueId b, SourceId source) {
        if (value(a).dtype != value(b).dtype)
            report(source, isa::Code::dtype,
                   "a variable of " + std::string(isa::name(value(a).dtype)) + " is given " + std::string(isa::name(value(b).dtype)));
        if (value(a).shape.rows != value(b).shape.rows || value(a).shape.cols != value(b).shape.cols)
            report(source, isa::Code::shape, "a variable of " + extents(value(a).shape) + " is given a tile of " + extents(value(b).shape));
    }

    void op(const Op& o, Scope& defined) {
        const std::string who(name(o.kind));
        if (o.kind == OpKind::get || o.kind == OpKind::set) report(o.source, isa::Code::trace, who + " stands in a kernel in SSA form");
        if (static_cast<int>(o.args.size()) != arity(o.kind)) {
            report(o.source, isa::Code::trace,
                   who + " has " + std::to_string(o.args.size()) + " arguments, it takes " + std::to_string(arity(o.kind)));
            return;
        }
        bool good = true;
        for (ValueId a : o.args) good = usable(a, defined, o.source, who) && good;
        if (o.kind != OpKind::store) good = define(o.result, defined, o.source, who) && good;
        if (good) types(o);
    }
    void types(const Op& o) {
        const std::string who(name(o.kind));
        if (o.kind == OpKind::store || o.kind == OpKind::load) return view(o);
        if (o.args.empty()) return;
        const Value &a = value(o.args[0]), &r = value(o.result);
        if (o.kind == OpKind::dot) return dot(o);
        if (o.args.size() == 2) {
            const Value& b = value(o.args[1]);
            if (a.dtype != b.dtype)
                report(o.source, isa::Code::dtype, who + " of " + std::string(isa::name(a.dtype)) + " and " + std::string(isa::name(b.dtype)));
            const auto fits = [](std::int64_t x, std::int64_t y) { return x == y || x == 1 || y == 1; };
            if (!fits(a.shape.rows, b.shape.rows) || !fits(a.shape.cols, b.shape.cols))
                report(o.source, isa::Code::shape, who + " of " + extents(a.shape) + " and " + extents(b.shape));
            return;
        }
        if (o.kind != OpKind::cast && a.dtype != r.dtype) report(o.source, isa::Code::dtype, who + " changes the element type");
        const bool turned = o.kind == OpKind::transpose;
        const std::int64_t cols = is_row_reduction(o.kind) ? 1 : turned ? a.shape.rows : a.shape.cols;
        if (r.shape.rows != (turned ? a.shape.cols : a.shape.rows) || r.shape.cols != cols)
            report(o.source, isa::Code::shape, who + " of " + extents(a.shape) + " gives " + extents(r.shape));
    }
    void dot(const Op& o) {
        const Value &a = value(o.args[0]), &b = value(o.args[1]), &r = value(o.result);
        if (a.shape.cols != b.shape.rows)
            report(o.source, isa::Code::shape, "dot of " + extents(a.shape) + " and " + extents(b.shape) + ": columns and rows differ");
        if (a.dtype != b.dtype || r.dtype != (a.dtype == DType::i8 ? DType::i32 : DType::f32))
            report(o.source, isa::Code::dtype, "dot of " + std::string(isa::name(a.dtype)) + " and " + std::string(isa::name(b.dtype)));
    }
    void view(const Op& o) {
        const std::string who(name(o.kind));
        if (o.view < 0 || static_cast<std::size_t>(o.view) >= kernel_.views.size()) return report(o.source, isa::Code::trace, who + " names no view");
        const View& v = kernel_.views[static_cast<std::size_t>(o.view)];
        const Value& x = value(o.kind == OpKind::store ? o.args[0] : o.result);
        const isa::Tensor& t = kernel_.frame.tensors[static_cast<std::size_t>(v.tensor)];
        if (x.dtype != t.dtype)
            report(o.source, isa::Code::dtype,
                   who + " of " + std::string(isa::name(x.dtype)) + " where " + t.name + " holds " + std::string(isa::name(t.dtype)));
        if (x.shape.rows != v.tile_rows || x.shape.cols != v.tile_cols)
            report(o.source, isa::Code::shape,
                   who + " of a tile of " + extents(x.shape) + " where " + v.name + " has tiles of " + std::to_string(v.tile_rows) + " x " +
                       std::to_string(v.tile_cols));
    }

    const Kernel& kernel_;
    std::set<ValueId> assigned_;
    std::vector<isa::Diagnostic> found_;
};

}  // namespace

std::vector<isa::Diagnostic> verify(const Kernel& k) { return Verifier(k).run(); }

}  // namespace sfumato::dsl::tile
