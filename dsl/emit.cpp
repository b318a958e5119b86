// SPDX-License-Identifier: Apache-2.0
#include "dsl/emit.h"

#include <algorithm>

namespace sfumato::dsl {

void Emitter::open_section(isa::CoreKind kind) {
    program_.sections.push_back({kind, {}});
    blocks_ = {&program_.sections.back().body};
}

void Emitter::append(isa::Stmt s) { block().push_back(std::move(s)); }

void Emitter::instr(isa::Op op, isa::Operands operands, isa::SourceId source) {
    isa::Instr i;
    i.op = op;
    i.operands = std::move(operands);
    i.source = source;
    append({std::move(i)});
}

void Emitter::open_loop(isa::SymbolId counter, Expr trips, std::int32_t stages, isa::SourceId source) {
    append({isa::Loop{counter, trips, {}, stages, source}});
    blocks_.push_back(&std::get<isa::Loop>(block().back().node).body);
}

void Emitter::open_when(Expr condition, isa::SourceId source) {
    append({isa::When{condition, {}, source}});
    blocks_.push_back(&std::get<isa::When>(block().back().node).body);
}

std::int32_t Emitter::buffer(isa::Buffer b) {
    std::string stem = b.name;
    const auto taken = [&] {
        return std::any_of(program_.buffers.begin(), program_.buffers.end(), [&](const isa::Buffer& o) { return o.name == b.name; });
    };
    for (int n = 2; taken(); ++n) b.name = stem + "_" + std::to_string(n);
    program_.buffers.push_back(std::move(b));
    return static_cast<std::int32_t>(program_.buffers.size() - 1);
}

Expr Emitter::slot(isa::SymbolId counter, std::int32_t slots) {
    return slots <= 1 ? constant(0) : exprs().mod(program_.symbol(counter), constant(slots));
}

isa::Operand Emitter::at(std::int32_t buffer, Expr slot, Expr offset) const {
    return {program_.buffers[static_cast<std::size_t>(buffer)].space, buffer, slot, offset};
}
isa::Operand Emitter::tensor(std::int32_t tensor, Expr byte_offset) { return {isa::Space::gm, tensor, constant(0), byte_offset}; }

std::string Emitter::unique(const std::string& stem) const {
    std::string name = stem;
    for (int n = 2; program_.find_symbol(name) >= 0; ++n) name = stem + "_" + std::to_string(n);
    return name;
}

}  // namespace sfumato::dsl
