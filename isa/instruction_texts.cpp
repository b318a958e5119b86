// SPDX-License-Identifier: Apache-2.0
#include "isa/text.h"

namespace sfumato::isa {

std::vector<std::string> instruction_texts(const Program& program) {
    // Ids count instructions in text order, and a line of the printed program is an instruction when its first word is a mnemonic.
    std::vector<std::string> out;
    const std::string text = print_program(program);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        std::string_view line(text.data() + at, end - at);
        at = end + 1;
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        if (!parse_op(line.substr(0, line.find(' ')))) continue;
        out.emplace_back(line.substr(0, line.find(" ; ")));
    }
    return out;
}

}  // namespace sfumato::isa
