// SPDX-License-Identifier: Apache-2.0
#pragma once
// A kernel that only says explicit things is a program already: its regions become loops and conditions, and its instructions decide which kind of
// core runs it.
#include "dsl/tile_ir.h"
#include "isa/chip.h"

namespace sfumato::dsl {

/// Throws Rejected when an instruction exists on no core of the chip, or cube and vector work are mixed on a chip that splits them.
isa::Program assemble(tile::Kernel, const isa::Chip&);

}  // namespace sfumato::dsl
