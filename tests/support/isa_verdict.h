// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the verifier says about one statement of the text form, judged three ways that must agree: on the program with constants, on the bound
// instance, and (for `hidden`) with every number written so that only a range proof can see it.
#include <string>
#include <vector>

#include "isa/text.h"
#include "isa/verify.h"

namespace sfumato::tests {

inline const isa::Chip& chip_910b() {
    static const isa::Chip chip = isa::load_chip("Ascend910B2");
    return chip;
}
inline const isa::Chip& chip_910a() {
    static const isa::Chip chip = isa::load_chip("Ascend910A");
    return chip;
}

inline constexpr const char* kVerdictHeader =
    ".program t\n.param m\n.symbol c counter\n.symbol v load\n.tensor x f16 [m, 64] inout\n.tensor ids i32 [m] in\n"
    ".buffer a UB f32 [8192] slots 1 slot_bytes 32768 base 0\n"
    ".buffer b UB f32 [8192] slots 1 slot_bytes 32768 base 32768\n"
    ".buffer h UB f16 [16384] slots 2 slot_bytes 32768 base 65536\n"
    ".buffer w L1 f16 [128, 1024] slots 1 slot_bytes 262144 base 0\n"
    ".buffer l0a L0A f16 [128, 128] slots 1 slot_bytes 32768 base 0\n"
    ".buffer l0b L0B f16 [128, 128] slots 1 slot_bytes 32768 base 0\n"
    ".buffer acc L0C f32 [128, 256] slots 1 slot_bytes 131072 base 0\n"
    ".buffer bias BT f32 [256] slots 1 slot_bytes 1024 base 0\n";

inline isa::Program program_of(const std::string& statements, const std::string& kind) {
    const std::string header =
        kind == "core" ? ".program t\n.param m\n.tensor x f16 [m, 64] inout\n" : kVerdictHeader;  // its buffers are a split core's
    return isa::parse_program(header + (".section " + kind + "\n") + statements + "\n", "t.sfa");
}

inline std::vector<isa::Diagnostic> verdict(const std::string& statements, const std::string& kind = "aiv", const isa::Chip& chip = chip_910b()) {
    return isa::verify(program_of(statements, kind), chip);
}
inline std::string said(const std::string& statements, const std::string& kind = "aiv", const isa::Chip& chip = chip_910b()) {
    return isa::to_text(verdict(statements, kind, chip));
}

/// The same for one instance with concrete integers; the first statement must be an instruction.
inline std::string said_bound(const std::string& statement, const std::string& kind = "aiv", const isa::Chip& chip = chip_910b()) {
    const isa::Program p = program_of(statement, kind);
    const auto& i = std::get<isa::Instr>(p.sections[0].body[0].node);
    const std::vector<std::int64_t> symbols(p.symbols.size(), 0);
    return isa::to_text(isa::verify_bound(p, chip, {&i, isa::bind_operands(p, i, symbols)}));
}

}  // namespace sfumato::tests
