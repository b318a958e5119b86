// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the compiler decided on its own, with the alternative it turned down: the decision log that `explain` prints.
#include <string>
#include <vector>

#include "isa/program.h"

namespace sfumato::dsl {

struct Decision {
    std::string what;       ///< "relu", "L1 depth of a", "slots of acc"
    std::string choice;     ///< "folded into the fix-pipe drain"
    std::string runner_up;  ///< "" when there was no alternative
    std::string why;
    isa::SourceId source = -1;
};
using DecisionLog = std::vector<Decision>;

}  // namespace sfumato::dsl
