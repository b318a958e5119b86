// SPDX-License-Identifier: Apache-2.0
#include "traces/json_text.h"

#include <nlohmann/json.hpp>

namespace sfumato::traces {

std::string json_string(std::string_view text) { return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }

}  // namespace sfumato::traces
