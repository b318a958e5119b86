// SPDX-License-Identifier: Apache-2.0
#pragma once
// ONNX in and out. Import goes through the protobuf types alone with our own gate: opset 7 to 21 of ai.onnx, operators of the table, and every
// refusal names node, operator, opset and reason.
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fusion/graph.h"

namespace sfumato::fusion {

struct ImportOptions {
    std::size_t max_bytes = std::size_t{4} << 30;  ///< of the file, and of each external tensor
    bool initializers_are_constants = false;       ///< initializers that are also graph inputs: overridable, unless the user says so
    std::filesystem::path external_root;           ///< folder of external data; default the model's. A path that leaves it is refused
};

struct ImportedModel {
    Graph graph;
    std::string producer;
    int opset = 0, ir_version = 0;
    std::vector<std::string> notes;                ///< said to the user: declared dynamic but constant inside, odd attributes that were ignored
};

/// Throws isa::InputError for files that are truncated, garbage, hostile or beyond the gate. Shapes are not inferred yet.
ImportedModel import_onnx(const std::filesystem::path&, const ImportOptions& = {});
ImportedModel import_onnx_bytes(std::string_view bytes, const std::string& name, const ImportOptions& = {});
/// The graph as ONNX bytes; fused nodes become calls of model-local functions of domain "sfumato", or stand unfused.
std::string export_onnx(const Graph&, bool keep_groups = true);
/// A TensorProto file (input_0.pb of the conformance data); SequenceProto and OptionalProto by the type that the graph declares.
Datum read_tensor_file(const std::filesystem::path&, ValueKind);

/// Ranges of inputs: `name:1~64,256,768;other:-1,-1`, with or without brackets, for --input-shape-range and --input-shape alike. `a~b` needs
/// 0 <= a <= b, -1 is any size. Errors name the part of the text and show what is allowed.
struct InputRange {
    std::string input;
    std::vector<Range> dims;
    bool operator==(const InputRange&) const = default;
};
std::vector<InputRange> parse_shape_ranges(std::string_view);
/// Applies ranges to the graph's inputs: narrows symbols, fixes constants, names anonymous dims. An unknown input, a wrong rank or a range that
/// contradicts the model throws isa::InputError.
void apply_shape_ranges(Graph&, const std::vector<InputRange>&);

}  // namespace sfumato::fusion
