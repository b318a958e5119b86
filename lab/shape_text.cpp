// SPDX-License-Identifier: Apache-2.0
#include "lab/shape_text.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "isa/diagnostic.h"

namespace sfumato::lab {

std::string shape_text(const std::vector<std::int64_t>& shape) {
    std::string out = "[";
    for (std::size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + std::to_string(shape[i]);
    return out + "]";
}

void require_known(const std::string& what, const std::string& name, const std::vector<std::string>& known) {
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    std::string message = "unknown " + what + " '" + name + "'";
    if (const std::string near = isa::nearest(name, known); !near.empty()) message += "; did you mean '" + near + "'?";
    message += known.empty() ? " (there are none" : " (valid: ";
    for (std::size_t i = 0; i < known.size(); ++i) message += (i ? ", " : "") + known[i];
    message += ")";
    throw isa::InputError(message);
}

Numbers parse_numbers(const std::string& text, const std::string& option, const std::vector<std::string>& known, std::int64_t least) {
    Numbers out;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, ',');) {
        const std::size_t equals = part.find('=');
        if (equals == std::string::npos) throw isa::InputError(option + " '" + part + "': expected name=number, for example " + option + " " +
                                                               (known.empty() ? "m" : known.front()) + "=128");
        const std::string key = part.substr(0, equals), digits = part.substr(equals + 1);
        require_known(option + " key", key, known);
        std::int64_t value = 0;
        const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (digits.empty() || end.ec == std::errc::invalid_argument || end.ptr != digits.data() + digits.size())
            throw isa::InputError(option + " " + key + "='" + digits + "': expected a whole number");
        if (end.ec == std::errc::result_out_of_range) throw isa::InputError(option + " " + key + "=" + digits + ": too large for a 64-bit number");
        if (value < least) throw isa::InputError(option + " " + key + "=" + digits + ": must be at least " + std::to_string(least));
        if (!out.emplace(key, value).second) throw isa::InputError(option + " " + key + ": given twice");
    }
    return out;
}

}  // namespace sfumato::lab
