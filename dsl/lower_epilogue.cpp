// SPDX-License-Identifier: Apache-2.0
#include "dsl/lower_epilogue.h"

#include <functional>

#include "isa/limits.h"

namespace sfumato::dsl {

using tile::Op;

namespace {

class Folder {
public:
    Folder(Analysis& a, const isa::Chip& c, DecisionLog& l) : analysis_(a), chip_(c), log_(l) {}

    void walk(const Region& r) {
        for (const tile::Node& n : r.nodes) {
            if (const auto* inner = std::get_if<Region>(&n.node)) walk(*inner);
            const auto* op = std::get_if<Op>(&n.node);
            if (op && op->kind == OpKind::store && analysis_.reads_accumulator(op->args[0])) folds[op] = fold(*op);
        }
    }
    std::map<const Op*, Fold> folds;

private:
    [[noreturn]] void refuse(const Op& op, std::string message, std::vector<std::string> notes = {}) const {
        throw isa::Rejected({tile::diagnose(analysis_.kernel.frame, op.source, isa::Code::unsupported, std::move(message), std::move(notes))});
    }

    Fold fold(const Op& store) {
        Fold f;
        f.to = analysis_.value(store.args[0]).dtype;
        ValueId v = store.args[0];
        while (analysis_.accumulator(v) < 0) {
            const Op& op = *analysis_.definition(v);
            if (op.kind == OpKind::cast) {
                decide("conversion to " + std::string(isa::name(analysis_.value(v).dtype)), op);
            } else if (op.kind == OpKind::relu || (op.kind == OpKind::max_scalar && op.scalar == 0)) {
                f.relu = true;
                decide("ReLU", op);
            } else if (op.kind == OpKind::add && fold_bias(op)) {
                v = op.args[analysis_.accumulator(op.args[0]) >= 0 ? 0 : 1];
                continue;
            } else {
                refuse(op,
                       std::string(tile::name(op.kind)) + " of a dot result needs the vector unit, and " + chip_.name +
                           " has split cores: a result of dot may only pass through the addition of a row, relu and cast (in this order) before it "
                           "is stored",
                       {"store the result of dot to a tensor and apply " + std::string(tile::name(op.kind)) + " in a second kernel"});
            }
            v = op.args[0];
        }
        f.accumulator = analysis_.accumulator(v);
        const Accumulator& acc = analysis_.accumulators[static_cast<std::size_t>(f.accumulator)];
        if (!(isa::drain_types(acc.dtype) & isa::type_bit(f.to)))
            refuse(store, "the fix-pipe cannot convert " + std::string(isa::name(acc.dtype)) + " to " + std::string(isa::name(f.to)));
        if (acc.bias_add)
            for (const Op* u : analysis_.users(v))
                if (u != acc.bias_add && !analysis_.site(u))
                    refuse(*u, "a result of dot is used with and without the addition of a row; give each its own accumulator");
        return f;
    }

    bool fold_bias(const Op& add) {
        const int side = analysis_.accumulator(add.args[0]) >= 0 ? 0 : 1;
        const int number = analysis_.accumulator(add.args[static_cast<std::size_t>(side)]);
        if (number < 0) return false;
        bool transposed = false;
        const Op* load = analysis_.load_behind(add.args[static_cast<std::size_t>(1 - side)], transposed);
        if (!load || transposed || analysis_.value(load->result).shape.rows != 1) return false;
        Accumulator& acc = analysis_.accumulators[static_cast<std::size_t>(number)];
        if (acc.bias_add == &add) return true;
        if (acc.bias_add) refuse(add, "two rows are added to one result of dot; add them to each other in a kernel of their own");
        const tile::View& v = analysis_.kernel.views[static_cast<std::size_t>(load->view)];
        const isa::Tensor& t = analysis_.kernel.frame.tensors[static_cast<std::size_t>(v.tensor)];
        if (t.role != isa::Role::in)
            refuse(add, "the row " + t.name + " is written by this kernel, so it cannot be loaded ahead of the first product");
        const Region* home = analysis_.home(load->result);
        const Region* site = acc.sites.front().region;
        if (!analysis_.is_inside(site, home) && !analysis_.is_inside(acc.home, home))
            refuse(add, "the row " + t.name + " is loaded in a loop that the products are not part of");
        acc.bias_add = &add;
        acc.bias = load;
        log_.push_back({"addition of the row " + v.name, "bias table, with the first product", "vector addition after the drain",
                        "the matrix unit starts the sum from the bias, so the vector units stay idle", add.source});
        return true;
    }

    void decide(const std::string& what, const Op& op) {
        if (decided_[&op]) return;
        decided_[&op] = true;
        log_.push_back({what, "folded into the fix-pipe drain", "vector instructions after the drain",
                        "the fix-pipe applies it on the way from L0C to GM", op.source});
    }

    Analysis& analysis_;
    const isa::Chip& chip_;
    DecisionLog& log_;
    std::map<const Op*, bool> decided_;
};

}  // namespace

std::map<const Op*, Fold> fold_epilogues(Analysis& a, const isa::Chip& chip, DecisionLog& log) {
    Folder f(a, chip, log);
    f.walk(a.kernel.body);
    return std::move(f.folds);
}

}  // namespace sfumato::dsl
