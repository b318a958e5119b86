// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace sfumato::fusion::test {

/// The model's bytes, converted by ONNX's own converter when it imports an older opset of ai.onnx. Models that it
/// cannot convert only get the newer number.
std::string at_least_opset(const std::string& bytes, int opset);

}  // namespace sfumato::fusion::test
