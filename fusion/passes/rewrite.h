// SPDX-License-Identifier: Apache-2.0
#pragma once
// The few moves that every pass makes on a graph, so that names of outputs, inferred shapes and origins survive them all.
#include <optional>
#include <string>
#include <vector>

#include "fusion/graph.h"

namespace sfumato::fusion {

/// A constant or a weight: the same in every run.
inline bool fixed(const Value& v) { return v.constant || v.weight; }
/// The node that makes a value, null for inputs and constants.
const Node* producer(const Graph&, ValueId);
/// The same when it is of this operator.
const Node* producer_of(const Graph&, ValueId, Op);
/// The only element of a true numeric constant of one element.
std::optional<double> scalar(const Graph&, ValueId);
/// Elements of an integer constant, or of a followed value that holds no symbol.
std::optional<std::vector<std::int64_t>> integers(const Graph&, ValueId);
/// What a followed value holds: constants too.
std::optional<std::vector<Extent>> content(const Graph&, ValueId);
int rank(const Value&);  ///< -1 when unknown
std::string shape_text(const Graph&, const Value&);

/// Users read `with` in place of the node's first output and the node goes. Refused (false) where an output of the graph would lose its name.
bool bypass(Graph&, NodeId, ValueId with);
/// A node of another operator in the place of an old one: same outputs, name and origins.
NodeId replace_node(Graph&, NodeId old, Op, std::vector<ValueId> inputs, std::map<std::string, Attribute> attributes, int version);
/// A new node with one fresh output, whose shape is inferred.
ValueId insert_node(Graph&, const Node& beside, Op, std::vector<ValueId> inputs, std::map<std::string, Attribute> attributes, int version);
/// Whether only one node uses the value and it is no output of the graph.
inline bool single_use(const Value& v) { return v.users.size() == 1 && v.outputs == 0; }
/// Fixed, or a fixed value moved or cast: what constant folding would make of it if the data were there.
bool settled(const Graph&, ValueId);
/// A constant target that makes `to` of `from` for every size: numbers, 0 where a dimension is copied, -1 for one that follows from the rest
/// (copied dimensions cancel, so it is defined for empty tensors too). Empty when two dimensions need numbers of the run, or one is 0.
std::optional<std::vector<std::int64_t>> static_target(const Shape& from, const Shape& to);
/// perm of a Transpose of known rank, the default written out.
std::vector<std::int64_t> permutation(const Node&, int rank);
/// The group's fused operator, "" for other nodes.
std::string pattern_of(const Node&);
/// An axis counted from the front.
inline std::int64_t from_front(std::int64_t axis, int rank) { return axis < 0 ? axis + rank : axis; }
/// Whether fusing the set would close a cycle: a path leaves it and enters it again.
bool convex(const Graph&, const std::vector<NodeId>&);

}  // namespace sfumato::fusion
