// SPDX-License-Identifier: Apache-2.0
#include "dsl/assemble.h"

#include <algorithm>

#include "isa/limits.h"

namespace sfumato::dsl {

namespace {

isa::Block block_of(tile::Region&& r) {
    isa::Block out;
    for (tile::Node& n : r.nodes) {
        if (auto* inner = std::get_if<tile::Region>(&n.node)) {
            const bool loop = inner->kind != tile::Region::Kind::when;
            const isa::SymbolId counter = inner->counter;
            const isa::Expr extent = inner->extent;
            const std::int32_t stages = std::max(inner->stages, 1);
            const isa::SourceId source = inner->source;
            isa::Block body = block_of(std::move(*inner));
            if (loop)
                out.push_back({isa::Loop{counter, extent, std::move(body), stages, source}});
            else
                out.push_back({isa::When{extent, std::move(body), source}});
        } else if (auto* i = std::get_if<isa::Instr>(&n.node)) {
            out.push_back({std::move(*i)});
        } else if (auto* b = std::get_if<isa::Bump>(&n.node)) {
            out.push_back({*b});
        } else if (auto* l = std::get_if<isa::Load>(&n.node)) {
            out.push_back({*l});
        } else {
            isa::check(false, "an operation of the maths-like level reached assemble()");
        }
    }
    return out;
}

bool runs_on(isa::CoreKind kind, const isa::Instr& i) {
    if (const auto* s = std::get_if<isa::Sync>(&i.operands)) {
        const auto has = [&](isa::Pipe p) { return p == isa::Pipe::all || isa::has_pipe(kind, p); };
        return has(s->src) && has(s->dst);
    }
    const isa::InstrDesc& d = isa::desc(i.op);
    return isa::has_pipe(kind, d.pipe) && isa::has_space(kind, d.dst) && isa::has_space(kind, d.src);
}

}  // namespace

isa::Program assemble(tile::Kernel kernel, const isa::Chip& chip) {
    isa::Program p = std::move(kernel.frame);
    isa::Block body = block_of(std::move(kernel.body));
    const std::vector<isa::CoreKind> kinds = chip.merged() ? std::vector{isa::CoreKind::merged} : std::vector{isa::CoreKind::aiv, isa::CoreKind::aic};
    std::vector<isa::Diagnostic> refused;
    for (isa::CoreKind kind : kinds) {
        const isa::Instr* foreign = nullptr;
        isa::for_each_instr(body, [&](const isa::Instr& i) {
            if (!foreign && !runs_on(kind, i)) foreign = &i;
        });
        if (!foreign) {
            p.sections.push_back({kind, std::move(body)});
            isa::number_instructions(p);
            return p;
        }
        std::string what(isa::desc(foreign->op).name);
        if (const auto* s = std::get_if<isa::Sync>(&foreign->operands))
            what += " " + std::string(isa::name(s->src)) + " >> " + std::string(isa::name(s->dst));
        refused.push_back(tile::diagnose(p, foreign->source, isa::Code::unsupported,
                                         what + " does not exist on core kind " + std::string(isa::name(kind)) + " of " + chip.name));
    }
    if (!chip.merged()) {
        isa::Diagnostic d = refused.back();
        d.message = "the kernel mixes cube and vector work, which " + chip.name + " runs on different cores; split it into two kernels";
        for (const isa::Diagnostic& r : refused) d.notes.push_back(r.file + ":" + std::to_string(r.line) + ": " + r.message);
        refused = {d};
    }
    throw isa::Rejected(refused);
}

}  // namespace sfumato::dsl
