// SPDX-License-Identifier: Apache-2.0
#pragma once
// Records kernel functions on a chip and catches what they are refused for.
#include "dsl/dsl.h"
#include "isa/text.h"

namespace sfumato::testing {

struct NoTile {};

inline const isa::Chip& split_chip() {
    static const isa::Chip chip = isa::load_chip("Ascend910B1", {}, "isa/chips");
    return chip;
}
inline const isa::Chip& merged_chip() {
    static const isa::Chip chip = isa::load_chip("Ascend910A", {}, "isa/chips");
    return chip;
}

/// Diagnostics of a kernel that must be refused; empty when it is not.
template <class Tile, class... Args>
std::vector<isa::Diagnostic> refusal(void (*kernel)(Args...), const Tile& tile, const isa::Chip& chip = split_chip()) {
    try {
        dsl::compile(kernel, chip, tile, {.name = "k", .tensors = {"X", "Y", "Z"}});
    } catch (const isa::Rejected& r) {
        return r.diagnostics;
    }
    return {};
}

template <class Tile, class... Args>
isa::Program program(void (*kernel)(Args...), const Tile& tile, const isa::Chip& chip = split_chip(), const std::string& stop_after = "lower") {
    return dsl::compile(kernel, chip, tile, {.name = "k", .tensors = {"X", "Y", "Z"}, .stop_after = stop_after}).program;
}

inline std::vector<const isa::Instr*> instructions(const isa::Program& p) {
    std::vector<const isa::Instr*> out;
    for (const isa::Section& s : p.sections) isa::for_each_instr(s.body, [&](const isa::Instr& i) { out.push_back(&i); });
    return out;
}
inline const isa::Source& source_of(const isa::Program& p, const isa::Instr& i) { return p.sources[static_cast<std::size_t>(i.source)]; }

}  // namespace sfumato::testing
