// SPDX-License-Identifier: Apache-2.0
#pragma once
// Executes the loops of one section of a program and yields its instruction instances in program order with every expression evaluated.
// The scalar unit of the model, the program-order interpreter and brute-force checks all walk programs through this one class.
#include <map>
#include <span>
#include <vector>

#include "isa/program.h"

namespace sfumato::isa {

/// Values of the launch that a walk needs.
struct WalkContext {
    std::map<std::string, std::int64_t> params;  ///< by symbol name
    std::int64_t block_id = 0, block_num = 1, sub_block = 0;
};

struct BoundInstr {
    const Instr* instr = nullptr;
    BoundOperands operands;
};

/// What the walker met.
enum class StepKind : std::uint8_t { instr, load, loop_iteration, end };
struct Step {
    StepKind kind = StepKind::end;
    const BoundInstr* instr = nullptr;  ///< valid until the next call
    const Load* load = nullptr;         ///< answer it with give() before the next call
    std::int64_t index = 0;             ///< element index of the load
};

class Walker {
public:
    /// Throws InputError when a parameter of the program has no value. The program must outlive the walker and have all buffers placed
    /// (an unplaced buffer counts from address 0) and its instructions numbered.
    Walker(const Program&, const Section&, const WalkContext&);
    Step next();
    void give(std::int64_t loaded) { assign(pending_->symbol, loaded); }
    std::span<const std::int64_t> symbols() const { return symbols_; }
    /// Values of the enclosing loop counters, outermost first.
    std::vector<std::int64_t> loop_vector() const;

private:
    struct Patch {
        std::size_t offset;  ///< of an int64 inside the bound operands
        Expr value;
        Expr slot;  ///< for an on-chip operand: its slot
        std::int64_t slot_bytes = 0, base = 0;
    };
    struct Plan {
        BoundInstr bound;
        std::vector<Patch> patches;
    };
    struct Frame {
        const Block* block;
        std::size_t position = 0;
        const Loop* loop = nullptr;
        std::int64_t trips = 0;
    };
    void prepare(const Block&);
    void plan(const Instr&);
    void track(Expr);
    void settle();
    void assign(SymbolId, std::int64_t value);
    const BoundInstr* bind(const Instr&);
    std::int64_t value(Expr e) const { return values_[static_cast<std::size_t>(e.id)]; }

    // Every expression the section uses has its current value in values_; a symbol's change recomputes just the expressions that mention it,
    // in pool order (operands are interned before the expressions that use them).
    struct Formula {
        ExprOp op;
        std::int32_t target, a, b;
    };
    const Program& program_;
    std::vector<std::int64_t> symbols_;
    std::vector<std::int64_t> values_;             ///< by expression id
    std::vector<char> tracked_;                    ///< by expression id: the section uses it
    std::vector<std::vector<Formula>> dependent_;  ///< by symbol
    std::vector<std::int32_t> symbol_node_;        ///< by symbol: its expression, or -1
    std::vector<Plan> plans_;                      ///< by instruction id
    std::vector<Frame> stack_;
    const Load* pending_ = nullptr;
};

/// Binds one instruction for given symbol values (slow path for tools and tests).
BoundOperands bind_operands(const Program&, const Instr&, std::span<const std::int64_t> symbols);
/// Symbol table of a launch: parameters and block symbols filled, loops and counters 0. Throws InputError for a missing parameter.
std::vector<std::int64_t> bind_symbols(const Program&, const WalkContext&);

}  // namespace sfumato::isa
