// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an author may change so that a memory space fits. Every remedy is tried on a copy of the program before it is offered.
#include "dsl/passes/plan.h"

namespace sfumato::dsl {

/// Lines such as "fits if  x slots(1)  192,000 B (97 %)", best first, at most five.
std::vector<std::string> remedies(const isa::Program&, const isa::Chip&, isa::Space);

}  // namespace sfumato::dsl
