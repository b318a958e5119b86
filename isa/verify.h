// SPDX-License-Identifier: Apache-2.0
#pragma once
// Static rules of the instruction set, checked twice with the same code: on the symbolic program, where a rule is reported only if every
// value the symbols can take breaks it, and on a bound instance with concrete integers. Flag balance over paths and races are not judged here.
#include <vector>

#include "isa/chip.h"
#include "isa/diagnostic.h"
#include "isa/walker.h"

namespace sfumato::isa {

/// Every violation that can be proved without launch parameters; empty: the program is well formed for this chip.
std::vector<Diagnostic> verify(const Program&, const Chip&);

/// Violations of one instance with concrete values. Allocates nothing when there is nothing to say.
std::vector<Diagnostic> verify_bound(const Program&, const Chip&, const BoundInstr&);

}  // namespace sfumato::isa
