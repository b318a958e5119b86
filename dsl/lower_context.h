// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the cube and the vector part of the lowering share: the kernel with its analysis, the emitter, the open loops with their running
// counters, and expressions rewritten when one loop of the author became two.
#include <map>

#include "dsl/decision.h"
#include "dsl/emit.h"
#include "dsl/lower_analysis.h"
#include "isa/chip.h"

namespace sfumato::dsl {

/// A loop that is being written. Its running counter advances once an iteration and rotates the slots of the buffers it refills.
struct Scope {
    const Region* region = nullptr;
    isa::SymbolId loop = -1;     ///< -1: no loop (body, when)
    isa::SymbolId counter = -1;  ///< made on demand
    std::int32_t stages = 1;
};

struct LowerContext {
    LowerContext(tile::Kernel& k, const Analysis& a, const isa::Chip& c, DecisionLog& l) : kernel(k), analysis(a), chip(c), log(l), emit(k.frame) {}

    tile::Kernel& kernel;
    const Analysis& analysis;
    const isa::Chip& chip;
    DecisionLog& log;
    Emitter emit;
    std::vector<Scope> scopes;
    std::vector<tile::Requirement> requirements;

    bool merged() const { return chip.merged(); }
    isa::ExprPool& exprs() { return kernel.frame.exprs; }
    Expr constant(std::int64_t v) { return kernel.frame.constant(v); }
    Expr symbol(isa::SymbolId s) { return kernel.frame.symbol(s); }

    /// Expressions of the author's loop counter are rewritten while it stands for an expression of other counters.
    void replace(isa::SymbolId s, Expr by) { replaced_[s] = by; }
    void restore(isa::SymbolId s) { replaced_.erase(s); }
    Expr rewritten(Expr e) {
        if (!e || replaced_.empty()) return e;
        std::vector<Expr> by(kernel.frame.symbols.size());
        for (const auto& [symbol, expr] : replaced_) by[static_cast<std::size_t>(symbol)] = expr;
        return exprs().substitute(e, by);
    }

    void open_loop(const Region&, isa::SymbolId loop, Expr trips, std::int32_t stages);
    void close_loop();
    /// The innermost scope of a region that is open.
    Scope& scope(const Region*);
    Expr slot(Scope&, std::int32_t slots);
    /// Slots of the buffers filled once an iteration of this region: what the author asked for, otherwise 2.
    std::int32_t slots_of(const Region*) const;

    [[noreturn]] void refuse(isa::SourceId, std::string message, std::vector<std::string> notes = {}) const;
    void decide(std::string what, std::string choice, std::string runner_up, std::string why, isa::SourceId source) {
        log.push_back({std::move(what), std::move(choice), std::move(runner_up), std::move(why), source});
    }
    /// Byte offset in the tensor of element (row, col) of tile (i, j).
    Expr offset_of(const tile::View&, Expr i, Expr j, Expr row = {});
    const tile::View& view(const tile::Op& op) const { return kernel.views[static_cast<std::size_t>(op.view)]; }
    isa::DType dtype_of(const tile::View& v) const { return kernel.frame.tensors[static_cast<std::size_t>(v.tensor)].dtype; }

private:
    std::map<isa::SymbolId, Expr> replaced_;
};

}  // namespace sfumato::dsl
