// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the shape rules share: reading axes and lists that moved from attributes to inputs, and inference of subgraphs.
#include <optional>
#include <string>
#include <vector>

#include "fusion/shape.h"

namespace sfumato::fusion {

inline constexpr std::int64_t kMostContent = 256;  ///< elements of a tensor whose content is followed
inline constexpr std::size_t kMostDims = 64;

/// Infers a subgraph whose inputs and captured values are set; returns how many values have no rank. `depth` counts enclosing control nodes.
int infer_graph(Graph&, int depth);
void infer_node_at(Graph&, NodeId, int depth);

/// An axis as 0 <= axis < rank (or <= rank when `end` is allowed); anything else fails with both numbers.
std::size_t axis_of(const ShapeContext&, std::int64_t axis, std::size_t rank, bool end_allowed = false);
/// The list from an attribute (old opsets) or from input i (new ones). `present` false: neither is there. Present without value: not known.
struct IntList {
    bool present = false;
    std::optional<std::vector<std::int64_t>> values;
};
IntList int_list(const ShapeContext&, const char* attribute, std::size_t input);
/// Shapes that broadcast together; fails with both shapes.
Shape broadcast_shapes(const ShapeContext&, const Shape& a, const Shape& b);
/// A shape of unknown extents.
Shape unknown_shape(const ShapeContext&, std::size_t rank);
/// Product of extents.
Extent volume(const Shape&);
/// Type of output 0 = type of input `from`.
void copy_type(ShapeContext&, std::size_t from = 0, std::size_t output = 0);

}  // namespace sfumato::fusion
