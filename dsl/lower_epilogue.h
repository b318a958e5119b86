// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a fix-pipe drain can do on the way from L0C to GM, and the rules by which operations after the last product are folded into it: the
// addition of a row goes into the first product through the bias table, ReLU and the conversion into the drain.
#include "dsl/decision.h"
#include "dsl/lower_analysis.h"
#include "isa/chip.h"

namespace sfumato::dsl {

struct Fold {
    int accumulator = -1;
    bool relu = false;
    isa::DType to = isa::DType::f32;
};
/// Folds by store. Notes the bias of each accumulator in the analysis. Throws Rejected, naming the line, for what cannot be folded.
std::map<const tile::Op*, Fold> fold_epilogues(Analysis&, const isa::Chip&, DecisionLog&);

}  // namespace sfumato::dsl
