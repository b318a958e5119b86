// SPDX-License-Identifier: Apache-2.0
// The entry points of import: a file's bytes, the gate of versions, and what belongs to the model as a whole.
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx/onnx_pb.h>

#include <climits>
#include <fstream>
#include <set>

#include "fusion/onnx/onnx_io.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion {

using isa::InputError;
using onnx_io::shown;

namespace onnx_io {

Opsets read_opsets(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports, const std::string& what) {
    Opsets out;
    for (const auto& i : imports) {
        const std::string domain = i.domain() == "ai.onnx" ? "" : i.domain();
        const auto [it, is_new] = out.emplace(domain, i.version());
        if (!is_new && it->second != i.version())
            throw InputError(what + " imports two versions of " + (domain.empty() ? "ai.onnx" : shown(domain)) + ": " + std::to_string(it->second) + " and " + std::to_string(i.version()));
    }
    return out;
}

std::string file_bytes(const std::filesystem::path& path, std::size_t max_bytes) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) throw InputError(path.string() + ": there is no such file");
    if (!std::filesystem::is_regular_file(path, error)) throw InputError(path.string() + ": is no file; give the .onnx file itself");
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    const std::uintmax_t limit = std::min<std::uintmax_t>(max_bytes, INT_MAX);
    if (error || size > limit)
        throw InputError(path.string() + ": has " + std::to_string(size) + " bytes, at most " + std::to_string(limit) + " are read; keep large weights in files of external data");
    std::string bytes(static_cast<std::size_t>(size), '\0');
    std::ifstream in(path, std::ios::binary);
    if (!in.read(bytes.data(), static_cast<std::streamsize>(size))) throw InputError(path.string() + ": cannot be read");
    return bytes;
}

bool parse_message(std::string_view bytes, google::protobuf::MessageLite& out) {
    google::protobuf::io::ArrayInputStream array(bytes.data(), static_cast<int>(bytes.size()));
    google::protobuf::io::CodedInputStream coded(&array);
    coded.SetTotalBytesLimit(INT_MAX);
    return out.ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage();
}

}  // namespace onnx_io

namespace {

void read_functions(onnx_io::Importer& importer) {
    for (const auto& f : importer.model.functions())
        if (!importer.functions.emplace(std::pair(f.domain() == "ai.onnx" ? "" : f.domain(), f.name()), &f).second)
            throw InputError("the function " + shown(f.domain()) + "." + shown(f.name()) + " is defined twice");
}

/// Structure files carry no weights: the metadata say which inputs are fed at run time, all others are constants of unknown value.
void mark_weights(Graph& g) {
    const auto it = g.metadata.find("runtime_inputs");
    if (it == g.metadata.end()) return;
    std::set<std::string> fed;
    std::string word;
    for (const char c : it->second + ",") {
        if (c != ',' && c != ' ') word += c;
        else if (!word.empty()) fed.insert(std::exchange(word, ""));
    }
    for (const std::string& name : fed) {
        const auto v = g.find(name);
        if (!v || std::find(g.inputs.begin(), g.inputs.end(), *v) == g.inputs.end()) throw InputError("the metadata runtime_inputs name " + shown(name) + ", which is no input of the graph");
    }
    std::vector<ValueId> kept;
    for (const ValueId v : g.inputs) {
        if (fed.count(g.value(v).name)) kept.push_back(v);
        else g.value(v).weight = true;
    }
    g.inputs = std::move(kept);
}

ImportedModel import_model(const onnx::ModelProto& model, const ImportOptions& options) {
    if (!model.has_graph()) throw InputError("holds no graph: no ONNX model, or an empty one");
    if (model.ir_version() < 1) throw InputError("gives no IR version: no ONNX model");
    if (model.training_info_size() > 0) throw InputError("holds training information; export the model for inference");
    ImportedModel out;
    out.producer = model.producer_name() + (model.producer_version().empty() ? "" : " " + model.producer_version());
    out.ir_version = static_cast<int>(std::min<std::int64_t>(model.ir_version(), INT_MAX));
    for (const auto& p : model.metadata_props()) out.graph.metadata[p.key()] = p.value();
    onnx_io::Importer importer{model, options, {options.external_root, options.max_bytes}, out.notes};
    importer.opsets = onnx_io::read_opsets(model.opset_import(), "the model");
    if (const auto it = importer.opsets.find(""); it != importer.opsets.end()) out.opset = static_cast<int>(std::clamp<std::int64_t>(it->second, -1, INT_MAX));
    read_functions(importer);
    onnx_io::Scope scope{out.graph, nullptr, &importer.opsets};
    onnx_io::read_graph(importer, model.graph(), scope);
    mark_weights(out.graph);
    out.graph.order();  // throws for cycles
    return out;
}

}  // namespace

ImportedModel import_onnx_bytes(std::string_view bytes, const std::string& name, const ImportOptions& options) {
    if (bytes.empty()) throw InputError(name + ": is empty");
    if (bytes.size() > std::min<std::size_t>(options.max_bytes, INT_MAX)) throw InputError(name + ": has " + std::to_string(bytes.size()) + " bytes, more than is read");
    onnx::ModelProto model;
    if (!onnx_io::parse_message(bytes, model)) throw InputError(name + ": is no ONNX file, or a truncated one (" + std::to_string(bytes.size()) + " bytes)");
    try {
        return import_model(model, options);
    } catch (const InputError& e) {
        throw InputError(name + ": " + e.what());
    }
}

ImportedModel import_onnx(const std::filesystem::path& path, const ImportOptions& options) {
    ImportOptions with_root = options;
    if (with_root.external_root.empty()) with_root.external_root = path.has_parent_path() ? path.parent_path() : ".";
    return import_onnx_bytes(onnx_io::file_bytes(path, options.max_bytes), path.filename().string(), with_root);
}

}  // namespace sfumato::fusion
