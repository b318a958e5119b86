// SPDX-License-Identifier: Apache-2.0
#include "tests/fusion/models/checked.h"

#include <onnx/checker.h>
#include <onnx/onnx_pb.h>

namespace sfumato::fusion::test {

std::string checker_complaint(const std::string& bytes) {
    onnx::ModelProto model;
    if (!model.ParseFromString(bytes)) return "does not parse";
    try {
        onnx::checker::check_model(model);
        return "";
    } catch (const std::exception& e) {
        return e.what();
    }
}

}  // namespace sfumato::fusion::test
