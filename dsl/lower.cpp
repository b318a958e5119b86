// SPDX-License-Identifier: Apache-2.0
#include "dsl/lower.h"

#include <algorithm>

#include "dsl/core_choice.h"
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
            const bool tiles = tile::has_tile_ops(r), cores = r.kind == Region::Kind::cores;
            if (cores && r.stages == 0 && tiles)
                context_.decide("slots of tiles that a core loads and stores once a block", std::to_string(context_.slots_of(&r)), "1",
                                "transfers of one block overlap the work on another", r.source);
            context_.open_loop(r, r.counter, context_.rewritten(r.extent), tiles ? context_.slots_of(&r) : cores ? 1 : std::max(r.stages, 1));
            nodes(r);
            vector_.leave(r);
            context_.close_loop();
        }
    }

    LowerContext context_;
    CubeLowering cube_;
    VectorLowering vector_;
};

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
