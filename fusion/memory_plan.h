// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where every intermediate of a graph lives in device memory, over a whole range of shapes: sizes and offsets are extents, the plan is checked
// by code that shares nothing with the planner, and the peak is reported beside the lower bound (the most bytes live at any time).
#include <cstdint>
#include <map>
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
    bool kv_append = true;                   ///< an output Concat(past, new) grows the caller's `past` where it lies (a cache with room for the upper end)
    bool any_order = false;                  ///< several streams: memory is shared only where the graph itself orders the last reader before the writer
    std::map<std::string, Range> ranges;     ///< a shape class: symbols narrowed for this plan only
    std::optional<std::int64_t> limit_bytes; ///< device memory; weights count
};

enum class Placement : std::uint8_t { planned, input, output, weight, alias };  ///< alias: a view or an in-place result of another value

struct PlannedValue {
    ValueId value = kNone;        ///< kNone: working memory of the subgraphs of the node of step `first`
    Placement placement{};
    ValueId root = kNone;         ///< of an alias: the value whose memory it shares
    Extent inner;                 ///< of an alias: bytes from the start of the root
    Extent bytes;                 ///< padded to the alignment
    std::int64_t upper_bytes = 0; ///< at the upper end of the ranges
    std::int64_t offset = 0;      ///< of `planned`: in the arena, at the upper end of the ranges: valid for every smaller size
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
    std::int64_t kv_saved_bytes = 0;     ///< output buffers that KV appends made needless
    std::int64_t in_place_bytes = 0, view_bytes = 0;  ///< bytes of results written over an operand, and of views that move nothing
    std::int64_t alignment = 0;
    bool any_order = false;
    std::string strategy;                ///< the placement that gave the smallest arena
    std::string peak_node;               ///< the step with the most bytes live
};

/// Offsets are fixed at the upper end of the ranges, so one plan serves every size in them: sizes and the places of views within their root are
/// extents that a run evaluates. A smaller shape class (MemoryOptions::ranges) gets a plan and an arena of its own.
/// Throws isa::InputError when a shape has no upper bound (naming the symbol and the option that bounds it) and when the limit is exceeded
/// (needed, allowed, at which node, the largest values live there).
MemoryPlan plan_memory(const Graph&, const MemoryOptions&);
/// Independent check: every overlap of two values that are live at once, one line each, for the sizes that `bindings` gives. A plan made before
/// a rewrite of the graph is refused by its schedule.
std::vector<std::string> check_plan(const Graph&, const MemoryPlan&, const Bindings&);

}  // namespace sfumato::fusion
