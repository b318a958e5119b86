// SPDX-License-Identifier: Apache-2.0
// Chip files from anywhere: parse or throw InputError, nothing else. The first line may hold overrides, after a '#', separated by spaces.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "isa/chip.h"
#include "isa/diagnostic.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string text(reinterpret_cast<const char*>(data), size);
    std::vector<std::string> sets;
    if (!text.empty() && text[0] == '#') {
        const std::size_t end = text.find('\n');
        std::string line = text.substr(1, end == std::string::npos ? end : end - 1);
        text = end == std::string::npos ? "" : text.substr(end + 1);
        for (std::size_t at = 0; at < line.size();) {
            const std::size_t space = std::min(line.find(' ', at), line.size());
            if (space > at) sets.push_back(line.substr(at, space - at));
            at = space + 1;
        }
    }
    try {
        sfumato::isa::parse_chip(text, "isa/chips/fuzz.json", sets);
    } catch (const sfumato::isa::InputError&) {
    }
    return 0;
}
