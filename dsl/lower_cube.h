// SPDX-License-Identifier: Apache-2.0
#pragma once
// The matrix part of the lowering: operands GM -> L1 -> L0A / L0B, products into L0C, and, on cores with a fix-pipe, bias, ReLU and cast folded
// into the drain. A reduction loop of the author becomes two nested loops where one transfer to L1 brings several L0 steps.
#include "dsl/lower_context.h"
#include "dsl/lower_epilogue.h"

namespace sfumato::dsl {

class CubeLowering {
public:
    CubeLowering(LowerContext&, std::map<const tile::Op*, Fold> folds);

    /// The operation is written here (or is part of something that is).
    bool owns(const tile::Op&) const;
    void lower(const tile::Op&);
    /// A loop whose body adds products: its loads come first, then L0 steps, possibly in a loop of their own.
    bool is_dot_loop(const Region&) const;
    /// Writes the loop; `other` writes the operations that are not of the cube, `last` what ends an iteration.
    template <class F, class G>
    void lower_loop(const Region& r, F&& other, G&& last);

    /// Where an accumulator lies, for whoever drains it.
    struct Home {
        std::int32_t buffer = -1;
        Expr slot;
    };
    Home home(int accumulator);

private:
    struct Tile {
        std::int32_t buffer = -1;
        Expr slot;
        std::int64_t rows = 0, pitch = 0;  ///< physical; pitch: rows rounded up to whole fractals
        Expr valid_rows, valid_cols;
        bool rows_scaled = false, cols_scaled = false;  ///< this extent holds several L0 steps
    };
    struct Operand {
        const tile::Op* load;
        bool transposed, left;
        auto operator<=>(const Operand&) const = default;
    };
    struct Filled {
        std::int32_t buffer;
        Expr slot, depth;
    };

    void load(const tile::Op&);
    void load_bias(const Accumulator&, const Region&);
    void product(const DotSite&);
    Filled fill(const Operand&, const Region*, isa::SourceId);
    void drain(const tile::Op& store);
    Expr first_step(const Accumulator&, const DotSite&, bool transfer_only);
    std::int64_t steps_per_transfer(const Region&);
    bool scales(const tile::Op& load, const Region&, bool& rows, bool& cols) const;
    std::int32_t accumulator_slots();
    std::vector<const tile::Op*> loads_of(const Region&) const;
    void begin_loop(const Region&);
    void end_loop(const Region&);

    LowerContext& context_;
    const Analysis& analysis_;
    std::map<const tile::Op*, Fold> folds_;  ///< by store; empty on merged cores
    std::map<const tile::Op*, Tile> tiles_;
    std::map<const tile::Op*, std::pair<std::int32_t, Expr>> bias_l1_;  ///< by load
    std::map<const tile::Op*, std::int32_t> bias_table_;
    std::map<Operand, std::int32_t> l0_buffers_;
    std::map<Operand, Filled> filled_;  ///< of the current iteration
    std::map<int, std::int32_t> homes_;
    std::int32_t accumulator_slots_ = 0;
    isa::SymbolId outer_ = -1, inner_ = -1;  ///< loops a reduction is cut into
    std::int64_t steps_ = 0;                 ///< L0 steps of a transfer; 0: the loop is not cut
    const Region* cut_ = nullptr;
};

template <class F, class G>
void CubeLowering::lower_loop(const Region& r, F&& other, G&& last) {
    begin_loop(r);
    for (const tile::Node& n : r.nodes) {
        const auto* op = std::get_if<tile::Op>(&n.node);
        if (op && owns(*op)) {
            if (op->kind != OpKind::load) lower(*op);
        } else {
            other(n, r);
        }
    }
    last();
    end_loop(r);
}

}  // namespace sfumato::dsl
