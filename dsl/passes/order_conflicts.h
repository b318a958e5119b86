// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pairs of accesses that must stay in order, each with its iteration distance.
#include "dsl/passes/order_model.h"

namespace sfumato::dsl::order {

struct Pair {
    int a = -1, b = -1;  ///< accesses
    int loop = -1;       ///< innermost loop around both (or an outer one for slots that restart); -1: the section
    int distance = 0;    ///< least number of iterations of `loop` from a to b
    int guarded = 0;     ///< least number of iterations in which the guards of both hold
    Guards guards;       ///< conditions both need, relative to `loop`
};
struct Pairs {
    std::vector<Pair> list;  ///< those not implied by two others
    int all = 0;             ///< conflicting ordered pairs, implied ones included
};
Pairs find_pairs(const Model&, const isa::Chip&);

}  // namespace sfumato::dsl::order
