// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace sfumato::fusion::test {

/// What the checker of the ONNX project says against a model; "" when nothing.
std::string checker_complaint(const std::string& bytes);

}  // namespace sfumato::fusion::test
