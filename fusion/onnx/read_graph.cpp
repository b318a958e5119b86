// SPDX-License-Identifier: Apache-2.0
// Graphs, nodes and names of a file. All names of a graph are declared before its nodes are linked, so files need not be sorted; order() finds
// cycles afterwards.
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <set>

#include "fusion/onnx/onnx_io.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion::onnx_io {

using isa::InputError;

namespace {

constexpr std::size_t kMostNodes = 2'000'000;
constexpr int kDeepest = 40;
constexpr std::string_view kInput = "an input";

std::string graph_text(const Graph& g) { return g.name.empty() ? "the graph" : "graph " + shown(g.name); }

std::string node_name(const onnx::NodeProto& p) {
    if (!p.name().empty()) return p.name();
    for (const std::string& output : p.output())
        if (!output.empty()) return output;
    return p.op_type();
}

ValueId declare(Scope& scope, const std::string& name, const std::string& maker, Value v) {
    if (const auto it = scope.made_by.find(name); it != scope.made_by.end())
        throw InputError("the value " + shown(name) + " of " + graph_text(scope.graph) + " is made twice: by " + it->second + " and by " + maker);
    v.name = scope.graph.fresh_name(scope.prefix + name);
    const ValueId id = scope.graph.add_value(std::move(v));
    scope.values[name] = id;
    scope.made_by[name] = maker;
    return id;
}

bool visible_outside(const Scope& scope, const std::string& name) {
    for (const Scope* s = scope.outer; s; s = s->outer)
        if (s->made_by.count(name)) return true;
    return false;
}

void give_type(Value& v, ValueType t, const std::string& what) {
    if (v.type != ElemType::undefined && t.type != ElemType::undefined && v.type != t.type)
        throw InputError(what + " is declared as " + std::string(name(t.type)) + ", and is " + std::string(name(v.type)));
    if (v.type == ElemType::undefined) v.type = t.type;
    if (v.constant || v.fallback) {
        if (t.shape && t.shape->size() != v.shape->size())
            throw InputError(what + " is declared with rank " + std::to_string(t.shape->size()) + ", its data have rank " + std::to_string(v.shape->size()));
        for (std::size_t i = 0; t.shape && i < t.shape->size(); ++i) {
            const auto declared = (*t.shape)[i].constant(), have = (*v.shape)[i].constant();
            if (declared && *declared != have)
                throw InputError(what + ": dimension " + std::to_string(i) + " is declared as " + std::to_string(*declared) + ", its data have " + std::to_string(*have));
        }
        return;
    }
    v.kind = t.kind;
    if (t.shape) v.shape = std::move(t.shape);
}

void read_inputs(const onnx::GraphProto& g, Scope& scope) {
    const bool top = scope.outer == nullptr;
    for (const auto& input : g.input()) {
        if (input.name().empty()) throw InputError("an input of " + graph_text(scope.graph) + " has no name");
        const std::string what = "input " + shown(input.name());
        Value v;
        if (input.has_type()) give_type(v, read_type(input.type(), scope.graph.symbols(), what), what);
        if (top && v.type == ElemType::undefined) throw InputError(what + " has no element type");
        scope.graph.inputs.push_back(declare(scope, input.name(), std::string(kInput), std::move(v)));
    }
}

void read_initializers(Importer& importer, const onnx::GraphProto& g, Scope& scope) {
    if (g.sparse_initializer_size() > 0) throw InputError("sparse initializers are not supported; store " + shown(g.sparse_initializer(0).values().name()) + " densely");
    // Before IR version 4 every initializer had to be an input as well, so being one says nothing.
    const bool overridable = importer.model.ir_version() >= 4 && !importer.options.initializers_are_constants && scope.outer == nullptr;
    std::set<std::string> seen;
    std::set<ValueId> no_inputs;
    for (const auto& t : g.initializer()) {
        const std::string what = "initializer " + shown(t.name());
        if (t.name().empty()) throw InputError("an initializer of " + graph_text(scope.graph) + " has no name");
        if (!seen.insert(t.name()).second) throw InputError(what + " stands twice in " + graph_text(scope.graph));
        const TensorPtr tensor = importer.tensors.read(t, what);
        const auto it = scope.values.find(t.name());
        if (it == scope.values.end()) {
            Value v;
            v.type = tensor->type;
            v.shape = Shape(tensor->dims.begin(), tensor->dims.end());
            v.constant = tensor;
            declare(scope, t.name(), "an initializer", std::move(v));
            continue;
        }
        Value& v = scope.graph.value(it->second);
        ValueType declared{v.kind, v.type, std::exchange(v.shape, std::nullopt)};
        if (overridable) v.shape = declared.shape;
        Value check;
        check.type = tensor->type;
        check.shape = Shape(tensor->dims.begin(), tensor->dims.end());
        check.constant = tensor;
        give_type(check, declared, what);
        if (overridable) {
            v.fallback = tensor;
            continue;
        }
        v.type = tensor->type;
        v.shape = check.shape;
        v.constant = tensor;
        no_inputs.insert(it->second);
    }
    std::erase_if(scope.graph.inputs, [&](ValueId v) { return no_inputs.count(v) != 0; });
}

void declare_outputs(const NodeProtos& nodes, Scope& scope) {
    for (const auto& p : nodes) {
        const std::string maker = node_text(scope.prefix + node_name(p), p.op_type());
        for (const std::string& output : p.output()) {
            if (output.empty()) continue;
            if (scope.values.count(output) && !scope.made_by.count(output)) {  // an output of a function: the caller's value
                scope.made_by[output] = maker;
                continue;
            }
            if (visible_outside(scope, output))
                throw InputError(maker + ": its output " + shown(output) + " has the name of a value of an enclosing graph; ONNX forbids that, rename one of them");
            declare(scope, output, maker, {});
        }
    }
}

const OpRow& find_row(const onnx::NodeProto& p, const std::string& where, const Scope& scope, Op& op) {
    const std::string& domain = p.domain();
    const bool standard = domain.empty() || domain == "ai.onnx";
    if (!standard) {
        std::string why = "only operators of ai.onnx and functions inside the model are supported";
        if (domain == "com.microsoft") why = "it is an operator that onnxruntime puts in when it optimises; export the model without optimisation";
        if (domain == "ai.onnx.ml") why = "classical machine learning (trees, scalers, ...) is no part of what is fused here";
        if (domain.find("training") != std::string::npos) why = "training operators are not supported; export the model for inference";
        throw InputError(where + ": domain " + shown(domain) + " is not supported: " + why);
    }
    const auto version = scope.opsets->find("");
    if (version == scope.opsets->end()) throw InputError(where + ": the model imports no version of ai.onnx, so the operator's meaning is not known");
    const std::int64_t opset = version->second;
    if (opset < kOldestOpset || opset > kNewestOpset)
        throw InputError(where + ": opset " + std::to_string(opset) + " of ai.onnx is not supported, only " + std::to_string(kOldestOpset) + " to " + std::to_string(kNewestOpset) + "; convert the model");
    const auto found = p.op_type() == "FusionGroup" ? std::nullopt : parse_op(p.op_type());
    if (!found) {
        std::vector<std::string> names;
        for (int i = 0; i < op_count(); ++i) names.emplace_back(name(static_cast<Op>(i)));
        const std::string near = p.op_type().size() < 60 ? isa::nearest(p.op_type(), names) : "";
        throw InputError(where + ": no operator of that name is known in opset " + std::to_string(opset) + (near.empty() ? "" : "; did the exporter mean " + near + "?"));
    }
    op = *found;
    const OpRow& r = row(op);
    if (opset < r.first_version) throw InputError(where + ": the operator exists from opset " + std::to_string(r.first_version) + " on, the model imports opset " + std::to_string(opset));
    if (opset > r.last_version) throw InputError(where + ": the operator was taken out after opset " + std::to_string(r.last_version) + ", the model imports opset " + std::to_string(opset));
    return r;
}

void check_arity(const Node& n, const OpRow& r, const std::string& where) {
    const auto count = [&](const std::vector<ValueId>& have, int low, int high, const char* what) {
        const int number = static_cast<int>(have.size());
        if (number < low || (high >= 0 && number > high))
            throw InputError(where + ": has " + std::to_string(number) + " " + what + ", the operator takes " + std::to_string(low) + (high < 0 ? " or more" : high == low ? "" : " to " + std::to_string(high)));
    };
    count(n.inputs, r.min_inputs, r.max_inputs, "inputs");
    count(n.outputs, r.min_outputs, r.max_outputs, "outputs");
    const int first = n.op == Op::Scan && n.version < 9 ? 1 : 0;  // Scan-8 begins with optional lengths
    for (int i = first; i < r.min_inputs; ++i)
        if (n.inputs[static_cast<std::size_t>(i)] == kNone) throw InputError(where + ": its input " + std::to_string(i) + " is left out, the operator needs it");
}

void read_node(Importer& importer, const onnx::NodeProto& p, Scope& scope) {
    if (++importer.nodes > kMostNodes) throw InputError("the model has more than " + std::to_string(kMostNodes) + " nodes, functions written out");
    const auto function = importer.functions.find({p.domain() == "ai.onnx" ? "" : p.domain(), p.op_type()});
    if (function != importer.functions.end()) return inline_call(importer, *function->second, p, scope);
    Node n;
    n.name = scope.prefix + node_name(p);
    const std::string where = node_text(n.name, p.op_type());
    const OpRow& r = find_row(p, where, scope, n.op);
    n.version = static_cast<int>(scope.opsets->at(""));
    for (const std::string& input : p.input()) {
        const ValueId v = input.empty() ? kNone : resolve(scope, input);
        if (!input.empty() && v == kNone) {
            std::vector<std::string> names;
            if (scope.values.size() < 1000 && input.size() < 100)
                for (const auto& [known, id] : scope.values)
                    if (known.size() < 100) names.push_back(known);
            const std::string near = isa::nearest(input, names);
            throw InputError(where + ": reads " + shown(input) + ", which no node, input or initializer makes" + (near.empty() ? "" : "; did the file mean " + shown(near) + "?"));
        }
        n.inputs.push_back(v);
    }
    for (const std::string& output : p.output()) n.outputs.push_back(output.empty() ? kNone : scope.values.at(output));
    const auto trim = [](std::vector<ValueId>& list) {
        while (!list.empty() && list.back() == kNone) list.pop_back();
    };
    trim(n.inputs);
    trim(n.outputs);
    check_arity(n, r, where);
    scope.captures.clear();
    n.attributes = read_attributes(importer, p, scope, n);
    n.captures.assign(scope.captures.begin(), scope.captures.end());
    scope.captures.clear();
    scope.graph.add_node(std::move(n));
}

}  // namespace

