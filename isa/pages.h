// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reference pages that are generated from the tables, so that they cannot disagree with them.
#include <string>

namespace sfumato::isa {

/// docs/isa.md: instructions, operand families, limits, text form and diagnostics in Markdown.
std::string isa_page();

}  // namespace sfumato::isa
