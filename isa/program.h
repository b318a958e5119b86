// SPDX-License-Identifier: Apache-2.0
#pragma once
// A Program: loops and instructions per core kind, with buffers, tensors and source lines. The compiler's buffer level and its final output
// are this one structure at two degrees of completeness: first buffers have no base address and no flags exist, then both are filled in.
#include <optional>
#include <string>
#include <vector>

#include "isa/instruction_table.h"

namespace sfumato::isa {

/// A place in the author's source.
struct Source {
    std::string file;
    std::int32_t line = 0, column = 0;
    bool operator==(const Source&) const = default;
};
using SourceId = std::int32_t;  ///< index into Program::sources, -1: unknown

enum class Role : std::uint8_t { in, out, inout, workspace };

/// A tensor in GM. Extents are expressions over launch parameters; row-major unless the kernel says otherwise.
struct Tensor {
    std::string name;
    DType dtype = DType::f16;
    std::vector<Expr> dims;
    Role role = Role::in;
};

/// A named piece of on-chip memory with `slots` copies of `slot_bytes`, placed at `base` once planned.
struct Buffer {
    std::string name;
    Space space = Space::ub;
    DType dtype = DType::f16;
    std::vector<std::int64_t> shape;  ///< physical extents in elements, for reports
    std::int64_t slot_bytes = 0;
    std::int32_t slots = 1;
    std::optional<std::int64_t> base;
    std::string why;  ///< who asked for the slots, e.g. "pipelined(..., 2)"
    SourceId source = -1;
};

struct Stmt;
using Block = std::vector<Stmt>;

struct Instr {
    Op op = Op::barrier;
    Operands operands;
    SourceId source = -1;
    std::int32_t id = -1;  ///< position in the program, given by number_instructions()
    bool hand = false;     ///< the author orders this instruction: the compiler adds no flag between two of these
};
/// Runs `body` `trips` times (not at all when trips <= 0) with `counter` = 0, 1, ...
struct Loop {
    SymbolId counter = -1;
    Expr trips;
    Block body;
    std::int32_t stages = 1;  ///< pipeline depth the author asked for
    SourceId source = -1;
};
/// Runs `body` when the condition is not 0.
struct When {
    Expr condition;
    Block body;
    SourceId source = -1;
};
/// Advances a running counter by one.
struct Bump {
    SymbolId counter = -1;
};
/// Control load: symbol = element `index` of an integer tensor.
struct Load {
    SymbolId symbol = -1;
    std::int32_t tensor = -1;
    Expr index;
    SourceId source = -1;
};
struct Stmt {
    std::variant<Instr, Loop, When, Bump, Load> node;
};

/// The code of one kind of core.
struct Section {
    CoreKind kind = CoreKind::aic;
    Block body;
};

struct Program {
    std::string name;
    ExprPool exprs;
    std::vector<Symbol> symbols;
    std::vector<Source> sources;
    std::vector<Tensor> tensors;
    std::vector<Buffer> buffers;
    std::vector<Section> sections;
    Expr blocks;  ///< blocks wanted by the launch, over parameters; the launch folds them over the cores there are

    SymbolId add_symbol(std::string name, SymbolKind);
    /// The symbol of that name, or -1.
    SymbolId find_symbol(std::string_view name) const;
    SourceId add_source(Source);
    Expr constant(std::int64_t v) { return exprs.constant(v); }
    Expr symbol(SymbolId s) { return exprs.symbol(s); }
};

/// Numbers the instructions of all sections in text order, from 0; returns how many there are.
int number_instructions(Program&);

/// Calls f(Instr&) on every instruction in text order.
template <class BlockRef, class F>
void for_each_instr(BlockRef& block, F&& f) {
    for (auto& s : block) {
        if (auto* i = std::get_if<Instr>(&s.node)) f(*i);
        if (auto* l = std::get_if<Loop>(&s.node)) for_each_instr(l->body, f);
        if (auto* w = std::get_if<When>(&s.node)) for_each_instr(w->body, f);
    }
}

/// The pipe that executes an instruction (flags and barriers name it in their operands).
Pipe pipe_of(const Instr&);
/// "file:line" or "" when unknown.
std::string where(const Program&, SourceId);

}  // namespace sfumato::isa
