// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the planner knows of a graph beyond its links: which operands a node really reads (Shape reads no bytes, subgraphs read captured values),
// how many bytes values have over the ranges, and in which order nodes run so that little is live at once.
#include <cstdint>
#include <string>
#include <vector>

#include "fusion/graph.h"

namespace sfumato::fusion::plan {

/// Values whose bytes a node reads, each once: operands, except of Shape and Size, and what its subgraphs capture.
std::vector<ValueId> reads(const Graph&, NodeId);
/// Subgraphs that a node runs (branches of If, bodies of Loop and Scan).
std::vector<GraphPtr> subgraphs(const Node&);
/// True when the bytes never change between runs.
inline bool is_weight(const Value& v) { return v.constant != nullptr || v.weight; }

/// Bytes of `count` elements of `bits` bits, packed: the last byte may be shared.
Extent packed_bytes(Symbols&, const Extent& count, int bits);

/// Sizes of every value of a graph over the ranges of its symbols (narrowed by a shape class).
class Sizes {
public:
    Sizes(const Graph&, const std::map<std::string, Range>& narrowed);

    /// Unpadded bytes; 0 for sequences, optionals and strings, which the host holds.
    const Extent& bytes(ValueId v) const { return bytes_[v]; }
    /// Bytes at the upper end. Throws InputError naming the value, the symbol without an end and the option that bounds it.
    std::int64_t upper(ValueId v) const;
    std::int64_t upper_or_zero(ValueId v) const { return upper_[v] == Range::kUnbounded ? 0 : upper_[v]; }
    std::int64_t low(const Extent& e) const { return symbols_.range(e).low; }

private:
    [[noreturn]] void fail(ValueId v) const;
    const Graph& graph_;
    Symbols symbols_;  ///< a copy: a shape class narrows it for one plan only
    std::vector<Extent> bytes_;
    std::vector<std::int64_t> upper_;
};

/// Orders worth trying: the model's own, and one that runs the node next that frees most. All are topological and functions of the graph.
std::vector<std::vector<NodeId>> schedules(const Graph&, const Sizes&);

/// Live ranges under a schedule: a value is live from the step of its producer (-1: before the first) to the step of its last reader, or to the
/// step after the last when it is an output, an input or a weight.
struct Lifetimes {
    std::vector<int> step;         ///< by node
    std::vector<int> first, last;  ///< by value
    int end = 0;                   ///< number of steps
};
Lifetimes lifetimes(const Graph&, const std::vector<NodeId>& schedule);

/// By node, a bit for every node that the graph orders before it.
std::vector<std::vector<std::uint64_t>> find_ancestors(const Graph&, const std::vector<NodeId>& schedule);
inline bool precedes(const std::vector<std::vector<std::uint64_t>>& ancestors, NodeId a, NodeId b) { return ancestors[b][a / 64] >> (a % 64) & 1; }

}  // namespace sfumato::fusion::plan
