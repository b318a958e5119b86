// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes the statements of a Program section while the lowering walks a kernel: nested blocks, buffers, slots that rotate with running counters.
#include <string>
#include <vector>

#include "isa/program.h"

namespace sfumato::dsl {

using isa::Expr;

class Emitter {
public:
    explicit Emitter(isa::Program& p) : program_(p) {}

    /// Writes into a block that is not a section's.
    Emitter(isa::Program& p, isa::Block& into) : program_(p), blocks_{&into} {}

    void open_section(isa::CoreKind);
    void instr(isa::Op, isa::Operands, isa::SourceId);
    void append(isa::Stmt);
    /// Opens a loop over an existing or a new counter; close() ends it.
    void open_loop(isa::SymbolId counter, Expr trips, std::int32_t stages, isa::SourceId);
    isa::SymbolId new_loop_symbol(const std::string& stem) { return program_.add_symbol(unique(stem), isa::SymbolKind::loop); }
    void open_when(Expr condition, isa::SourceId);
    void close() { blocks_.pop_back(); }

    std::int32_t buffer(isa::Buffer);
    /// A value that rotates over `slots` with the iterations of a loop: mod(counter, slots), 0 for one slot.
    Expr slot(isa::SymbolId counter, std::int32_t slots);
    isa::SymbolId new_counter(const std::string& stem) { return program_.add_symbol(unique(stem), isa::SymbolKind::counter); }
    void bump(isa::SymbolId counter) { append({isa::Bump{counter}}); }

    isa::Operand at(std::int32_t buffer, Expr slot, Expr offset) const;
    isa::Operand at(std::int32_t buffer, Expr slot) { return at(buffer, slot, program_.constant(0)); }
    isa::Operand tensor(std::int32_t tensor, Expr byte_offset);

    isa::Program& program() { return program_; }
    isa::ExprPool& exprs() { return program_.exprs; }
    Expr constant(std::int64_t v) { return program_.constant(v); }

private:
    isa::Block& block() { return *blocks_.back(); }
    std::string unique(const std::string& stem) const;

    isa::Program& program_;
    std::vector<isa::Block*> blocks_;
};

}  // namespace sfumato::dsl
