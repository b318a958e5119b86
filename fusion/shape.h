// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shape inference that carries symbols: shapes are extents, and small integer tensors are followed element by element through shape arithmetic
// (Shape, Gather, Concat, ... Reshape), so that `seq` keeps its name from the model's inputs to its outputs.
#include "fusion/graph.h"

namespace sfumato::fusion {

/// What a shape rule sees of its node. Reading an absent input gives null; setting an absent output does nothing.
struct ShapeContext {
    Graph& graph;
    NodeId id;
    int depth = 0;                 ///< control nodes around the graph
    mutable bool learned = false;  ///< a broadcast turned out to be one of its operands: shapes before this node get simpler

    const Node& node() const { return graph.node(id); }
    Symbols& symbols() const { return graph.symbols(); }
    const Value* input(std::size_t i) const;
    const Shape* shape(std::size_t i) const;                        ///< null when absent or of unknown rank
    std::optional<std::vector<Extent>> content(std::size_t i) const;  ///< of a constant or a followed value
    void set_type(std::size_t output, ElemType);
    void set_shape(std::size_t output, Shape);
    void set_content(std::size_t output, std::vector<Extent>);
    void set_kind(std::size_t output, ValueKind);
    Extent fresh_data() const;  ///< a new symbol data_<operator>_N: a size that depends on values
    /// Records a relation that the model implies and nothing proves: one line in graph.metadata["sfumato.constraints"].
    void assume(const std::string& relation) const;
    /// Throws isa::InputError "node NAME (Op): what".
    [[noreturn]] void fail(const std::string& what) const;
};

/// Infers type, shape and content of every value, in order, subgraphs included. A contradiction (of shapes, or with a declared shape) throws
/// isa::InputError that names the node. Returns how many values have no rank.
int infer_shapes(Graph&);
/// The same for one node, after its inputs are known.
void infer_node(Graph&, NodeId);

/// Broadcast of two extents by the rules of ONNX: 1 gives way; equal stay; an unknown against a constant above 1 takes the constant; two
/// different symbols give Symbols::broadcast of both. Two different constants throw isa::InputError.
Extent broadcast_extent(Symbols&, const Extent&, const Extent&);

/// True when a symbol in the extent depends on data: "data_" + operator in small letters + "_" + number (data_nonzero_0), made by NonZero,
/// Compress, Unique, NonMaxSuppression, Loop and by shapes computed from values. Unknown sizes of other origin are named unk_N.
bool is_data_dependent(const Symbols&, const Extent&);
/// True when the extent is one symbol that inference or import made up (data_*_N, unk_N).
bool is_made_up(const Symbols&, const Extent&);
/// "[batch, 4*seq, 1]"
std::string shape_text(const Symbols&, const Shape&);

}  // namespace sfumato::fusion
