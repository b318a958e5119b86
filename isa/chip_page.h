// SPDX-License-Identifier: Apache-2.0
#pragma once
// docs/chips.md as text, from the chip files: the page is generated and a test fails when it is stale.
#include <string>

namespace sfumato::isa {

std::string chips_page(const std::string& chip_dir = "");

}  // namespace sfumato::isa
