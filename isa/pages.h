// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reference pages that are generated from the tables, so that they cannot disagree with them.
#include <string>
#include <string_view>

namespace sfumato::isa {

/// docs/isa.md: instructions, operand families, limits, text form and diagnostics in Markdown.
std::string isa_page();
/// The program shown on that page.
std::string_view isa_example();

}  // namespace sfumato::isa
