// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shapes and named numbers as options write them: "m=4096,n=4096" and "[100, 955]".
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sfumato::lab {

using Numbers = std::map<std::string, std::int64_t>;

/// "[100, 955]"
std::string shape_text(const std::vector<std::int64_t>&);

/// "m=128,n=256" as numbers. `option` names the option in messages; `known` are the keys it may have (the nearest is offered for another),
/// `least` is the smallest value allowed. Throws InputError.
Numbers parse_numbers(const std::string& text, const std::string& option, const std::vector<std::string>& known, std::int64_t least);

/// Throws InputError "unknown <what> '<name>'; did you mean '<nearest>'? (valid: ...)" unless `name` is in `known`.
void require_known(const std::string& what, const std::string& name, const std::vector<std::string>& known);

}  // namespace sfumato::lab
