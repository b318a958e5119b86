// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which kind of core runs a kernel: the tiles of the maths-like level say it (dot or not), the instructions of the explicit level must agree.
#include "dsl/lower_analysis.h"
#include "isa/chip.h"

namespace sfumato::dsl {

/// Throws Rejected when an instruction exists on no core of the chip, or cube and vector work are mixed on a chip that splits them.
isa::CoreKind choose_core(const tile::Kernel&, const Analysis&, const isa::Chip&);

}  // namespace sfumato::dsl
