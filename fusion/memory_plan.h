// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where every intermediate of a graph lives in device memory, over a whole range of shapes: sizes and offsets are extents, the plan is checked
// by code that shares nothing with the planner, and the peak is reported beside the lower bound (the most bytes live at any time).
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fusion/graph.h"

namespace sfumato::fusion {

struct MemoryOptions {
    std::int64_t alignment = 512;            ///< bytes, of planned buffers
    std::int64_t zero_copy_alignment = 32;   ///< of buffers that belong to the caller
    std::set<std::string> no_reuse;          ///< node names or operator names whose outputs keep memory of their own
    bool reuse = true;
    std::optional<std::int64_t> limit_bytes; ///< device memory; weights count
};

enum class Placement : std::uint8_t { planned, input, output, weight, alias };  ///< alias: a view or an in-place result of another value

struct PlannedValue {
    ValueId value = kNone;
    Placement placement{};
    ValueId root = kNone;         ///< of an alias: the value whose memory it shares
    Extent bytes;                 ///< padded to the alignment
    std::int64_t offset = 0;      ///< in the arena, at the upper end of the ranges: valid for every smaller size
    int first = 0, last = 0;      ///< steps of the schedule between which it is live, inclusive
    std::string why;              ///< "in place of X", "KV append into past.0.key", "zero-copy input"
};

struct MemoryPlan {
    std::vector<NodeId> schedule;
    std::vector<PlannedValue> values;
    std::int64_t arena_bytes = 0;        ///< peak of planned memory at the upper end of the ranges
    std::int64_t lower_bound_bytes = 0;  ///< most bytes live at any step, under the same schedule and aliases
    std::int64_t without_reuse_bytes = 0;
    std::int64_t weight_bytes = 0, input_bytes = 0, output_bytes = 0;
    std::string peak_node;               ///< the step with the most bytes live
};

/// Throws isa::InputError when a shape has no upper bound (naming the symbol and the option that bounds it) and when the limit is exceeded
/// (needed, allowed, at which node, the largest values live there).
MemoryPlan plan_memory(const Graph&, const MemoryOptions&);
/// Independent check: every overlap of two values that are live at once, one line each, for the sizes that `bindings` gives.
std::vector<std::string> check_plan(const Graph&, const MemoryPlan&, const Bindings&);

}  // namespace sfumato::fusion
