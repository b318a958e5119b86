// SPDX-License-Identifier: Apache-2.0
#pragma once
// The graph that everything here rewrites: values in single assignment, nodes of the operator table, and fused nodes that hold what they
// fused as an inner graph (`body`), so that a fused graph is executed, dumped and checked by the same code as an unfused one. Ids are stable:
// removing a node leaves a hole, and a rewrite costs what it touches, not what the graph holds.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "fusion/extent.h"
#include "fusion/operators.h"
#include "fusion/tensor.h"

namespace sfumato::fusion {

using NodeId = std::uint32_t;
using ValueId = std::uint32_t;
inline constexpr std::uint32_t kNone = UINT32_MAX;  ///< no producer; as a node's input: an optional input left out

using Shape = std::vector<Extent>;
class Graph;
using GraphPtr = std::shared_ptr<Graph>;
using Attribute = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>, TensorPtr, GraphPtr>;

enum class ValueKind : std::uint8_t { tensor, sequence, optional };

struct Value {
    std::string name;
    ValueKind kind = ValueKind::tensor;
    ElemType type = ElemType::undefined;
    std::optional<Shape> shape;                     ///< empty: rank unknown
    std::optional<std::vector<Extent>> content;     ///< elements of a small integer tensor of rank 0 or 1, known up to symbols
    TensorPtr constant;                             ///< a true constant: an initializer that no caller can override, or folded
    TensorPtr fallback;                             ///< of a graph input that a caller may leave out: its default. No rewrite may read it
    bool weight = false;                            ///< constant of unknown value (structure files), no graph input: never changes between runs
    NodeId producer = kNone;                        ///< kNone for inputs and constants
    std::vector<NodeId> users;                      ///< a node stands here once per use
    int outputs = 0;                                ///< how many times it is an output of the graph
};

struct Node {
    Op op{};
    std::string name;
    std::vector<ValueId> inputs;  ///< kNone where an optional input is left out
    std::vector<ValueId> outputs; ///< kNone where an optional output is left out
    /// Values of this graph that the node's subgraphs read beyond its inputs, each with the name under which their `captured` lists know it.
    /// They count as uses (users, order) and follow rewrites, so the link holds when a value is renamed or replaced.
    std::vector<std::pair<std::string, ValueId>> captures;
    std::map<std::string, Attribute> attributes;
    int version = 0;              ///< opset of the model's import for this node's domain
    GraphPtr body;                ///< of a FusionGroup: the fused nodes; inputs and outputs correspond by position
    std::vector<std::string> origins;  ///< names of the model's nodes it stands for; its own when imported
    bool dead = false;

    std::int64_t integer(std::string_view name, std::int64_t fallback) const;
    double real(std::string_view name, double fallback) const;
    std::string text(std::string_view name, std::string_view fallback) const;
    std::optional<std::vector<std::int64_t>> integers(std::string_view name) const;
    bool has(std::string_view name) const { return attributes.count(std::string(name)) != 0; }
    bool has_input(std::size_t i) const { return i < inputs.size() && inputs[i] != kNone; }
};

class Graph {
public:
    explicit Graph(std::shared_ptr<Symbols> symbols = std::make_shared<Symbols>()) : symbols_(std::move(symbols)) {}

    std::string name;
    std::vector<ValueId> inputs;   ///< in the order of the model
    std::map<std::string, std::string> metadata;
    /// Values of the enclosing graph that a subgraph (If, Loop, Scan) reads: (name in the node's `captures`, local value). Empty at the top.
    std::vector<std::pair<std::string, ValueId>> captured;

    Symbols& symbols() const { return *symbols_; }
    const std::shared_ptr<Symbols>& shared_symbols() const { return symbols_; }

    ValueId add_value(Value);          ///< an empty name gets a fresh one; a duplicate name throws InputError
    ValueId add_constant(Tensor, std::string name = "");
    NodeId add_node(Node);             ///< links producer and users
    void remove_node(NodeId);          ///< its outputs must have no users and be no outputs of the graph
    void detach(NodeId);               ///< removes it although its outputs are used: the caller gives them a producer again
    void set_input(NodeId, std::size_t index, ValueId);
    void replace_uses(ValueId from, ValueId to);  ///< in nodes and in the graph's outputs; `to` keeps its name unless `from` is an output
    void set_outputs(std::vector<ValueId>);
    const std::vector<ValueId>& outputs() const { return outputs_; }
    void rename(ValueId, std::string);
    std::string fresh_name(std::string_view stem);

    Node& node(NodeId id) { return nodes_[id]; }
    const Node& node(NodeId id) const { return nodes_[id]; }
    Value& value(ValueId id) { return values_[id]; }
    const Value& value(ValueId id) const { return values_[id]; }
    std::optional<ValueId> find(std::string_view name) const;
    std::size_t node_limit() const { return nodes_.size(); }    ///< ids are below; check `dead`
    std::size_t value_limit() const { return values_.size(); }
    std::size_t node_count() const { return alive_; }           ///< without the dead

    /// Live nodes, producers first; ties by id, so the order is a function of the graph. A cycle throws InputError naming nodes on it.
    std::vector<NodeId> order() const;
    /// Removes nodes whose outputs nobody uses, values aside; returns how many.
    int remove_unused();
    /// A deep copy sharing constants and symbols.
    Graph clone() const;

private:
    std::shared_ptr<Symbols> symbols_;
    std::vector<Node> nodes_;
    std::vector<Value> values_;
    std::vector<ValueId> outputs_;
    std::map<std::string, ValueId, std::less<>> by_name_;
    std::size_t alive_ = 0;
    int fresh_ = 0;
};

/// Every broken invariant of a graph as one line each: dangling or duplicate links, use before definition, arity against the operator table,
/// a value with two producers, an output without a producer. Run after every pass.
std::vector<std::string> verify(const Graph&);

/// Takes nodes (a convex set) out of the graph and puts one FusionGroup in their place; values used outside become its outputs in the order of
/// definition. `pattern` is the fused operator's name (AttentionFused, ...). Returns the new node. A set that is not convex throws InternalError.
NodeId fuse(Graph&, const std::vector<NodeId>& nodes, const std::string& pattern);
/// The reverse: the body's nodes stand in the graph again.
void unfuse(Graph&, NodeId);

}  // namespace sfumato::fusion
