// SPDX-License-Identifier: Apache-2.0
#pragma once
// What sync insertion sees of one section: statements with positions, loops, guards and accesses. Internal to insert_sync.
//
// Positions: every statement has `begin` < `end`, text order. A flag is set after a statement (at its end) and waited for before one (at its
// begin). Iterations of a loop are counted flattened: the count runs on across the iterations of outer loops, as running counters do.
#include <optional>
#include <utility>
#include <vector>

#include "dsl/passes/sync.h"
#include "isa/program.h"

namespace sfumato::dsl::order {

using Guards = std::vector<int>;  ///< sorted condition ids; all must hold
bool subset(const Guards& a, const Guards& b);
Guards intersection(const Guards& a, const Guards& b);
Guards difference(const Guards& a, const Guards& b);
Guards united(Guards a, const Guards& b);

struct StmtInfo {
    int block = -1, index = -1;
    int begin = 0, end = 0;
    bool hand = false;  ///< holds instructions, all of them the author's
};
struct BlockInfo {
    int stmt = -1;  ///< the Loop or When that owns it, -1: the section
    int loop = -1;  ///< innermost loop around its statements, -1: none
    Guards guards;  ///< of all enclosing Whens
    std::vector<int> stmts;
};
struct LoopInfo {
    int parent = -1, stmt = -1, block = -1, depth = 0;
    isa::SymbolId counter = -1;
    isa::SourceId source = -1;
};
/// How the slot of an access moves: (symbol + add) mod modulus where the symbol counts iterations of `loop`.
struct Rotation {
    bool constant = false;
    std::int64_t slot = 0;
    int loop = -2;  ///< -2: unknown
    isa::SymbolId symbol = -1;
    std::int64_t add = 0, modulus = 1;
    bool running = false;  ///< counts across outer iterations
    Guards guards;         ///< of the Bump, relative to its loop
};
struct Access {
    int stmt = -1;
    int buffer = -1, tensor = -1;  ///< one of them
    bool reads = false, writes = false;
    bool hand = false, unit_flag = false;
    isa::Pipe pipe = isa::Pipe::s;
    isa::Expr slot, offset;
    Guards guards;  ///< everything that must hold for it to happen
    Rotation rotation;
    std::optional<std::pair<std::int64_t, std::int64_t>> bytes;  ///< inside the slot (tensor), when constant
    isa::Op op = isa::Op::barrier;
    isa::SourceId source = -1;
};
/// A running counter with one Bump.
struct CounterInfo {
    int bumps = 0;
    int stmt = -1, loop = -1;
    Guards guards;
};

class Model {
public:
    Model(isa::Program&, isa::Section&);

    const StmtInfo& stmt(int i) const { return stmts[static_cast<std::size_t>(i)]; }
    const BlockInfo& block(int i) const { return blocks[static_cast<std::size_t>(i)]; }
    const LoopInfo& loop(int i) const { return loops[static_cast<std::size_t>(i)]; }
    /// Innermost block that holds both statements, and the loop around it.
    int common_block(int stmt_a, int stmt_b) const;
    int loop_of(int stmt) const { return block(stmt_info_block(stmt)).loop; }
    /// The child of `block` in which `stmt` lies.
    int child(int block, int stmt) const;
    /// Body of a loop, or the section's block for -1.
    int body(int loop) const { return loop < 0 ? 0 : this->loop(loop).block; }
    bool inside(int stmt, int loop) const;      ///< the statement lies in the loop (-1: always)
    bool encloses(int outer, int inner) const;  ///< loop `outer` is `inner` or around it
    int outermost(int loop) const;              ///< last loop on the way out
    /// Guards of a block's Whens inside `loop`.
    Guards guards_within(const Guards& all, int loop) const { return difference(all, block(body(loop)).guards); }
    /// A condition that can be evaluated in the body of `loop` and means the same anywhere in one iteration.
    bool evaluable(int condition, int loop) const;
    isa::Expr expr(int condition) const { return isa::Expr{condition}; }
    const CounterInfo* counter(isa::SymbolId s) const { return &counters[static_cast<std::size_t>(s)]; }

    isa::Program& program;
    isa::Section& section;
    std::vector<StmtInfo> stmts;
    std::vector<BlockInfo> blocks;
    std::vector<LoopInfo> loops;
    std::vector<Access> accesses;
    std::vector<CounterInfo> counters;  ///< by symbol

private:
    int stmt_info_block(int s) const { return stmts[static_cast<std::size_t>(s)].block; }
    void scan(isa::Block&, int block);
    void scan_instr(const isa::Instr&, int stmt);
    void find_counters(const isa::Block&);
    Guards conditions(isa::Expr, int unique);
    bool stable(isa::Expr) const;
    Rotation rotation_of(isa::Expr slot, int slots) const;
    void finish_rotations();
    int next_ = 0;
};

}  // namespace sfumato::dsl::order
