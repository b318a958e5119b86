// SPDX-License-Identifier: Apache-2.0
#include "tests/fusion/nodes/converted.h"

#include <onnx/onnx_pb.h>
#include <onnx/version_converter/convert.h>

namespace sfumato::fusion::test {

namespace {

/// A slope per channel stood on axis 1 before opset 7; since then it broadcasts from the right. ONNX's converter leaves it.
void align_slopes(onnx::ModelProto& model) {
    for (const auto& node : model.graph().node()) {
        if (node.op_type() != "PRelu") continue;
        int rank = 0;
        for (const auto& input : model.graph().input())
            if (input.name() == node.input(0)) rank = input.type().tensor_type().shape().dim_size();
        for (auto& t : *model.mutable_graph()->mutable_initializer())
            if (t.name() == node.input(1) && t.dims_size() == 1)
                while (t.dims_size() < rank - 1) t.add_dims(1);
        for (auto& input : *model.mutable_graph()->mutable_input())
            if (input.name() == node.input(1)) input.mutable_type()->mutable_tensor_type()->clear_shape();
    }
}

}  // namespace

std::string at_least_opset(const std::string& bytes, int opset) {
    onnx::ModelProto model;
    if (!model.ParseFromString(bytes)) return bytes;
    bool older = false;
    for (const auto& import : model.opset_import()) older |= import.domain().empty() && import.version() < opset;
    if (!older) return bytes;
    align_slopes(model);
    try {
        return onnx::version_conversion::ConvertVersion(model, opset).SerializeAsString();
    } catch (const std::exception&) {  // it fails on constants; operands that align at the right broadcast the same way in opset 7
        for (auto& import : *model.mutable_opset_import())
            if (import.domain().empty()) import.set_version(opset);
        return model.SerializeAsString();
    }
}

}  // namespace sfumato::fusion::test