ValueId resolve(Scope& scope, const std::string& name) {
    if (const auto it = scope.values.find(name); it != scope.values.end()) return it->second;
    if (!scope.outer) return kNone;
    const ValueId outer = resolve(*scope.outer, name);
    if (outer == kNone) return kNone;
    const Value& from = scope.outer->graph.value(outer);
    Value v;
    v.name = scope.graph.fresh_name(from.name);
    v.kind = from.kind;
    v.type = from.type;
    v.shape = from.shape;
    v.constant = from.constant;
    v.weight = from.weight;
    const ValueId local = scope.graph.add_value(std::move(v));
    scope.graph.captured.emplace_back(name, local);
    scope.outer->captures[name] = outer;
    return scope.values[name] = local;
}

void read_nodes(Importer& importer, const NodeProtos& nodes, Scope& scope) {
    declare_outputs(nodes, scope);
    for (const auto& p : nodes) read_node(importer, p, scope);
}

void read_graph(Importer& importer, const onnx::GraphProto& g, Scope& scope) {
    if (scope.depth > kDeepest) throw InputError("graphs and functions are nested more than " + std::to_string(kDeepest) + " deep");
    scope.graph.name = g.name();
    read_inputs(g, scope);
    read_initializers(importer, g, scope);
    read_nodes(importer, g.node(), scope);
    if (g.quantization_annotation_size() > 0) importer.notes.push_back("quantization annotations of " + graph_text(scope.graph) + " are ignored");
    const auto declared = [&](const onnx::ValueInfoProto& info) {
        const auto it = scope.values.find(info.name());
        if (it == scope.values.end() || !info.has_type()) return;
        Value& v = scope.graph.value(it->second);
        if (const auto maker = scope.made_by.find(info.name()); maker != scope.made_by.end() && maker->second == kInput) return;
        const std::string what = "value " + shown(info.name());
        give_type(v, read_type(info.type(), scope.graph.symbols(), what), what);
    };
    for (const auto& info : g.value_info()) declared(info);
    std::vector<ValueId> outputs;
    for (const auto& output : g.output()) {
        const ValueId v = output.name().empty() ? kNone : resolve(scope, output.name());
        if (v == kNone) throw InputError("output " + shown(output.name()) + " of " + graph_text(scope.graph) + " is made by no node");
        declared(output);
        outputs.push_back(v);
    }
    if (outputs.empty()) throw InputError(graph_text(scope.graph) + " has no outputs");
    scope.graph.set_outputs(std::move(outputs));
}

}  // namespace sfumato::fusion::onnx_io
