// SPDX-License-Identifier: Apache-2.0
// Functions inside a model: calls are written out where they stand. Our own export stores fused nodes as functions of domain "sfumato"; a call
// of those becomes a fused node with its body again.
#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>

#include <algorithm>

#include "fusion/onnx/onnx_io.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion::onnx_io {

using isa::InputError;

namespace {

constexpr int kAttributeDefaults = 11;  // FunctionProto.attribute_proto, which the protobuf types of onnx 1.12 do not know

std::string function_text(const onnx::FunctionProto& f) { return "function " + shown(f.domain()) + "." + shown(f.name()); }

/// The caller's attributes, and the defaults of those it leaves out.
std::map<std::string, Attribute> arguments_of(Importer& importer, const onnx::FunctionProto& f, const onnx::NodeProto& call, Scope& scope, const Node& n) {
    std::map<std::string, Attribute> out = read_attributes(importer, call, scope, n);
    const auto& unknown = f.GetReflection()->GetUnknownFields(f);
    for (int i = 0; i < unknown.field_count(); ++i) {
        const auto& field = unknown.field(i);
        if (field.number() != kAttributeDefaults || field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) continue;
        onnx::AttributeProto a;
        if (!a.ParseFromString(field.length_delimited())) throw InputError(function_text(f) + ": the default of an attribute cannot be read");
        if (!out.count(a.name())) out.emplace(a.name(), read_attribute(importer, a, scope, n));
    }
    return out;
}

void check_call(const onnx::FunctionProto& f, const onnx::NodeProto& call, const Scope& scope, const std::string& where) {
    if (call.input_size() > f.input_size() || call.output_size() > f.output_size())
        throw InputError(where + ": calls " + function_text(f) + " with " + std::to_string(call.input_size()) + " inputs and " + std::to_string(call.output_size()) + " outputs; it has " +
                         std::to_string(f.input_size()) + " and " + std::to_string(f.output_size()));
    const std::string key = f.domain() + "." + f.name();
    if (std::find(scope.callers.begin(), scope.callers.end(), key) != scope.callers.end()) throw InputError(where + ": " + function_text(f) + " calls itself");
    if (scope.callers.size() >= 32) throw InputError(where + ": functions call one another more than 32 deep");
}

Opsets function_opsets(const onnx::FunctionProto& f, const Importer& importer) {
    Opsets own = read_opsets(f.opset_import(), function_text(f));
    for (const auto& [domain, version] : importer.opsets) own.emplace(domain, version);
    return own;
}

ValueId add_identity(Graph& g, ValueId from, ValueId to, const std::string& node, int version) {
    Node n;
    n.op = Op::Identity;
    n.name = node;
    n.version = version;
    n.inputs = {from};
    n.outputs = {to};
    g.add_node(std::move(n));
    return to;
}

std::vector<ValueId> call_inputs(const onnx::NodeProto& call, Scope& scope, const std::string& where) {
    std::vector<ValueId> out;
    for (const std::string& input : call.input()) {
        out.push_back(input.empty() ? kNone : resolve(scope, input));
        if (!input.empty() && out.back() == kNone) throw InputError(where + ": reads " + shown(input) + ", which no node, input or initializer makes");
    }
    return out;
}

std::string call_name(const onnx::NodeProto& call, const Scope& scope) {
    return scope.prefix + (!call.name().empty() ? call.name() : call.output_size() > 0 && !call.output(0).empty() ? call.output(0) : call.op_type());
}

void fused_again(Importer& importer, const onnx::FunctionProto& f, const onnx::NodeProto& call, Scope& scope, Node n) {
    auto body = std::make_shared<Graph>(scope.graph.shared_symbols());
    n.attributes = read_attributes(importer, call, scope, n);
    body->name = n.text("pattern", f.name());
    n.op = Op::FusionGroup;
    n.version = 1;
    const Opsets opsets = function_opsets(f, importer);
    Scope inner{*body, nullptr, &opsets, scope.depth + 1};
    inner.callers = scope.callers;
    inner.callers.push_back(f.domain() + "." + f.name());
    if (call.input_size() != f.input_size() || call.output_size() != f.output_size()) throw InputError(node_text(n.name, call.op_type()) + ": a fused node gives all inputs and outputs of its function");
    for (int i = 0; i < f.input_size(); ++i) {
        Value v;
        v.name = body->fresh_name(f.input(i));
        const ValueId id = body->add_value(std::move(v));
        body->inputs.push_back(id);
        if (!inner.values.emplace(f.input(i), id).second) throw InputError(function_text(f) + ": the input " + shown(f.input(i)) + " stands twice");
        inner.made_by[f.input(i)] = "an input";
    }
    NodeProtos nodes;
    for (const auto& p : f.node()) {
        if (p.doc_string() != kConstantMark || p.output_size() != 1 || p.attribute_size() != 1 || inner.values.count(p.output(0))) {
            *nodes.Add() = p;
            continue;
        }
        const TensorPtr tensor = importer.tensors.read(p.attribute(0).t(), "constant " + shown(p.output(0)));
        const ValueId id = body->add_constant(*tensor, p.output(0));
        inner.values[p.output(0)] = id;
        inner.made_by[p.output(0)] = "a constant";
    }
    read_nodes(importer, nodes, inner);
    std::vector<ValueId> outputs;
    for (const std::string& output : f.output()) {
        const auto it = inner.values.find(output);
        if (it == inner.values.end()) throw InputError(function_text(f) + ": its output " + shown(output) + " is made by no node");
        outputs.push_back(it->second);
    }
    body->set_outputs(std::move(outputs));
    for (NodeId id = 0; id < body->node_limit(); ++id) n.origins.insert(n.origins.end(), body->node(id).origins.begin(), body->node(id).origins.end());
    n.body = std::move(body);
    scope.graph.add_node(std::move(n));
}

}  // namespace

