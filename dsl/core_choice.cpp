// SPDX-License-Identifier: Apache-2.0
#include "dsl/core_choice.h"

#include "isa/limits.h"

namespace sfumato::dsl {

namespace {

bool runs_on(isa::CoreKind kind, const isa::Instr& i) {
    if (const auto* s = std::get_if<isa::Sync>(&i.operands)) {
        const auto has = [&](isa::Pipe p) { return p == isa::Pipe::all || isa::has_pipe(kind, p); };
        return has(s->src) && has(s->dst);
    }
    const isa::InstrDesc& d = isa::desc(i.op);
    return isa::has_pipe(kind, d.pipe) && isa::has_space(kind, d.dst) && isa::has_space(kind, d.src);
}

/// The first explicit instruction that the core kind does not have.
const isa::Instr* foreign(const Region& r, isa::CoreKind kind) {
    for (const tile::Node& n : r.nodes) {
        const auto* i = std::get_if<isa::Instr>(&n.node);
        if (i && !runs_on(kind, *i)) return i;
        if (const auto* inner = std::get_if<Region>(&n.node))
            if (const isa::Instr* found = foreign(*inner, kind)) return found;
    }
    return nullptr;
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

/// Core kinds on which the tiles of the kernel can be computed, the preferred one first.
std::vector<isa::CoreKind> kinds_of_tiles(const tile::Kernel& k, const Analysis& a, const isa::Chip& chip) {
    using enum isa::CoreKind;
    if (chip.merged()) return {merged};
    if (!a.has_dot()) return tile::has_tile_ops(k.body) ? std::vector{aiv} : std::vector{aiv, aic};
    isa::SourceId source = -1;
    if (stores_without_dot(a, k.body, source))
        throw isa::Rejected({tile::diagnose(k.frame, source, isa::Code::unsupported,
                                            "a kernel that uses dot stores a tile that does not come from dot, and " + chip.name +
                                                " has split cores: vector work beside dot needs a kernel of its own")});
    return {aic};
}

}  // namespace

isa::CoreKind choose_core(const tile::Kernel& kernel, const Analysis& analysis, const isa::Chip& chip) {
    const isa::Program& p = kernel.frame;
    const std::vector<isa::CoreKind> kinds = kinds_of_tiles(kernel, analysis, chip);
    std::vector<isa::Diagnostic> refused;
    for (isa::CoreKind kind : kinds) {
        const isa::Instr* odd = foreign(kernel.body, kind);
        if (!odd) return kind;
        std::string what(isa::desc(odd->op).name);
        if (const auto* s = std::get_if<isa::Sync>(&odd->operands))
            what += " " + std::string(isa::name(s->src)) + " >> " + std::string(isa::name(s->dst));
        refused.push_back(tile::diagnose(p, odd->source, isa::Code::unsupported,
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
