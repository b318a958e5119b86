// SPDX-License-Identifier: Apache-2.0
// Values beside a model: one TensorProto, SequenceProto or OptionalProto to a file, as the conformance data has them.
#include <onnx/onnx_pb.h>
// defines what the next one needs
#include <onnx/onnx-data.pb.h>

#include "fusion/onnx/onnx_io.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion {

namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;

template <class Message>
Message parsed(const std::filesystem::path& path, const char* kind) {
    Message m;
    if (!onnx_io::parse_message(onnx_io::file_bytes(path, kMostBytes), m)) throw isa::InputError(path.string() + ": is no " + kind + ", or is truncated");
    return m;
}

std::vector<TensorPtr> sequence(const onnx::SequenceProto& s, onnx_io::TensorReader& reader, const std::string& what) {
    std::vector<TensorPtr> tensors;
    for (const onnx::TensorProto& t : s.tensor_values()) tensors.push_back(reader.read(t, what));
    return tensors;
}

}  // namespace

Datum read_tensor_file(const std::filesystem::path& path, ValueKind kind) {
    onnx_io::TensorReader reader(path.parent_path(), kMostBytes);
    const std::string what = path.string();
    if (kind == ValueKind::tensor) return reader.read(parsed<onnx::TensorProto>(path, "TensorProto"), what);
    if (kind == ValueKind::sequence) return sequence(parsed<onnx::SequenceProto>(path, "SequenceProto"), reader, what);
    const auto optional = parsed<onnx::OptionalProto>(path, "OptionalProto");
    if (optional.has_tensor_value()) return reader.read(optional.tensor_value(), what);
    if (optional.has_sequence_value()) return sequence(optional.sequence_value(), reader, what);
    return {};
}

}  // namespace sfumato::fusion
