// SPDX-License-Identifier: Apache-2.0
// Attributes of a file's nodes as ours and back. The type is checked here for the names to which ONNX gives one type in every operator, so a
// rule later finds what it expects.
#include <onnx/onnx_pb.h>

#include <algorithm>

#include "fusion/onnx/onnx_io.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion::onnx_io {

using isa::InputError;
using Type = onnx::AttributeProto;

std::string node_text(const std::string& name, const std::string& op) { return "node " + shown(name) + " (" + shown(op) + ")"; }

namespace {

struct Typed {
    std::string_view name;
    Type::AttributeType type;
};
constexpr auto kTyped = std::to_array<Typed>({
    {"activations", Type::STRINGS},   {"align_corners", Type::INT},    {"allowzero", Type::INT},     {"alpha", Type::FLOAT},        {"auto_pad", Type::STRING},
    {"axes", Type::INTS},             {"axis", Type::INT},             {"batch_axis", Type::INT},    {"batch_dims", Type::INT},     {"beta", Type::FLOAT},
    {"body", Type::GRAPH},            {"ceil_mode", Type::INT},        {"dilations", Type::INTS},    {"direction", Type::STRING},   {"dtype", Type::INT},
    {"else_branch", Type::GRAPH},     {"end", Type::INT},              {"ends", Type::INTS},         {"epsilon", Type::FLOAT},      {"equation", Type::STRING},
    {"group", Type::INT},             {"hidden_size", Type::INT},      {"keepdims", Type::INT},      {"kernel_shape", Type::INTS},  {"largest", Type::INT},
    {"mode", Type::STRING},           {"num_outputs", Type::INT},      {"num_scan_inputs", Type::INT}, {"output_padding", Type::INTS}, {"output_shape", Type::INTS},
    {"pads", Type::INTS},             {"perm", Type::INTS},            {"sorted", Type::INT},        {"split", Type::INTS},         {"start", Type::INT},
    {"starts", Type::INTS},           {"strides", Type::INTS},         {"then_branch", Type::GRAPH}, {"time_axis", Type::INT},      {"to", Type::INT},
    {"transA", Type::INT},            {"transB", Type::INT},           {"upper", Type::INT},         {"value_float", Type::FLOAT},  {"value_floats", Type::FLOATS},
    {"value_int", Type::INT},         {"value_ints", Type::INTS},      {"value_string", Type::STRING}, {"value_strings", Type::STRINGS},
});

// Files of the first years leave the type out.
Type::AttributeType actual_type(const Type& a) {
    if (a.type() != Type::UNDEFINED) return a.type();
    if (a.has_f()) return Type::FLOAT;
    if (a.has_i()) return Type::INT;
    if (a.has_s()) return Type::STRING;
    if (a.has_t()) return Type::TENSOR;
    if (a.has_g()) return Type::GRAPH;
    if (a.floats_size() > 0) return Type::FLOATS;
    if (a.strings_size() > 0) return Type::STRINGS;
    return Type::INTS;
}

void check_type(const Type& a, Type::AttributeType have, Op op, const std::string& where) {
    const auto row = std::find_if(kTyped.begin(), kTyped.end(), [&](const Typed& t) { return t.name == a.name(); });
    Type::AttributeType want = row == kTyped.end() ? Type::UNDEFINED : row->type;
    if (a.name() == "value" && (op == Op::Constant || op == Op::ConstantOfShape)) want = Type::TENSOR;
    if (op == Op::FusionGroup || want == Type::UNDEFINED || want == have) return;
    throw InputError(where + ": is of type " + Type::AttributeType_Name(have) + ", the operator defines " + Type::AttributeType_Name(want));
}

GraphPtr read_subgraph(Importer& importer, const onnx::GraphProto& g, Scope& outer) {
    auto graph = std::make_shared<Graph>(outer.graph.shared_symbols());
    Scope scope{*graph, &outer, outer.opsets, outer.depth + 1};
    scope.arguments = outer.arguments;
    scope.callers = outer.callers;
    read_graph(importer, g, scope);
    return graph;
}

}  // namespace

Attribute read_attribute(Importer& importer, const Type& a, Scope& scope, const Node& n) {
    const std::string where = node_text(n.name, std::string(name(n.op))) + ", attribute " + shown(a.name());
    const Type::AttributeType type = actual_type(a);
    check_type(a, type, n.op, where);
    switch (type) {
        case Type::FLOAT: return static_cast<double>(a.f());
        case Type::INT: return a.i();
        case Type::STRING: return a.s();
        case Type::FLOATS: return std::vector<double>(a.floats().begin(), a.floats().end());
        case Type::INTS: return std::vector<std::int64_t>(a.ints().begin(), a.ints().end());
        case Type::STRINGS: return std::vector<std::string>(a.strings().begin(), a.strings().end());
        case Type::TENSOR: return importer.tensors.read(a.t(), where);
        case Type::GRAPH: return read_subgraph(importer, a.g(), scope);
        case Type::TYPE_PROTO: return type_text(a.tp(), where);
        case Type::SPARSE_TENSOR: throw InputError(where + ": sparse tensors are not supported; store the value densely");
        default: throw InputError(where + ": attributes of type " + Type::AttributeType_Name(type) + " are not supported");
    }
}

std::map<std::string, Attribute> read_attributes(Importer& importer, const onnx::NodeProto& p, Scope& scope, const Node& n) {
    std::map<std::string, Attribute> out;
    for (const auto& a : p.attribute()) {
        const std::string where = node_text(n.name, p.op_type());
        if (a.name().empty()) throw InputError(where + ": an attribute has no name");
        if (out.count(a.name())) throw InputError(where + ": the attribute " + shown(a.name()) + " stands twice");
        if (a.ref_attr_name().empty()) {
            out.emplace(a.name(), read_attribute(importer, a, scope, n));
        } else if (!scope.arguments) {
            throw InputError(where + ": the attribute " + shown(a.name()) + " refers to one of a function, and the node stands in none");
        } else if (const auto it = scope.arguments->find(a.ref_attr_name()); it != scope.arguments->end()) {
            out.emplace(a.name(), it->second);
        }
    }
    return out;
}

}  // namespace sfumato::fusion::onnx_io
