// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes the chosen flags into the statement tree.
#include "dsl/passes/order_solve.h"

namespace sfumato::dsl::order {

/// Sets, waits, barriers, primes before the outermost loop, drains after it, and the counters their ids follow.
void emit(Model&, const std::vector<Flag>&);

}  // namespace sfumato::dsl::order