void inline_call(Importer& importer, const onnx::FunctionProto& f, const onnx::NodeProto& call, Scope& scope) {
    Node n;
    n.op = Op::FusionGroup;  // stands for the call while its attributes are read
    n.name = call_name(call, scope);
    const std::string where = node_text(n.name, call.op_type());
    check_call(f, call, scope, where);
    const std::vector<ValueId> inputs = call_inputs(call, scope, where);
    if (call.domain() == "sfumato") {
        n.inputs = inputs;
        for (const std::string& output : call.output()) n.outputs.push_back(output.empty() ? kNone : scope.values.at(output));
        if (std::count(n.inputs.begin(), n.inputs.end(), kNone) + std::count(n.outputs.begin(), n.outputs.end(), kNone) > 0) throw InputError(where + ": a fused node leaves nothing out");
        return fused_again(importer, f, call, scope, std::move(n));
    }
    const Opsets opsets = function_opsets(f, importer);
    const std::map<std::string, Attribute> arguments = arguments_of(importer, f, call, scope, n);
    for (const auto& [key, a] : arguments)
        if (std::holds_alternative<GraphPtr>(a)) throw InputError(where + ": hands the graph " + shown(key) + " to " + function_text(f) + "; functions that take graphs are not supported");
    Scope inner{scope.graph, nullptr, &opsets, scope.depth + 1, &arguments, n.name + "/"};
    inner.callers = scope.callers;
    inner.callers.push_back(f.domain() + "." + f.name());
    for (int i = 0; i < f.input_size(); ++i) {
        const ValueId v = i < static_cast<int>(inputs.size()) ? inputs[static_cast<std::size_t>(i)] : kNone;
        if (!inner.values.emplace(f.input(i), v).second) throw InputError(function_text(f) + ": the input " + shown(f.input(i)) + " stands twice");
        inner.made_by[f.input(i)] = "an input of the function";
    }
    // An output of the function is the caller's value, unless it is an input passed on or stands twice: then a copy makes the caller's value.
    std::vector<std::pair<std::string, ValueId>> copies;
    for (int i = 0; i < call.output_size(); ++i) {
        if (call.output(i).empty()) continue;
        const ValueId outer = scope.values.at(call.output(i));
        if (!inner.values.emplace(f.output(i), outer).second) copies.emplace_back(f.output(i), outer);
    }
    read_nodes(importer, f.node(), inner);
    const auto version = opsets.find("");
    for (const auto& [from, to] : copies) {
        const ValueId v = inner.values.at(from);
        if (v == kNone) throw InputError(where + ": hands on the input " + shown(from) + " of " + function_text(f) + ", which it leaves out");
        add_identity(scope.graph, v, to, n.name + "/" + from, version == opsets.end() ? kNewestOpset : static_cast<int>(version->second));
    }
    for (const std::string& output : call.output())
        if (!output.empty() && scope.graph.value(scope.values.at(output)).producer == kNone)
            throw InputError(where + ": " + function_text(f) + " does not make the output for " + shown(output));
}

}  // namespace sfumato::fusion::onnx_io
