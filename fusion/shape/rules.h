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

/// Inference of one graph, inputs and captured values set. `depth` counts enclosing control nodes.
struct Inferred {
    int unknown = 0;       ///< values without rank
    bool learned = false;  ///< see ShapeContext
};
Inferred infer_graph(Graph&, int depth);

/// An axis as 0 <= axis < rank; where a new dimension comes in (`end_allowed`), of the new rank. Anything else fails with both numbers.
std::size_t axis_of(const ShapeContext&, std::int64_t axis, std::size_t rank, bool end_allowed = false);
std::vector<std::size_t> axes_of(const ShapeContext&, const std::vector<std::int64_t>& axes, std::size_t rank);  ///< no axis twice
/// The list from an attribute (old opsets) or from input i (new ones). `present` false: neither is there. Present without value: not known.
struct IntList {
    bool present = false;
    std::optional<std::vector<std::int64_t>> values;
};
IntList int_list(const ShapeContext&, const char* attribute, std::size_t input);
/// The elements of a small constant of rank 0 or 1; of floating numbers where all are whole.
std::optional<std::vector<Extent>> tensor_content(const Tensor&);
/// The constant behind an input: an initializer or a Constant node; null when there is none.
const Tensor* tensor_of(const ShapeContext&, std::size_t input);
/// Shapes that broadcast together; fails with both shapes.
Shape broadcast_shapes(const ShapeContext&, const Shape& a, const Shape& b);
/// Two extents that must be equal: fails for different constants, records the rest as assumed.
void unify(const ShapeContext&, const Extent&, const Extent&, const char* what);
/// A shape of unknown extents.
Shape unknown_shape(const ShapeContext&, std::size_t rank);
/// Product of extents.
Extent volume(const Shape&);
/// Type of output 0 = type of input `from`.
void copy_type(ShapeContext&, std::size_t from = 0, std::size_t output = 0);

// Content: element-wise arithmetic on followed tensors. Each does nothing where an operand is not known.
void content_binary(ShapeContext&);
void content_unary(ShapeContext&);
void content_where(ShapeContext&);
void content_reduce(ShapeContext&);

}  // namespace sfumato::fusion
