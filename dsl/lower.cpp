// SPDX-License-Identifier: Apache-2.0
#include "dsl/lower.h"

#include <algorithm>

#include "dsl/lower_vector.h"

namespace sfumato::dsl {

namespace {

class Lowering {
public:
    Lowering(tile::Kernel& k, Analysis& a, const isa::Chip& chip, DecisionLog& log)
        : context_(k, a, chip, log),
          cube_(context_, chip.merged() ? std::map<const tile::Op*, Fold>{} : fold_epilogues(a, chip, log)),
          vector_(context_, cube_) {}

    void run(isa::CoreKind kind) {
        context_.emit.open_section(kind);
        const Region& body = context_.kernel.body;
        context_.scopes.push_back({&body, -1, -1, 1});
        nodes(body);
    }
    std::vector<tile::Requirement> requirements() { return std::move(context_.requirements); }

private:
    void nodes(const Region& r) {
        for (const tile::Node& n : r.nodes) node(n, r);
    }
    void node(const tile::Node& n, const Region& r) {
        if (const auto* op = std::get_if<tile::Op>(&n.node)) return operation(*op, r);
        if (const auto* inner = std::get_if<Region>(&n.node)) return region(*inner);
        if (const auto* i = std::get_if<isa::Instr>(&n.node))
            context_.emit.append({*i});
        else if (const auto* b = std::get_if<isa::Bump>(&n.node))
            context_.emit.append({*b});
        else
            context_.emit.append({std::get<isa::Load>(n.node)});
    }
    void operation(const tile::Op& op, const Region& r) {
        if (cube_.owns(op)) cube_.lower(op);
        if (op.kind == OpKind::load || (op.kind == OpKind::store && !cube_.owns(op))) vector_.lower(op, r);
    }
    void region(const Region& r) {
        vector_.enter(r);
        if (r.kind == Region::Kind::when) {
            context_.emit.open_when(context_.rewritten(r.extent), r.source);
            nodes(r);
            vector_.leave(r);
            context_.emit.close();
        } else if (cube_.is_dot_loop(r)) {
            cube_.lower_loop(
                r, [&](const tile::Node& n, const Region& in) { node(n, in); }, [&] { vector_.leave(r); });
        } else {
            if (r.kind == Region::Kind::cores && r.stages == 0)
                context_.decide("slots of tiles that a core loads and stores once a block", std::to_string(context_.slots_of(&r)), "1",
                                "transfers of one block overlap the work on another", r.source);
            context_.open_loop(r, r.counter, context_.rewritten(r.extent), context_.slots_of(&r));
            nodes(r);
            vector_.leave(r);
            context_.close_loop();
        }
    }

    LowerContext context_;
    CubeLowering cube_;
    VectorLowering vector_;
};

/// A kernel of the explicit level runs where its instructions can.
isa::CoreKind kind_of_instructions(const Region& r) {
    for (const tile::Node& n : r.nodes) {
        if (const auto* i = std::get_if<isa::Instr>(&n.node)) {
            const isa::InstrDesc& d = isa::desc(i->op);
            for (isa::Space s : {d.dst, d.src})
                if (s != isa::Space::none && s != isa::Space::gm && s != isa::Space::ub) return isa::CoreKind::aic;
        }
        if (const auto* inner = std::get_if<Region>(&n.node); inner && kind_of_instructions(*inner) == isa::CoreKind::aic) return isa::CoreKind::aic;
    }
    return isa::CoreKind::aiv;
}

bool stores_without_dot(const Analysis& a, const Region& r, isa::SourceId& source) {
    for (const tile::Node& n : r.nodes) {
        const auto* op = std::get_if<tile::Op>(&n.node);
        if (op && op->kind == OpKind::store && !a.reads_accumulator(op->args[0])) {
            source = op->source;
            return true;
        }
        const auto* inner = std::get_if<Region>(&n.node);
        if (inner && stores_without_dot(a, *inner, source)) return true;
    }
    return false;
}

/// Element types that the units of the chip do not have.
void check_types(const tile::Kernel& k, const Analysis& a, const isa::Chip& chip) {
    const auto has = [&](isa::DType t) { return chip.cube.per_fractal[static_cast<std::size_t>(t)] > 0; };
    const auto refuse = [&](isa::SourceId source, std::string message) {
        throw isa::Rejected({tile::diagnose(k.frame, source, isa::Code::dtype, std::move(message))});
    };
    for (const Accumulator& acc : a.accumulators)
        for (const DotSite& s : acc.sites)
            if (const isa::DType t = a.value(s.dot->args[0]).dtype; !has(t))
                refuse(s.dot->source,
                       "dot of " + std::string(isa::name(t)) + ": the matrix unit of " + chip.name + " does not take it; cast the tensors to f16");
    for (std::size_t v = 0; v < k.values.size(); ++v)
        if (k.values[v].dtype == isa::DType::bf16 && a.uses(static_cast<ValueId>(v)) > 0 && !has(isa::DType::bf16))
            refuse(k.values[v].source, chip.name + " has no bf16; use f16 or f32");
}

isa::CoreKind choose_core(const tile::Kernel& k, const Analysis& a, const isa::Chip& chip) {
    if (chip.merged()) return isa::CoreKind::merged;
    if (!a.has_dot()) return kind_of_instructions(k.body);
    isa::SourceId source = -1;
    if (stores_without_dot(a, k.body, source))
        throw isa::Rejected({tile::diagnose(k.frame, source, isa::Code::unsupported,
                                            "a kernel that uses dot stores a tile that does not come from dot, and " + chip.name +
                                                " has split cores: vector work beside dot needs a kernel of its own")});
    return isa::CoreKind::aic;
}

}  // namespace

Lowered lower(tile::Kernel kernel, const isa::Chip& chip) {
    Lowered out;
    Analysis analysis(kernel);
    if (analysis.fault) throw isa::Rejected({*analysis.fault});
    check_types(kernel, analysis, chip);
    const isa::CoreKind kind = choose_core(kernel, analysis, chip);
    Lowering lowering(kernel, analysis, chip, out.decisions);
    lowering.run(kind);
    out.requirements = lowering.requirements();
    out.program = std::move(kernel.frame);
    isa::number_instructions(out.program);
    return out;
}

}  // namespace sfumato::dsl
