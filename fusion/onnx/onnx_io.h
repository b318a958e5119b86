// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the pieces of import and export share. The protobuf types are only named here: their header is heavy, and sources alone include it.
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fusion/graph.h"
#include "fusion/import.h"

namespace onnx {
class AttributeProto;
class FunctionProto;
class GraphProto;
class ModelProto;
class NodeProto;
class OperatorSetIdProto;
class TensorProto;
class TypeProto;
}  // namespace onnx
namespace google::protobuf {
class MessageLite;
template <class T>
class RepeatedPtrField;
}  // namespace google::protobuf

namespace sfumato::fusion::onnx_io {

/// A name from a file as messages may show it: cut at 80 characters, control characters and bytes that are no ASCII as '?'.
std::string shown(std::string_view);
std::string file_bytes(const std::filesystem::path&, std::size_t max_bytes);
/// False for bytes that are no such message, truncated, or nested deeper than protobuf reads (100).
bool parse_message(std::string_view bytes, google::protobuf::MessageLite&);

/// Reads tensors, inside the file or beside it. Every size is checked against the data that is there before memory is taken.
class TensorReader {
public:
    TensorReader(std::filesystem::path root, std::size_t max_bytes) : root_(std::move(root)), max_bytes_(max_bytes) {}
    /// `what` names the tensor in messages.
    TensorPtr read(const onnx::TensorProto&, const std::string& what);

private:
    std::string external(const onnx::TensorProto&, const std::string& what, std::uint64_t bytes);
    std::filesystem::path root_;
    std::size_t max_bytes_;
    std::uint64_t external_bytes_ = 0;  ///< of all external tensors together: files may be pointed at many times
};
void write_tensor(const Tensor&, onnx::TensorProto&);

/// Element type of ONNX's number; numbers that the table lacks throw InputError.
ElemType elem_type(int number, const std::string& what);

struct ValueType {
    ValueKind kind = ValueKind::tensor;
    ElemType type = ElemType::undefined;
    std::optional<Shape> shape;
};
/// Tensors, sequences and optionals of tensors; maps and sparse tensors are refused.
ValueType read_type(const onnx::TypeProto&, Symbols&, const std::string& what);
void write_type(const Value&, const Symbols&, onnx::TypeProto&);
/// A type as an attribute's text and back: "tensor(f32)", "seq(tensor(f32))", "optional(seq(tensor(i64)))".
std::string type_text(const onnx::TypeProto&, const std::string& what);
bool parse_type(std::string_view text, onnx::TypeProto&);

/// Where a node's operator versions come from: the model's imports, or those of the function it stands in.
using Opsets = std::map<std::string, std::int64_t>;

/// State of one import.
struct Importer {
    const onnx::ModelProto& model;
    const ImportOptions& options;
    TensorReader tensors;
    std::vector<std::string>& notes;
    Opsets opsets = {};
    std::map<std::pair<std::string, std::string>, const onnx::FunctionProto*> functions = {};
    std::size_t nodes = 0;  ///< made so far, those of inlined functions included
};

/// Names of one graph or function under construction, and of those around it.
struct Scope {
    Graph& graph;
    Scope* outer = nullptr;
    const Opsets* opsets = nullptr;
    int depth = 0;                                                ///< of subgraphs and functions
    const std::map<std::string, Attribute>* arguments = nullptr;  ///< of a function being inlined: the caller's attributes
    std::string prefix = {};                                      ///< of the names of its values and nodes: the caller's name
    std::map<std::string, ValueId> values = {};                   ///< names as the file has them
    std::map<std::string, std::string> made_by = {};              ///< what gave a name its value, for messages
    std::map<std::string, ValueId> captures = {};                 ///< what the subgraphs of the node being read take from here
    std::vector<std::string> callers = {};                        ///< functions being inlined, outermost first
};

using NodeProtos = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
void read_graph(Importer&, const onnx::GraphProto&, Scope&);
void read_nodes(Importer&, const NodeProtos&, Scope&);
/// Versions of a model's or function's imports; ai.onnx is "".
Opsets read_opsets(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>&, const std::string& what);
/// A value of this scope or of one around it, from where it is captured; kNone when no scope has the name.
ValueId resolve(Scope&, const std::string& name);
/// Puts the nodes of a local function in the place of a call of it; a call of domain "sfumato" becomes a fused node again.
void inline_call(Importer&, const onnx::FunctionProto&, const onnx::NodeProto& call, Scope&);
/// Constants of a fused node's body stand in the file as Constant nodes with this text: functions hold no initializers.
inline constexpr std::string_view kConstantMark = "sfumato: constant of the body";
std::map<std::string, Attribute> read_attributes(Importer&, const onnx::NodeProto&, Scope&, const Node&);
/// The file's attribute as ours, its type checked.
Attribute read_attribute(Importer&, const onnx::AttributeProto&, Scope&, const Node&);
std::string node_text(const std::string& name, const std::string& op);  ///< "node NAME (Op)"

/// The opset that most nodes of a graph and of its subgraphs have, the newer of equals; the newest that is read for a graph without nodes.
int main_version(const Graph&);
/// The graph as a file can say it: nodes of other opsets than the main one inside functions (groups without a pattern), and no fused nodes unless
/// kept. Empty when it is so already.
std::optional<Graph> prepared(const Graph&, bool keep_groups);

}  // namespace sfumato::fusion::onnx_io
