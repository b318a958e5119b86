// SPDX-License-Identifier: Apache-2.0
#pragma once
// The reference interpreter: executes a graph node by node on the host, in float (f16 and bf16 rounded after every operator) or wholly in
// double. Every rewrite is judged by it, so it is written from the operators' definitions and shares nothing with shape inference.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fusion/graph.h"

namespace sfumato::fusion {

enum class Precision : std::uint8_t { as_declared, all_double };

/// Runs a graph. `inputs` by name; a missing or wrongly typed input, a shape that contradicts at run time, an operator without values (random
/// ones) throw isa::InputError naming the node. Returns the outputs in the graph's order.
std::vector<Datum> evaluate(const Graph&, const std::map<std::string, Datum>& inputs, Precision = Precision::as_declared);

/// Called after each node with its outputs: dumps, audits, the bisecting of a wrong pass.
using Observer = std::function<void(NodeId, const std::vector<Datum>&)>;
std::vector<Datum> evaluate(const Graph&, const std::map<std::string, Datum>& inputs, Precision, const Observer&);

/// What an evaluation rule sees of its node.
class EvalContext {
public:
    using RunSubgraph = std::function<std::vector<Datum>(const Graph&, const std::vector<Datum>& inputs)>;
    EvalContext(const Node& node, std::vector<Datum> inputs, Precision precision, RunSubgraph run)
        : node(node), outputs(node.outputs.size()), precision(precision), inputs_(std::move(inputs)), run_(std::move(run)) {}

    const Node& node;
    std::vector<Datum> outputs;  ///< to be filled; those of kNone may stay empty
    const Precision precision;

    bool has(std::size_t i) const { return i < inputs_.size() && !std::holds_alternative<std::monostate>(inputs_[i]); }
    const Tensor& in(std::size_t i) const;      ///< throws when absent or a sequence
    TensorPtr in_ptr(std::size_t i) const;
    const Datum& datum(std::size_t i) const { return inputs_[i]; }
    std::size_t input_count() const { return inputs_.size(); }
    void set(std::size_t output, Tensor);
    std::vector<Datum> run(const Graph& subgraph, const std::vector<Datum>& inputs) const { return run_(subgraph, inputs); }
    [[noreturn]] void fail(const std::string& what) const;

private:
    std::vector<Datum> inputs_;
    RunSubgraph run_;
};

}  // namespace sfumato::fusion
