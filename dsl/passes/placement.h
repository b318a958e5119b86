// SPDX-License-Identifier: Apache-2.0
#pragma once
// Addresses for the buffers of a program, without a verdict: a report whose `used` may exceed the capacity. plan_buffers turns it into a plan or an
// error, remedies try changed programs with it.
#include "dsl/passes/plan.h"

namespace sfumato::dsl {

CapacityReport place_buffers(const isa::Program&, const isa::Chip&);

/// A request: `bytes` aligned to `alignment`, alive over `live`.
struct PlaceRequest {
    std::int64_t bytes = 0;
    LiveRange live;
};
/// Base of each request such that requests with meeting live ranges do not overlap; total for any input. Stacks when the sum fits, otherwise
/// tries greedy orders and, for few requests, all of them up to a node limit.
std::vector<std::int64_t> place(const std::vector<PlaceRequest>&, std::int64_t alignment, std::int64_t capacity);

}  // namespace sfumato::dsl
