// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tile IR to Program: chooses buffers, slots and instructions for a chip. The result has unplaced buffers and no flags; plan_buffers and
// insert_sync complete it.
#include "dsl/decision.h"
#include "dsl/tile_ir.h"
#include "isa/chip.h"

namespace sfumato::dsl {

struct Lowered {
    isa::Program program;
    DecisionLog decisions;
    std::vector<tile::Requirement> requirements;  ///< beyond those of the kernel itself
};
/// `kernel` is in SSA form and verified. Throws Rejected for what the chip or the compiler cannot express, naming the line.
Lowered lower(tile::Kernel kernel, const isa::Chip&);

}  // namespace sfumato::dsl
