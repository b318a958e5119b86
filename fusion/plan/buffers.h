// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which values share one piece of memory because they are views of each other, parts of a concatenation, or results written over an operand.
#include <string>
#include <vector>

#include "fusion/memory_plan.h"
#include "fusion/plan/flow.h"

namespace sfumato::fusion::plan {

/// One piece of memory and the values in it.
struct Buffer {
    ValueId root = kNone;
    Placement kind = Placement::planned;
    Extent bytes;            ///< unpadded
    std::int64_t upper = 0;  ///< unpadded
    std::vector<ValueId> members;
    int first = 0, last = 0;
    bool gone = false;   ///< merged into another
    bool cache = false;  ///< rows lie in the strides of the full capacity: no plain view of it exists
};

/// Which zero-copy forms to use: a view may keep a big buffer alive, so the planner tries with and without.
struct AliasChoice {
    bool partial_views = true;  ///< slices and splits as views
    bool gathered = true;       ///< operands of Concat computed in its result
};

struct BufferSet {
    std::vector<Buffer> buffers;
    std::vector<int> of_value;     ///< index of the buffer; -1: nothing to place
    std::vector<Extent> inner;     ///< by value: bytes from the start of its buffer
    std::vector<std::string> why;  ///< by value
    std::int64_t kv_saved = 0, in_place = 0, views = 0;
};

BufferSet make_buffers(const Graph&, const std::vector<NodeId>& schedule, const Lifetimes&, const Sizes&, const MemoryOptions&, AliasChoice,
                       const std::vector<std::vector<std::uint64_t>>& ancestors);

/// The most bytes of planned buffers, each padded, live at any step; and that step.
struct Bound {
    std::int64_t bytes = 0;
    int step = 0;
};
Bound live_bound(const BufferSet&, const std::vector<std::int64_t>& working, std::int64_t alignment, int steps);

/// Where a view starts in its operand, when output `index` of the node is a piece of operand 0 (or all of it) in one stretch; else empty.
struct View {
    Extent inner;
    bool whole = true;
};
std::optional<View> view_of(const Graph&, NodeId, std::size_t index);

}  // namespace sfumato::fusion::plan
