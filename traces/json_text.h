// SPDX-License-Identifier: Apache-2.0
#pragma once
// A string as JSON, for writers that stream and keep no tree. Bytes that are not UTF-8 become the replacement character.
#include <string>
#include <string_view>

namespace sfumato::traces {

std::string json_string(std::string_view);

}  // namespace sfumato::traces
